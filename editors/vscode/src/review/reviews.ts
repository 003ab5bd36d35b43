import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { Server } from "../client";
import { code, method, type Hunk, type HunkDecision, type Proposal, type ProposalFile, type Range, type Target } from "../ext";
import { lsp } from "../lsp";
import { message } from "../session";
import { find, sameChange, sameText, ShiftLog, shiftOf } from "./hunks";

/** A pending hunk and where it stands in its document now. */
export interface PlacedHunk {
  proposal: Proposal;
  file: ProposalFile;
  hunk: Hunk;
  range: Range;
  /** The document still has the lines that the hunk replaces. */
  fits: boolean;
}

/** Names a hunk: ids of hunks are unique within their proposal only. */
export interface HunkRef {
  proposalId: string;
  hunkId: string;
}

/** What happened to proposals: something other than their places in the text, or only those. */
export type ReviewChange = "content" | "places";

/**
 * The proposals, with their hunks kept in place while the user types, and the only
 * way to decide on the open ones and to take back what was applied of the others.
 */
export class Reviews implements vscode.Disposable {
  private readonly proposals = new Map<string, Proposal>();
  /** Decided ones, oldest first, without their edits and diffs. */
  private readonly past = new Map<string, Proposal>();
  private readonly logs = new Map<string, ShiftLog>();
  /** Hunks that were decided here and of which the server has not told yet. */
  private readonly deciding = new Set<string>();
  /** Conflicts the user has decided on: the server keeps them as they are to the end. */
  private readonly dismissed = new Set<string>();
  private queue: Promise<unknown> = Promise.resolve();
  private readonly changed = new vscode.EventEmitter<ReviewChange>();
  readonly onDidChange = this.changed.event;
  private readonly decided = new vscode.EventEmitter<{ proposal: Proposal; hunks: Hunk[] }>();
  /** Fired when the user here decides on hunks. */
  readonly onDidDecide = this.decided.event;
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
        this.deciding.delete(hunkKey(p, h));
      }
    }
    if (p.state === "open" || p.state === "applying") {
      this.proposals.set(p.proposalId, p);
    } else {
      this.proposals.delete(p.proposalId);
      if (p.state !== "withdrawn") {
        this.past.set(p.proposalId, { ...p, edit: undefined, diff: "" });
      }
    }
    this.changed.fire("content");
  }

  /** Forgets the proposals of a session that was closed: nothing of it can be decided or taken back here. */
  drop(sessionId: string): void {
    for (const kept of [this.proposals, this.past]) {
      for (const p of [...kept.values()].filter((x) => x.sessionId === sessionId)) {
        kept.delete(p.proposalId);
      }
    }
    this.changed.fire("content");
  }

  /** Asks for the proposals of a session, for a connection that has missed their events. */
  async load(sessionId: string): Promise<void> {
    const { proposals } = await this.server.request<{ proposals: Proposal[] }>(method.proposalList, { sessionId });
    for (const p of proposals) {
      this.update(p);
    }
  }

  /** The decided proposals of which something stands in the files, newest first. */
  applied(): Proposal[] {
    return [...this.past.values(), ...this.proposals.values()].filter((p) => p.files.some((f) => f.hunks.some((h) => h.standing))).reverse();
  }

  /** Takes back what stands of a proposal; the user's own later changes are left. */
  async revert(proposalId: string, targets: Target[]): Promise<void> {
    try {
      this.update(await this.server.request<Proposal>(method.proposalRevert, { proposalId, targets }));
    } catch (e) {
      this.server.log(`revert: ${message(e)}`);
      void vscode.window.showWarningMessage(`Redline: ${message(e)}`);
    }
  }

  /**
   * Has the editor's Refactor Preview decide. It ends when the user is done with the
   * preview; what they did not tick stays open only if they took nothing at all.
   */
  async confirm(proposalId: string): Promise<Proposal | undefined> {
    const p = this.proposals.get(proposalId);
    if (!p) {
      return undefined;
    }
    const after = await this.server.request<Proposal>(method.proposalConfirm, { proposalId, rev: p.rev });
    this.update(after);
    return after;
  }

  /** The open proposals, oldest first. */
  all(): Proposal[] {
    return [...this.proposals.values()];
  }

  get(proposalId: string): Proposal | undefined {
    return this.proposals.get(proposalId);
  }

  /** A proposal, decided or not. */
  find(proposalId: string): Proposal | undefined {
    return this.proposals.get(proposalId) ?? this.past.get(proposalId);
  }

  /** An undecided hunk and its file. */
  pendingHunk(ref: HunkRef): { proposal: Proposal; file: ProposalFile; hunk: Hunk } | undefined {
    const proposal = this.proposals.get(ref.proposalId);
    for (const file of proposal?.files ?? []) {
      const hunk = file.hunks.find((h) => h.hunkId === ref.hunkId);
      if (proposal && hunk && this.isPending(proposal, hunk)) {
        return { proposal, file, hunk };
      }
    }
    return undefined;
  }

  /** How many hunks wait for a decision. */
  get pending(): number {
    let n = 0;
    for (const p of this.proposals.values()) {
      for (const f of p.files) {
        n += f.hunks.filter((h) => this.isPending(p, h)).length;
      }
    }
    return n;
  }

  isPending(p: Proposal, h: Hunk): boolean {
    const id = hunkKey(p, h);
    return h.state === "pending" ? !this.deciding.has(id) : h.state === "conflict" && !h.closed && !this.deciding.has(id) && !this.dismissed.has(id);
  }

  /** The pending hunks of a document in order, placed in its present text. */
  in(document: vscode.TextDocument): PlacedHunk[] {
    const uri = document.uri.toString();
    const out: PlacedHunk[] = [];
    for (const proposal of this.proposals.values()) {
      for (const file of proposal.files) {
        if (!sameUri(file.uri, uri)) {
          continue;
        }
        for (const hunk of file.hunks) {
          if (this.isPending(proposal, hunk)) {
            const range = this.place(uri, file, hunk);
            const fits = hunk.state === "pending" && sameText(document.getText(toRange(range)), hunk.oldText);
            out.push({ proposal, file, hunk, range, fits });
          }
        }
      }
    }
    return out.sort((a, b) => a.range.start.line - b.range.start.line);
  }

  /** The hunks that were applied to a document and still read there as they were applied. */
  standingIn(document: vscode.TextDocument): PlacedHunk[] {
    const uri = document.uri.toString();
    const out: PlacedHunk[] = [];
    for (const proposal of this.applied()) {
      for (const file of proposal.files) {
        if (!sameUri(file.uri, uri) && !(file.newUri && sameUri(file.newUri, uri))) {
          continue;
        }
        for (const hunk of file.hunks) {
          const range = hunk.standing && !(hunk.whole && file.op !== "create") ? this.standingAt(document, file, hunk) : undefined;
          if (range) {
            out.push({ proposal, file, hunk, range, fits: true });
          }
        }
      }
    }
    return out;
  }

  private standingAt(document: vscode.TextDocument, file: ProposalFile, hunk: Hunk): Range | undefined {
    const text = hunk.final ?? hunk.newText;
    const at = this.place(document.uri.toString(), file, hunk);
    if (sameText(document.getText(toRange(at)), text)) {
      return at;
    }
    return text === "" ? undefined : find(document.getText(), text, at.start.line);
  }

  /** The files with pending hunks, in the order of their proposals. */
  files(): { proposal: Proposal; file: ProposalFile }[] {
    return this.all().flatMap((proposal) =>
      proposal.files.filter((f) => f.hunks.some((h) => this.isPending(proposal, h))).map((file) => ({ proposal, file })),
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
    const meant = p ? decisions.filter((d) => d.decision !== "reject").flatMap((d) => targets(p, d.target)) : [];
    const ids = new Set(meant.filter((h) => h.state === "pending").map((h) => h.hunkId));
    return this.submit(proposalId, decisions).then(
      () => this.tellLeft(proposalId, ids),
      (e: unknown) => {
        this.server.log(`resolve: ${message(e)}`);
        void vscode.window.showWarningMessage(`Redline: ${message(e)}`);
      },
    );
  }

  /** Says of hunks that were accepted and did not come into their files why that is. */
  private tellLeft(proposalId: string, ids: ReadonlySet<string>): void {
    const left = (this.find(proposalId)?.files ?? []).flatMap((f) =>
      f.hunks.filter((h) => ids.has(h.hunkId) && h.state === "conflict").map((h) => leftBecause(vscode.workspace.asRelativePath(vscode.Uri.parse(f.uri)), h.reason)),
    );
    const reasons = [...new Set(left)];
    if (reasons.length > 0) {
      void vscode.window.showWarningMessage(`Redline: ${reasons.slice(0, 3).join("; ")}${reasons.length > 3 ? ` and ${reasons.length - 3} more` : ""}. Nothing was put in there.`);
    }
  }

  /** decide, failing with words for the user. */
  submit(proposalId: string, decisions: HunkDecision[]): Promise<void> {
    const p = this.proposals.get(proposalId);
    if (!p) {
      return Promise.resolve();
    }
    const hunks = decisions.flatMap((d) => targets(p, d.target)).filter((h) => this.isPending(p, h));
    for (const h of hunks) {
      this.deciding.add(hunkKey(p, h));
    }
    this.decided.fire({ proposal: p, hunks });
    this.changed.fire("content");
    const run = this.queue.then(() => this.send(proposalId, decisions, hunks));
    this.queue = run.catch(() => undefined);
    return run
      .then(() => {
        for (const h of hunks) {
          if (h.state === "conflict") {
            this.dismissed.add(hunkKey(p, h));
          }
        }
      })
      .finally(() => {
        for (const h of hunks) {
          this.deciding.delete(hunkKey(p, h));
        }
        this.changed.fire("content");
      });
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions, this.changed, this.decided).dispose();
  }

  private clear(): void {
    if (this.proposals.size + this.past.size > 0) {
      this.proposals.clear();
      this.past.clear();
      this.deciding.clear();
      this.dismissed.clear();
      this.changed.fire("content");
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
        if (!(e instanceof lsp().ResponseError) || e.code !== code.stale || tries >= 4) {
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
      this.changed.fire("places");
    }
  }
}

/** Hunks are numbered anew in each proposal. */
export function hunkKey(p: { proposalId: string }, h: { hunkId: string }): string {
  return `${p.proposalId} ${h.hunkId}`;
}

export function toRange(r: Range): vscode.Range {
  return new vscode.Range(r.start.line, r.start.character, r.end.line, r.end.character);
}

/** Why something was left out of a file, the file first: a notification is cut where it is long. */
function leftBecause(name: string, reason = "it no longer fits"): string {
  const why = reason.replace(/^the editor did not apply the edit: /, "");
  return why.startsWith(name) ? why : `${name}: ${why}`;
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
