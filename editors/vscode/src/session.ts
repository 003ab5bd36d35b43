import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { Transcript, type Change } from "./chat/transcript";
import type { Server } from "./client";
import { config } from "./config";
import { errorText, method, type ContextItem, type EventParams, type Mode, type Proposal, type SessionInfo, type UsageInfo } from "./ext";

/** Where the sessions of this folder's windows are remembered, newest first, so that a reload finds its own. */
const REMEMBERED = "redline.sessions";
/** How many are. */
const KEPT = 5;
/**
 * How long a reloaded window tries to have its session back, in milliseconds: the
 * server of the window as it was before has it until it has ended.
 */
const PATIENCE = 4000;

/** Why a turn failed, for the user; auth: for want of credentials. */
export interface Failure {
  text: string;
  auth: boolean;
}

/**
 * The conversation of this window: its session on the server, what was said so
 * far, and whether a turn runs. It is made with the first prompt, and taken up again when
 * the window is reloaded or the server died: what was open for review is open again.
 */
export class Conversation implements vscode.Disposable {
  readonly transcript: Transcript;
  private info: SessionInfo | undefined;
  /** The session whose events are taken; it may be on its way still. */
  private id: string | undefined;
  private opening: Promise<SessionInfo> | undefined;
  private restoring: Promise<void> | undefined;
  private lastSeq = 0;
  private running = false;
  private failed = false;
  /** What was chosen for a session that is not made yet. */
  private chosen: { mode?: Mode; model?: string } = {};
  /** What the session has used; asked for when the model says so, and at a turn's end. */
  usage: UsageInfo | undefined;

  private readonly items = new vscode.EventEmitter<Change>();
  readonly onDidChangeItems = this.items.event;
  private readonly state = new vscode.EventEmitter<void>();
  /** Fired when a turn starts or ends, and when the session changes. */
  readonly onDidChangeState = this.state.event;
  private readonly proposal = new vscode.EventEmitter<Proposal>();
  readonly onProposal = this.proposal.event;
  private readonly event = new vscode.EventEmitter<EventParams>();
  /** Every event of every session that this window follows, as it comes, not replayed ones of its own. */
  readonly onEvent = this.event.event;

  private readonly left = new vscode.EventEmitter<string>();
  /** Fired with the session that this window has left: it is closed, and its proposals with it. */
  readonly onDidLeave = this.left.event;
  private readonly failure = new vscode.EventEmitter<Failure>();
  /** A turn of this session failed, or could not be begun. */
  readonly onFailure = this.failure.event;

  constructor(
    private readonly server: Server,
    private readonly memory: vscode.Memento,
  ) {
    this.transcript = new Transcript(
      (change) => this.items.fire(change),
      (uri) => vscode.workspace.asRelativePath(vscode.Uri.parse(uri), (vscode.workspace.workspaceFolders?.length ?? 0) > 1),
    );
    server.onDidChangeState((s) => {
      if (s === "running") {
        this.restoring ??= this.restore().finally(() => (this.restoring = undefined));
        return;
      }
      this.opening = undefined;
      if (this.running) {
        this.transcript.lost(
          s === "starting" ? "The redline server ended in the middle of the turn and was started again. What waited for your decision still does." : "The redline server ended in the middle of the turn.",
        );
        this.settle();
      }
    });
  }

  get isRunning(): boolean {
    return this.running;
  }

  /** Whether the last turn ended in an error. */
  get hasFailed(): boolean {
    return this.failed;
  }

  get sessionId(): string | undefined {
    return this.id;
  }

  /** What the server said of the session last. */
  get session(): SessionInfo | undefined {
    return this.info;
  }

  get mode(): Mode {
    return this.info?.mode ?? this.chosen.mode ?? config.mode();
  }

  /** The session's model; empty: the server's choice, for a session that is not made yet. */
  get model(): string {
    return this.info?.model ?? this.chosen.model ?? config.model();
  }

  /** Changes mode or model of the session; of the next one when there is none yet. */
  async configure(change: { mode?: Mode; model?: string }): Promise<void> {
    if (this.opening) {
      await this.opening;
    }
    if (this.info) {
      this.info = await this.server.request<SessionInfo>(method.sessionConfigure, { sessionId: this.info.sessionId, ...change });
    } else {
      this.chosen = { ...this.chosen, ...change };
    }
    this.state.fire();
  }

