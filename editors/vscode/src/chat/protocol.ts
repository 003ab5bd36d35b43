import type { ContextItem } from "../ext";
import type { Attachment } from "./attachment";
import type { AttachRequest, Completion } from "./completion";
import type { Item } from "./transcript";

/** What stands under the prompt: the session's settings and what it has used. */
export interface SessionLine {
  title: string;
  mode: string;
  /** The mode may change files or run commands without asking. */
  loose: boolean;
  model: string;
  modelTitle: string;
  usage: string;
  usageTitle: string;
}

/** A prompt that waits for its turn. */
export interface QueuedPrompt {
  id: string;
  text: string;
  about: string;
  /** The running turn could take it. */
  now: boolean;
}

/** What the extension host tells the webview. */
export type ToWebview =
  | { type: "reset"; items: Item[]; running: boolean }
  | { type: "item"; item: Item }
  | { type: "text"; id: string; text: string }
  | { type: "remove"; id: string }
  | { type: "running"; running: boolean }
  | { type: "server"; text: string }
  | { type: "context"; label: string; title: string }
  | { type: "session"; line: SessionLine }
  | { type: "queue"; prompts: QueuedPrompt[]; waits: boolean }
  | { type: "completions"; ask: number; entries: Completion[] }
  | { type: "attached"; attachment: Attachment }
  | { type: "problem"; text: string }
  | { type: "draft"; text: string; add?: boolean }
  | { type: "focus" };

/** What the webview tells the extension host. */
export type FromWebview =
  | { type: "ready" }
  | { type: "prompt"; text: string; withContext: boolean; items: ContextItem[]; about: string[]; queue: boolean }
  | { type: "complete"; ask: number; kind: "@" | "/"; query: string }
  | { type: "attach"; request: AttachRequest }
  | { type: "queued"; id: string; action: "drop" | "edit" | "send" }
  | { type: "cancel" }
  | { type: "pick"; what: "mode" | "model" | "usage" | "sessions" }
  | { type: "fork"; turn: string; text: string }
  | { type: "rewind"; turn: string }
  | { type: "open"; uri: string; line: number }
  | { type: "link"; href: string }
  | { type: "copy"; text: string }
  | { type: "code"; action: "insert" | "apply"; text: string; info: string }
  | { type: "decide"; proposalId: string; decision: "accept" | "reject"; fileId?: string }
  | { type: "review"; proposalId: string }
  | { type: "approve"; id: string; optionId?: string; text?: string }
  | { type: "action"; action: "key" | "server" | "log" };
