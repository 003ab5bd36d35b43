import { errorText, type ApproveParams, type Event, type Proposal, type ProposalState, type ToolLocation, type ToolStatus } from "../ext";
import { chosenLabel, type QuestionChange } from "../questions";
import { tokens } from "./words";

/**
 * What the chat shows: a list of items that grows and whose items change in place.
 * It is made from the server's events here, in the extension host, so that it
 * outlives the webview, which is thrown away whenever its view is hidden.
 */
export type Item =
  /** turn: it began that one, so that a copy of the session can go on before it. */
  | { kind: "user"; id: string; text: string; about?: string; turn?: string }
  | { kind: "answer"; id: string; text: string; live: boolean }
  | { kind: "thought"; id: string; subject: string; text: string; live: boolean }
  | ToolItem
  | ProposalItem
  | { kind: "approve"; id: string; title: string; detail: string; options: ApproveParams["options"]; chosen?: string }
  | { kind: "plan"; id: string; entries: { text: string; status: string }[] }
  | { kind: "retry"; id: string; attempt: number; until: number; reason: string }
  | { kind: "notice"; id: string; level: "info" | "warning" | "error"; text: string; action?: "key" | "server" | "log" };

export interface ToolItem {
  kind: "tool";
  id: string;
  title: string;
  tool: string;
  icon: string;
  status: ToolStatus;
  locations: { uri: string; line: number; label: string }[];
  output: string;
  display: string;
}

export interface ProposalFileItem {
  fileId: string;
  uri: string;
  name: string;
  dir: string;
  /** Its new path, when it is renamed. */
  to?: string;
  op: string;
  added: number;
  removed: number;
  line: number;
  hunks: number;
  pending: number;
  accepted: number;
  rejected: number;
  conflict: number;
}

export interface ProposalItem {
  kind: "proposal";
  id: string;
  proposalId: string;
  title: string;
  state: ProposalState;
  files: ProposalFileItem[];
  added: number;
  removed: number;
  pending: number;
}

/** How the list changed. "text" appends to the text of an item, which is what streaming is. */
export type Change =
  | { type: "reset" }
  | { type: "item"; item: Item }
  | { type: "text"; id: string; text: string }
  | { type: "remove"; id: string };

/** Longest tool output that is kept for show, in UTF-16 units. */
const MAX_OUTPUT = 8000;

export class Transcript {
  readonly items: Item[] = [];
  /** The running turn; undefined when the agent is idle. */
  turn: string | undefined;
  private readonly index = new Map<string, Item>();
  private notes = 0;
  private retrying: string | undefined;
  /** Prompts shown before the server told of them. */
  private echoes: string[] = [];

  constructor(
    private readonly listener: (change: Change) => void,
    private readonly relative: (uri: string) => string,
    private readonly now: () => number = Date.now,
  ) {}

  clear(): void {
    this.items.length = 0;
    this.index.clear();
    this.turn = undefined;
    this.retrying = undefined;
    this.echoes = [];
    this.listener({ type: "reset" });
  }

  /** Shows a prompt at once; the server's own message/user then finds it here. */
  prompt(text: string, about: string | undefined): void {
    const id = `echo:${++this.notes}`;
    this.echoes.push(id);
    this.put({ kind: "user", id, text, ...(about ? { about } : {}) });
  }

  notice(level: "info" | "warning" | "error", text: string, action?: "key" | "server" | "log"): void {
    const last = this.items.at(-1);
    if (last?.kind === "notice" && last.text === text) {
      return;
    }
    this.put({ kind: "notice", id: `note:${++this.notes}`, level, text, ...(action ? { action } : {}) });
  }

  /** Shows a question to the user, and later what the answer was. */
  question(c: QuestionChange): void {
    const q = c.question;
    const item: Item = { kind: "approve", id: q.id, title: q.title, detail: q.detail, options: q.options };
    this.put(c.type === "closed" ? { ...item, chosen: chosenLabel(q, c.answer) } : item);
  }