  /** The settings have changed: what is shown of a session that is not made yet goes by them. */
  settingsChanged(): void {
    if (!this.info) {
      this.state.fire();
    }
  }

  /** Installs the handler of the session's events on a new connection. */
  wire(client: LanguageClient): void {
    client.onNotification(method.event, (p: EventParams) => this.receive(p));
  }

  /** Sends a prompt; into the running turn when there is one. */
  async prompt(text: string, context: ContextItem[], about?: string): Promise<void> {
    this.failed = false;
    this.transcript.prompt(text, about);
    try {
      const session = await this.open();
      if (this.running) {
        try {
          await this.server.request(method.steer, { sessionId: session.sessionId, text, ...(context.length ? { context } : {}) });
          return;
        } catch (e) {
          this.server.log(`steer: ${message(e)}`);
          await this.idle(); // the turn was about to end, and this begins the next one
        }
      }
      this.running = true;
      this.state.fire();
      await this.server.request(method.prompt, {
        sessionId: session.sessionId,
        text,
        // That command is one without anything else.
        ...(context.length && text.trim() !== "/compress" ? { context } : {}),
      });
    } catch (e) {
      this.failed = true;
      if (this.server.state !== "missing" && this.server.state !== "failed") {
        this.transcript.notice("error", message(e), "log"); // those two the chat shows anyway
      }
      this.failure.fire({ text: message(e), auth: false });
      this.settle();
    }
  }

  private idle(): Promise<void> {
    return new Promise((resolve) => {
      const done = () => !this.running && (listener.dispose(), resolve());
      const listener = this.onDidChangeState(done);
      done();
    });
  }

  async cancel(): Promise<void> {
    if (this.id && this.running) {
      await this.server.request(method.cancel, { sessionId: this.id });
    }
  }

  /** Ends the session and starts with an empty one. */
  async reset(): Promise<void> {
    const left = this.id;
    await this.leave();
    void this.memory.update(REMEMBERED, this.remembered().filter((id) => id !== left));
  }

  /** Goes on in a copy of the session, as it was before a turn. */
  async forkBefore(turnId: string): Promise<void> {
    const copy = await this.server.request<SessionInfo>(method.sessionFork, { sessionId: this.id, beforeTurnId: turnId });
    await this.switchTo(copy.sessionId);
  }

  /** Leaves the session of now and takes up another one of this folder. */
  async switchTo(sessionId: string): Promise<void> {
    if (sessionId === this.id && this.opening) {
      return;
    }
    await this.leave();
    this.opening = this.resume(sessionId).catch((e: unknown) => {
      this.opening = undefined;
      throw e;
    });
    await this.opening;
  }

  dispose(): void {
    this.items.dispose();
    this.state.dispose();
    this.proposal.dispose();
    this.event.dispose();
    this.left.dispose();
    this.failure.dispose();
  }

  /** The session, made if there is none. */
  async open(): Promise<SessionInfo> {
    await this.server.get();
    await this.restoring;
    this.opening ??= this.start().catch((e: unknown) => {
      this.opening = undefined;
      throw e;
    });
    return this.opening;
  }

  private async leave(): Promise<void> {
    const old = this.id;
    this.info = undefined;
    this.id = undefined;
    this.opening = undefined;
    this.lastSeq = 0;
    this.failed = false;
    this.usage = undefined;
    this.chosen = {};
    this.transcript.clear();
    this.settle();
    if (old && this.server.state === "running") {
      await this.server.request(method.sessionClose, { sessionId: old }).catch((e: unknown) => this.server.log(message(e)));
      this.left.fire(old);
    }
  }

