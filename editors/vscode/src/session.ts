import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { Transcript, type Change } from "./chat/transcript";
import type { Server } from "./client";
import { config } from "./config";
import { method, type ContextItem, type EventParams, type Proposal, type SessionInfo } from "./ext";

/**
 * The conversation of this window: its session on the server, what was said so
 * far, and whether a turn runs. It is made with the first prompt.
 */
export class Conversation implements vscode.Disposable {
  readonly transcript: Transcript;
  private info: SessionInfo | undefined;
  private opening: Promise<SessionInfo> | undefined;
  private lastSeq = 0;
  private running = false;
  private failed = false;

  private readonly items = new vscode.EventEmitter<Change>();
  readonly onDidChangeItems = this.items.event;
  private readonly state = new vscode.EventEmitter<void>();
  /** Fired when a turn starts or ends. */
  readonly onDidChangeState = this.state.event;
  private readonly proposal = new vscode.EventEmitter<Proposal>();
  readonly onProposal = this.proposal.event;

  constructor(private readonly server: Server) {
    this.transcript = new Transcript(
      (change) => this.items.fire(change),
      (uri) => vscode.workspace.asRelativePath(vscode.Uri.parse(uri), (vscode.workspace.workspaceFolders?.length ?? 0) > 1),
    );
    server.onDidChangeState((s) => {
      if (s === "running") {
        return;
      }
      // A new server process knows nothing of the session, unless it kept it.
      this.opening = undefined;
      if (this.running) {
        this.transcript.lost("The redline server ended in the middle of the turn. Send the prompt again to go on.");
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
    return this.info?.sessionId;
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
        await this.server.request(method.steer, { sessionId: session.sessionId, text });
        return;
      }
      this.running = true;
      this.state.fire();
      await this.server.request(method.prompt, {
        sessionId: session.sessionId,
        text,
        ...(context.length ? { context } : {}),
      });
    } catch (e) {
      this.failed = true;
      if (this.server.state !== "missing" && this.server.state !== "failed") {
        this.transcript.notice("error", message(e), "log"); // those two the chat shows anyway
      }
      this.settle();
    }
  }

  async cancel(): Promise<void> {
    if (this.info && this.running) {
      await this.server.request(method.cancel, { sessionId: this.info.sessionId });
    }
  }

  /** Ends the session and starts with an empty one. */
  async reset(): Promise<void> {
    const old = this.info;
    this.info = undefined;
    this.opening = undefined;
    this.lastSeq = 0;
    this.failed = false;
    this.transcript.clear();
    this.settle();
    if (old && this.server.state === "running") {
      await this.server.request(method.sessionClose, { sessionId: old.sessionId }).catch((e: unknown) => this.server.log(message(e)));
    }
  }

  dispose(): void {
    this.items.dispose();
    this.state.dispose();
    this.proposal.dispose();
  }

  private async open(): Promise<SessionInfo> {
    this.opening ??= this.start().catch((e: unknown) => {
      this.opening = undefined;
      throw e;
    });
    return this.opening;
  }

  private async start(): Promise<SessionInfo> {
    const old = this.info;
    if (old) {
      try {
        this.info = await this.server.request<SessionInfo>(method.sessionResume, {
          sessionId: old.sessionId,
          afterSeq: this.lastSeq,
        });
        return this.info;
      } catch (e) {
        this.server.log(`resume: ${message(e)}`);
        this.transcript.notice("info", "The server was restarted: the agent no longer remembers what was said above.");
      }
    }
    const model = config.model();
    this.lastSeq = 0;
    this.info = await this.server.request<SessionInfo>(method.sessionNew, {
      folders: (vscode.workspace.workspaceFolders ?? []).filter((f) => f.uri.scheme === "file").map((f) => f.uri.toString()),
      ...(model ? { model } : {}),
    });
    return this.info;
  }

  private receive(p: EventParams): void {
    // Proposals of any session can be reviewed; the chat shows its own session only.
    if (p.event.type === "proposal/updated") {
      this.proposal.fire(p.event.proposal);
    }
    if (p.sessionId !== this.info?.sessionId) {
      return; // of a session that was left
    }
    if (p.seq <= this.lastSeq) {
      return; // replayed
    }
    if (this.lastSeq && p.seq !== this.lastSeq + 1) {
      this.server.log(`events ${this.lastSeq + 1} to ${p.seq - 1} are missing`);
    }
    this.lastSeq = p.seq;
    this.transcript.apply(p.turnId, p.event);
    if (p.event.type === "turn/started") {
      this.running = true;
      this.failed = false;
      this.state.fire();
    } else if (p.event.type === "turn/ended") {
      this.failed = p.event.status === "failed";
      this.settle();
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
