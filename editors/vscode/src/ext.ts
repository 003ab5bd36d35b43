/**
 * The mirror of the server's extension of LSP (lsp/ext.go, WIRE.md §3 and §4): the
 * methods beyond the standard and what they carry. Types only, so that the
 * webview, which has neither Node nor the vscode module, can share them.
 * Positions are LSP's: 0-based lines, UTF-16 units.
 */

export type URI = string;
export interface Position {
  line: number;
  character: number;
}
export interface Range {
  start: Position;
  end: Position;
}

export type Mode = "default" | "autoEdit" | "plan" | "yolo";

export interface SessionInfo {
  sessionId: string;
  title: string;
  folders: URI[];
  mode: Mode;
  model: string;
  /** When edits are reviewed: after each step of the model, or once a turn. */
  reviewAt?: "step" | "turn";
  /** RFC 3339. */
  createdAt: string;
  updatedAt: string;
  turns: number;
  lastSeq: number;
  running?: boolean;
}

export interface ContextItem {
  kind: "selection" | "file" | "symbol" | "diagnostics" | "diff" | "terminal" | "url" | "image" | "text";
  uri?: URI;
  version?: number;
  range?: Range;
  text?: string;
  mimeType?: string;
  data?: string;
}

export type Target = "all" | { fileId: string } | { hunkId: string };

export interface HunkDecision {
  target: Target;
  decision: "accept" | "reject" | "amend";
  newText?: string;
  reason?: string;
}

export type ProposalState = "open" | "applying" | "settled" | "conflict" | "withdrawn" | "reverted";
export type HunkState = "pending" | "accepted" | "rejected" | "amended" | "conflict";

/** Whole lines of a document that are to be replaced; range is where they stand in it. */
export interface Hunk {
  hunkId: string;
  range: Range;
  oldText: string;
  newText: string;
  state: HunkState;
  reason?: string;
  final?: string;
  /** It is the operation on the file itself. */
  whole?: boolean;
  /** A conflict that was decided on and stays as it is. */
  closed?: boolean;
  /** It came into the document and was not taken back since, as far as is known. */
  standing?: boolean;
}

export interface ProposalFile {
  fileId: string;
  uri: URI;
  op: "edit" | "create" | "delete" | "rename";
  newUri?: URI;
  base: { version: number | null; hash: string; eol: string; bom: boolean; encoding: string };
  hunks: Hunk[];
}

export interface Proposal {
  proposalId: string;
  rev: number;
  sessionId: string;
  turnId: string;
  callIds: string[];
  title: string;
  state: ProposalState;
  /** Applied without a question. */
  auto?: boolean;
  files: ProposalFile[];
  edit?: unknown;
  diff: string;
}

export interface Usage {
  inputTokens?: number;
  cachedTokens?: number;
  outputTokens?: number;
  thoughtTokens?: number;
  totalTokens?: number;
  requests?: number;
  /** An estimate in US dollars; absent when nobody pays by the token, or a price is not known. */
  costUsd?: number;
}

/** What a session used; contextTokens of contextWindow are taken up by the conversation, 0: not known yet. */
export interface UsageInfo extends Usage {
  contextTokens: number;
  contextWindow: number;
  models: ({ model: string } & Usage)[];
  pricesOf?: string;
}

export interface Model {
  name: string;
  displayName?: string;
  inputTokenLimit?: number;
  outputTokenLimit?: number;
  thinking?: boolean;
  /** In US dollars for a million tokens. */
  price?: { input: number; cached: number; output: number };
}

/** The models; aliases stand for some of them, message says why the service could not be asked. */
export interface ModelList {
  models: Model[];
  aliases: Record<string, string>;
  current: string;
  message?: string;
}

/** A custom prompt: a text may begin with "/name". */
export interface CommandInfo {
  name: string;
  description?: string;
  /** builtin, user, project, or mcp:SERVER. */
  source: string;
  args?: { name: string; description?: string; required?: boolean }[];
}

/** A state that one can go back to: before a turn, or before an earlier way back, which has no turn. */
export interface Checkpoint {
  checkpointId: string;
  sessionId: string;
  turnId?: string;
  title: string;
  createdAt: string;
  /** That edits changed since. */
  files: URI[];
}

export type CheckpointScope = "files" | "conversation" | "both";

/** What a restore changes, or has changed, and what stays. */
export interface CheckpointResult {
  edit: unknown;
  diff: string;
  skipped: URI[];
  reasons?: Record<URI, string>;
  commands?: string[];
  undoCheckpointId?: string;
}

/** A command that was left running. */
export interface ProcessInfo {
  pid: number;
  command: string;
  directory: string;
  startedAt: string;
  logFile?: string;
  running: boolean;
}

/** Whether the workspace's folders are trusted, and what does not count as they are not. */
export interface TrustStatus {
  trusted: boolean;
  leftOut?: string[];
  message?: string;
}

export type ToolStatus = "pending" | "confirming" | "running" | "completed" | "failed" | "rejected" | "cancelled";
export type TurnStatus = "completed" | "cancelled" | "failed" | "limit";