  /** After a start of the server: the session that this window had, if it is kept. */
  private async restore(): Promise<void> {
    const known = this.id ? [this.id] : config.restoreSession() ? this.remembered() : [];
    const end = Date.now() + PATIENCE;
    for (let wait = 100; known.length > 0 && !this.opening; wait *= 2) {
      let taken = false;
      for (const id of known) {
        try {
          const info = await this.resume(id);
          this.opening = Promise.resolve(info);
          return;
        } catch (e) {
          this.server.log(`resume ${id}: ${message(e)}`);
          taken ||= /open in another/.test(message(e));
        }
      }
      if (!taken || Date.now() + wait > end || this.server.state !== "running") {
        break; // gone, or another window has it
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
    if (this.server.state === "running" && !this.opening) {
      this.forgotten();
    }
  }

  /** The server knows nothing of the session that is shown. */
  private forgotten(): void {
    if (this.info && this.transcript.items.length > 0) {
      this.transcript.notice("info", "The server was restarted: the agent no longer remembers what was said above.");
    }
    this.info = undefined;
    this.id = undefined;
    this.lastSeq = 0;
  }

  private async resume(sessionId: string): Promise<SessionInfo> {
    this.id = sessionId;
    const had = this.lastSeq;
    let info = await this.server.request<SessionInfo>(method.sessionResume, { sessionId, afterSeq: had });
    if (info.lastSeq < had) {
      // Less was kept than is shown: the whole conversation is taken anew.
      this.transcript.clear();
      this.lastSeq = 0;
      info = await this.server.request<SessionInfo>(method.sessionResume, { sessionId, afterSeq: 0 });
    }
    return this.took(info);
  }

  private async start(): Promise<SessionInfo> {
    const known = this.id;
    if (known) {
      try {
        return await this.resume(known);
      } catch (e) {
        this.server.log(`resume: ${message(e)}`);
        this.forgotten();
      }
    }
    this.lastSeq = 0;
    return this.took(await this.create());
  }

  /** Makes a session with the user's settings; it is not this window's yet. */
  async create(over: { mode?: Mode; model?: string } = {}): Promise<SessionInfo> {
    const [model, reviewAt, mode] = [this.chosen.model ?? config.model(), config.reviewAt(), this.chosen.mode ?? config.mode()];
    return this.server.request<SessionInfo>(method.sessionNew, {
      folders: (vscode.workspace.workspaceFolders ?? []).filter((f) => f.uri.scheme === "file").map((f) => f.uri.toString()),
      ...(model ? { model } : {}),
      ...(mode === "default" ? {} : { mode }),
      ...(reviewAt ? { reviewAt } : {}),
      ...over,
    });
  }

  private took(info: SessionInfo): SessionInfo {
    this.info = info;
    this.id = info.sessionId;
    void this.memory.update(REMEMBERED, [info.sessionId, ...this.remembered().filter((id) => id !== info.sessionId)].slice(0, KEPT));
    this.chosen = {};
    this.state.fire();
    void this.count();
    return info;
  }

  private remembered(): string[] {
    return this.memory.get<string[]>(REMEMBERED) ?? [];
  }

  private receive(p: EventParams): void {
    // Proposals of any session can be reviewed; the chat shows its own session only.
    if (p.event.type === "proposal/updated") {
      this.proposal.fire(p.event.proposal);
    }
    if (p.sessionId !== this.id) {
      this.event.fire(p); // of one that the native chat has, or that was left
      return;
    }
    if (p.seq <= this.lastSeq) {
      return; // replayed
    }
    if (this.lastSeq && p.seq !== this.lastSeq + 1) {
      this.server.log(`events ${this.lastSeq + 1} to ${p.seq - 1} are missing`);
    }
    this.lastSeq = p.seq;
    this.transcript.apply(p.turnId, p.event);
    this.event.fire(p);
    if (p.event.type === "turn/started") {
      this.running = true;
      this.failed = false;
      this.state.fire();
    } else if (p.event.type === "turn/ended") {
      this.failed = p.event.status === "failed";
      this.settle();
      // A session that is taken up is told as it was: its info comes last.
      if (this.failed && this.info?.sessionId === p.sessionId) {
        const e = p.event.error;
        this.failure.fire({ text: errorText(e) || "The turn failed.", auth: typeof e === "object" && e.kind === "auth" });
      }
    } else if (p.event.type === "usage/updated" && this.info) {
      void this.count(); // the event does not say how full the window is
    } else if (p.event.type === "model/changed" && this.info) {
      this.info = { ...this.info, model: p.event.model };
      this.state.fire();
    }
  }

  private async count(): Promise<void> {
    const id = this.id;
    try {
      const usage = await this.server.request<UsageInfo>(method.usageGet, { sessionId: id });
      if (id === this.id) {
        this.usage = usage;
        this.state.fire();
      }
    } catch (e) {
      this.server.log(`usage: ${message(e)}`);
    }
  }

  private settle(): void {
    this.running = false;
    this.state.fire();
  }
}

export function message(e: unknown): string {
  return e instanceof Error ? e.message : String(e);
}
