import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { ResponseError } from "vscode-languageclient/node";
import type { Server } from "../client";
import { code, method, type Hunk, type HunkDecision, type Proposal, type ProposalFile, type Range } from "../ext";
import { message } from "../session";
import { sameChange, sameText, ShiftLog, shiftOf, slice } from "./hunks";

/** A pending hunk and where it stands in its document now. */
export interface PlacedHunk {
  proposal: Proposal;
  file: ProposalFile;
  hunk: Hunk;
  range: Range;
  /** The document still has the lines that the hunk replaces. */
  fits: boolean;
}

/** Names a file of a proposal. */
export interface FileRef {
  proposalId: string;
  fileId: string;
}

/**
 * The open proposals, with their hunks kept in place while the user types, and
 * the only way to decide on them.
 */
export class Reviews implements vscode.Disposable {
  private readonly proposals = new Map<string, Proposal>();
  private readonly logs = new Map<string, ShiftLog>();
  /** Hunks that were decided here and of which the server has not told yet. */
  private readonly deciding = new Set<string>();
  /** Conflicts the user has decided on: the server keeps them as they are to the end. */
  private readonly dismissed = new Set<string>();
  private queue: Promise<unknown> = Promise.resolve();
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changed.event;
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly server: Server) {
    this.subscriptions = [
      vscode.workspace.onDidChangeTextDocument((e) => this.typed(e)),
      vscode.workspace.onDidCloseTextDocument((d) => this.logs.delete(d.uri.toString())),
      server.onDidChangeState((s) => {
        if (s !== "running") {
          this.clear(); // they are gone with the process that made them
        }
      }),
    ];
  }

  /** Installs what a new connection needs: an old one's proposals are gone with it. */
  wire(_client: LanguageClient): void {
    this.clear();
  }

  /** Takes a new state of a proposal. */
  update(p: Proposal): void {
    const old = this.proposals.get(p.proposalId);
    if (old && old.rev > p.rev) {
      return;
    }
    for (const h of p.files.flatMap((f) => f.hunks)) {
      if (h.state !== "pending") {
        this.deciding.delete(h.hunkId);
      }
    }
    if (p.state === "open" || p.state === "applying") {
      this.proposals.set(p.proposalId, p);
    } else {
      this.proposals.delete(p.proposalId);
    }
    this.changed.fire();
  }

  /** The open proposals, oldest first. */
  all(): Proposal[] {
    return [...this.proposals.values()];
  }

  get(proposalId: string): Proposal | undefined {
    return this.proposals.get(proposalId);
  }

  /** How many hunks wait for a decision. */
  get pending(): number {
    let n = 0;
    for (const p of this.proposals.values()) {
      for (const f of p.files) {
        n += f.hunks.filter((h) => this.isPending(h)).length;
      }
    }
    return n;
  }

  isPending(h: Hunk): boolean {
    return h.state === "pending" ? !this.deciding.has(h.hunkId) : h.state === "conflict" && !this.gone(h.hunkId);
  }

  private gone(hunkId: string): boolean {
    return this.deciding.has(hunkId) || this.dismissed.has(hunkId);
  }

  /** The pending hunks of a document in order, placed in its present text. */
  in(document: vscode.TextDocument): PlacedHunk[] {
    const uri = document.uri.toString();
    const out: PlacedHunk[] = [];
    let text: string | undefined;
    for (const proposal of this.proposals.values()) {
      for (const file of proposal.files) {
        if (!sameUri(file.uri, uri)) {
          continue;
        }
        text ??= document.getText();
        for (const hunk of file.hunks) {
          if (this.isPending(hunk)) {
            const range = this.place(uri, file, hunk);
            const fits = hunk.state === "pending" && sameText(slice(text, range), hunk.oldText);
            out.push({ proposal, file, hunk, range, fits });
          }
        }
      }
    }
    return out.sort((a, b) => a.range.start.line - b.range.start.line);
  }

  /** The files with pending hunks, in the order of their proposals. */
  files(): { proposal: Proposal; file: ProposalFile }[] {
    return this.all().flatMap((proposal) =>
      proposal.files.filter((f) => f.hunks.some((h) => this.isPending(h))).map((file) => ({ proposal, file })),
    );
  }

  /** Where the hunk stands in the document's present text. */
  place(uri: string, file: ProposalFile, hunk: Hunk): Range {
    const log = this.logs.get(uri);
    return log && file.base.version !== null ? log.move(hunk.range, file.base.version) : hunk.range;
  }

  /**
   * Decides on hunks. One after the other, so that each names the state the one
   * before it left; when the proposal has moved on, the decision is made again on
   * its current state if it still means the same.
   */
  decide(proposalId: string, decisions: HunkDecision[]): Promise<void> {
    const p = this.proposals.get(proposalId);
    if (!p) {
      return Promise.resolve();
    }
    const hunks = decisions.flatMap((d) => targets(p, d.target)).filter((h) => this.isPending(h));
    for (const h of hunks) {
      this.deciding.add(h.hunkId);
    }
    this.changed.fire();
    const run = this.queue.then(() => this.send(proposalId, decisions, hunks));
    this.queue = run.catch(() => undefined);
    return run
      .catch((e: unknown) => {
        this.server.log(`resolve: ${message(e)}`);
        void vscode.window.showWarningMessage(`Redline: ${message(e)}`);
      })
      .finally(() => {
        for (const h of hunks) {
          this.deciding.delete(h.hunkId);
          if (h.state === "conflict") {
            this.dismissed.add(h.hunkId);
          }
        }
        this.changed.fire();
      });
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions, this.changed).dispose();
  }

  private clear(): void {
    if (this.proposals.size > 0) {
      this.proposals.clear();
      this.deciding.clear();
      this.dismissed.clear();
      this.changed.fire();
    }
  }

  private async send(proposalId: string, decisions: HunkDecision[], meant: Hunk[]): Promise<void> {
    const rejecting = decisions.every((d) => d.decision === "reject");
    for (let tries = 0; ; tries++) {
      const p = this.proposals.get(proposalId);
      if (!p) {
        return; // decided elsewhere meanwhile
      }
      try {
        this.update(await this.server.request<Proposal>(method.proposalResolve, { proposalId, rev: p.rev, decisions }));
        return;
      } catch (e) {
        if (!(e instanceof ResponseError) || e.code !== code.stale || tries >= 4) {
          throw e;
        }
        const data = e.data as { proposal?: Proposal } | undefined;
        const now = data?.proposal ?? (await this.server.request<Proposal>(method.proposalGet, { proposalId }));
        this.update(now);
        const hunks = now.files.flatMap((f) => f.hunks);
        const same = meant.every((m) => {
          const h = hunks.find((x) => x.hunkId === m.hunkId);
          return h !== undefined && (rejecting || sameChange(m, h));
        });
        if (now.state !== "open" && now.state !== "applying") {
          return;
        }
        if (!same) {
          throw new Error("The change was adapted to what you typed meanwhile. Look at it again and decide.");
        }
      }
    }
  }

  private typed(e: vscode.TextDocumentChangeEvent): void {
    const scheme = e.document.uri.scheme;
    if (e.contentChanges.length === 0 || (scheme !== "file" && scheme !== "untitled")) {
      return;
    }
    const uri = e.document.uri.toString();
    let log = this.logs.get(uri);
    if (!log) {
      this.logs.set(uri, (log = new ShiftLog()));
    }
    log.add(
      e.document.version,
      e.contentChanges.map((c) => shiftOf(c.range, c.text)),
    );
    if (this.all().some((p) => p.files.some((f) => sameUri(f.uri, uri)))) {
      this.changed.fire();
    }
  }
}

/** Hunks of p that a target names. */
function targets(p: Proposal, t: HunkDecision["target"]): Hunk[] {
  return p.files.flatMap((f) =>
    f.hunks.filter((h) => t === "all" || ("fileId" in t ? t.fileId === f.fileId : t.hunkId === h.hunkId)),
  );
}

const spellings = new Map<string, string>();

/** Equal as the editor spells them: servers escape other characters than it does. */
export function sameUri(wire: string, uri: string): boolean {
  let own = spellings.get(wire);
  if (own === undefined) {
    spellings.set(wire, (own = vscode.Uri.parse(wire).toString()));
  }
  return own === uri;
}