export interface ToolLocation {
  uri: URI;
  line?: number;
}

export interface ToolUpdate {
  callId: string;
  name: string;
  title: string;
  kind: string;
  status: ToolStatus;
  locations?: ToolLocation[];
  input?: unknown;
  output?: string;
  display?: string;
}

export interface PlanEntry {
  content: string;
  status: "pending" | "in_progress" | "completed" | "cancelled";
}

export type Event =
  | { type: "turn/started" }
  | { type: "turn/ended"; status: TurnStatus; error?: { kind?: string; message: string } | string; usage?: Usage }
  | { type: "message/delta"; messageId: string; text: string }
  | { type: "thought/delta"; messageId: string; text: string; subject?: string }
  | { type: "message/user"; messageId: string; text: string }
  | ({ type: "tool/updated" } & ToolUpdate)
  | { type: "tool/output"; callId: string; text: string }
  | { type: "proposal/updated"; proposal: Proposal }
  | { type: "proposal/changed" } // only with the capability proposals.changes
  | { type: "checkpoint/created"; checkpoint: Checkpoint }
  | { type: "plan/updated"; entries: PlanEntry[] }
  | { type: "usage/updated"; usage: Usage }
  | { type: "retry"; attempt: number; delayMs: number; reason: string }
  | { type: "model/changed"; model: string; reason: string }
  | { type: "loop/detected"; kind: string }
  | { type: "history/compressed"; tokensBefore: number; tokensAfter: number; automatic: boolean }
  | { type: "notice"; level: "info" | "warning" | "error"; text: string };

export interface EventParams {
  sessionId: string;
  seq: number;
  turnId?: string;
  event: Event;
}

export interface ApproveParams {
  sessionId: string;
  turnId: string;
  callId: string;
  subject: { type: "command" | "network" | "mcp" | "tool" | "path"; [key: string]: unknown };
  title: string;
  detail: string;
  options: ApproveOption[];
}
export interface ApproveOption {
  optionId: string;
  label: string;
  kind: "once" | "session" | "always" | "reject";
}
export interface ApproveResult {
  optionId: string;
  feedback?: string;
}

export interface AskParams {
  sessionId: string;
  question: string;
  options?: (string | { label: string; detail?: string })[];
}

/** How the model is reached, without trying; after a login, message says what came of it. */
export interface AuthStatus {
  signedIn: boolean;
  method?: string;
  methods?: string[];
  source?: "environment" | "saved" | "client" | "default" | "machine";
  account?: string;
  tier?: string;
  project?: string;
  location?: string;
  message?: string;
}

/** Signs in and answers when that is done; keep "memory" leaves apiKey in the server's memory alone. */
export interface AuthLoginParams {
  method?: string;
  apiKey?: string;
  keep?: "saved" | "memory";
  noBrowser?: boolean;
  workDoneToken?: string | number;
}

/** The methods by what they do; a name is written once. */
export const method = {
  sessionNew: "agent/session/new",
  sessionList: "agent/session/list",
  sessionFork: "agent/session/fork",
  sessionDelete: "agent/session/delete",
  sessionCompress: "agent/session/compress",
  sessionResume: "agent/session/resume",
  sessionConfigure: "agent/session/configure",
  sessionClose: "agent/session/close",
  prompt: "agent/prompt",
  steer: "agent/steer",
  cancel: "agent/cancel",
  proposalList: "agent/proposal/list",
  proposalNew: "agent/proposal/new",
  proposalGet: "agent/proposal/get",
  proposalResolve: "agent/proposal/resolve",
  proposalRevert: "agent/proposal/revert",
  proposalConfirm: "agent/proposal/confirm",
  authStatus: "agent/auth/status",
  authLogin: "agent/auth/login",
  authComplete: "agent/auth/complete",
  authLogout: "agent/auth/logout",
  trustSet: "agent/trust/set",
  checkpointList: "agent/checkpoint/list",
  checkpointPreview: "agent/checkpoint/preview",
  checkpointRestore: "agent/checkpoint/restore",
  modelList: "agent/model/list",
  toolList: "agent/tool/list",
  commandList: "agent/command/list",
  memoryList: "agent/memory/list",
  usageGet: "agent/usage/get",
  processList: "agent/process/list",
  processStop: "agent/process/stop",
  event: "agent/event",
  approve: "agent/approve",
  ask: "agent/ask",
  save: "editor/save",
  diagnostics: "editor/diagnostics",
  definition: "editor/definition",
  references: "editor/references",
  hover: "editor/hover",
  symbols: "editor/symbols",
  rename: "editor/rename",
} as const;

/** JSON-RPC error codes that a client reacts to (WIRE.md §3). */
export const code = { stale: -32801, overloaded: -32802, cancelled: -32800 } as const;

/** The error text of a turn's end, however the server words it. */
export function errorText(error: { message: string } | string | undefined): string {
  return typeof error === "string" ? error : (error?.message ?? "");
}