  /** The turn will get no end of its own: the server is gone. */
  lost(text: string): void {
    this.stopStreaming();
    this.endRetry();
    this.turn = undefined;
    for (const item of [...this.items]) {
      if (item.kind === "proposal" && (item.state === "open" || item.state === "applying")) {
        this.put({ ...item, state: "withdrawn" });
      } else if (item.kind === "tool" && ["pending", "confirming", "running"].includes(item.status)) {
        this.put({ ...item, status: "cancelled" });
      }
    }
    this.notice("warning", text, "log");
  }

  apply(turnId: string | undefined, e: Event): void {
    if (e.type !== "retry" && e.type !== "usage/updated") {
      this.endRetry();
    }
    switch (e.type) {
      case "turn/started":
        this.turn = turnId ?? "?";
        break;
      case "turn/ended":
        this.ended(e);
        break;
      case "message/user": {
        const echo = this.index.get(this.echoes.shift() ?? "");
        const turn = turnId && e.messageId.endsWith(".u") ? { turn: turnId } : {};
        if (echo?.kind === "user") {
          this.put({ ...echo, ...turn });
        } else {
          this.put({ kind: "user", id: `user:${e.messageId}`, text: e.text, ...turn });
        }
        break;
      }
      case "message/delta":
        this.append("answer", e.messageId, e.text, "");
        break;
      case "thought/delta":
        this.append("thought", e.messageId, e.text, e.subject ?? "");
        break;
      case "tool/updated":
        this.stopStreaming();
        this.put({
          kind: "tool",
          id: `tool:${e.callId}`,
          title: e.title || e.name,
          tool: e.name,
          icon: e.kind,
          status: e.status,
          locations: (e.locations ?? []).map((l) => this.location(l)),
          output: cut(e.output ?? ""),
          display: cut(e.display ?? ""),
        });
        break;
      case "tool/output": {
        const item = this.index.get(`tool:${e.callId}`);
        if (item?.kind === "tool") {
          this.put({ ...item, output: tail(item.output + e.text) });
        }
        break;
      }
      case "proposal/updated":
        this.stopStreaming();
        this.put(summarize(e.proposal, this.relative));
        break;
      case "plan/updated":
        this.put({
          kind: "plan",
          id: `plan:${turnId ?? ""}`,
          entries: e.entries.map((x) => ({ text: x.content, status: x.status })),
        });
        break;
      case "retry":
        this.retrying ??= `retry:${++this.notes}`;
        this.put({ kind: "retry", id: this.retrying, attempt: e.attempt, until: this.now() + e.delayMs, reason: e.reason });
        break;
      case "model/changed":
        this.notice("info", `Model is now ${e.model}: ${e.reason}`);
        break;
      case "loop/detected":
        this.notice("warning", `The model is going in circles (${e.kind}).`);
        break;
      case "history/compressed":
        this.notice("info", `The conversation was ${e.automatic ? "long and was " : ""}compressed: ${tokens(e.tokensBefore)} tokens are ${tokens(e.tokensAfter)} now.`);
        break;
      case "notice":
        this.notice(e.level, e.text);
        break;
      case "checkpoint/created":
      case "usage/updated":
        break;
    }
  }

  private ended(e: Extract<Event, { type: "turn/ended" }>): void {
    this.stopStreaming();
    this.turn = undefined;
    this.echoes = [];
    const text = errorText(e.error);
    const kind = typeof e.error === "object" ? (e.error.kind ?? "") : "";
    switch (e.status) {
      case "completed":
        break;
      case "cancelled":
        this.notice("info", "Stopped.");
        break;
      case "limit":
        this.notice("warning", text || "The limit of steps for one turn is reached. Send another prompt to go on.");
        break;
      case "failed":
        this.notice("error", text || "The turn failed.", kind === "auth" || /API_KEY/.test(text) ? "key" : undefined);
        break;
    }
  }

  private append(kind: "answer" | "thought", messageId: string, text: string, subject: string): void {
    const id = `${kind}:${messageId}`;
    const old = this.index.get(id);
    if (old?.kind !== kind) {
      this.stopStreaming();
      this.put(
        kind === "answer" ? { kind, id, text, live: true } : { kind, id, subject, text: heading(subject) + text, live: true },
      );
      return;
    }
    let add = text;
    if (old.kind === "thought" && subject && subject !== old.subject) {
      old.subject = subject;
      add = (old.text ? "\n\n" : "") + heading(subject) + text;
    }
    old.text += add;
    if (old.live) {
      this.listener({ type: "text", id, text: add });
    } else {
      this.put({ ...old, live: true });
    }
  }

  private stopStreaming(): void {
    for (let i = this.items.length - 1; i >= 0 && i >= this.items.length - 4; i--) {
      const item = this.items[i];
      if ((item?.kind === "answer" || item?.kind === "thought") && item.live) {
        this.put({ ...item, live: false });
      }
    }
  }

  private endRetry(): void {
    if (this.retrying) {
      const id = this.retrying;
      this.retrying = undefined;
      this.index.delete(id);
      this.items.splice(
        this.items.findIndex((i) => i.id === id),
        1,
      );
      this.listener({ type: "remove", id });
    }
  }

  private put(item: Item): void {
    const at = this.index.has(item.id) ? this.items.findIndex((i) => i.id === item.id) : -1;
    this.index.set(item.id, item);
    if (at >= 0) {
      this.items[at] = item;
    } else {
      this.items.push(item);
    }
    this.listener({ type: "item", item });
  }

  private location(l: ToolLocation): ToolItem["locations"][number] {
    const line = l.line ?? 0;
    return { uri: l.uri, line, label: this.relative(l.uri) + (line > 0 ? `:${line + 1}` : "") };
  }
}

function heading(subject: string): string {
  return subject ? `**${subject}**\n\n` : "";
}

function cut(text: string): string {
  return text.length <= MAX_OUTPUT ? text : `${text.slice(0, MAX_OUTPUT)}\n…`;
}

/** The end of what runs on: there stands what happens now. */
function tail(text: string): string {
  return text.length <= MAX_OUTPUT ? text : `…\n${text.slice(text.indexOf("\n", text.length - MAX_OUTPUT) + 1 || -MAX_OUTPUT)}`;
}

/** The number of lines in text; a last one without a line end counts. */
export function lineCount(text: string): number {
  if (text === "") {
    return 0;
  }
  const ends = text.match(/\r\n|\r|\n/g)?.length ?? 0;
  return /[\r\n]$/.test(text) ? ends : ends + 1;
}

export function summarize(p: Proposal, relative: (uri: string) => string): ProposalItem {
  const files = p.files.map((f): ProposalFileItem => {
    const path = relative(f.uri);
    const slash = path.lastIndexOf("/");
    const count = (...states: string[]) => f.hunks.filter((h) => states.includes(h.state)).length;
    // What is still to come while it is open, afterwards what really came.
    const open = p.state === "open" || p.state === "applying";
    const counted = f.hunks.filter((h) => (open ? ["pending", "conflict"] : ["accepted", "amended"]).includes(h.state));
    return {
      fileId: f.fileId,
      uri: f.newUri && f.hunks.some((h) => h.whole && h.state === "accepted") ? f.newUri : f.uri,
      name: path.slice(slash + 1),
      dir: path.slice(0, Math.max(0, slash)),
      ...(f.newUri ? { to: relative(f.newUri) } : {}),
      op: f.op,
      added: sum(counted.map((h) => lineCount(h.final ?? h.newText))),
      removed: sum(counted.map((h) => lineCount(h.oldText))),
      line: (f.hunks.find((h) => h.state === "pending") ?? f.hunks[0])?.range.start.line ?? 0,
      hunks: f.hunks.length,
      pending: count("pending"),
      accepted: count("accepted", "amended"),
      rejected: count("rejected"),
      conflict: count("conflict"),
    };
  });
  return {
    kind: "proposal",
    id: `proposal:${p.proposalId}`,
    proposalId: p.proposalId,
    title: p.title,
    state: p.state,
    files,
    added: sum(files.map((f) => f.added)),
    removed: sum(files.map((f) => f.removed)),
    pending: sum(files.map((f) => f.pending)),
  };
}

function sum(ns: number[]): number {
  return ns.reduce((a, b) => a + b, 0);
}
