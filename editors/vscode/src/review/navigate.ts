import * as vscode from "vscode";
import type { Hunk, Proposal, ProposalFile } from "../ext";
import { neighbour } from "./hunks";
import { nothing, type ProposedDocuments } from "./proposed";
import { sameUri, type PlacedHunk, type Reviews } from "./reviews";

export type Direction = 1 | -1;

/** Goes from change to change, over all files. */
export class Navigation {
  constructor(
    private readonly reviews: Reviews,
    private readonly proposed: ProposedDocuments,
  ) {}

  /** The hunk nearest to the cursor; with stay also the one it is at. */
  nearest(editor: vscode.TextEditor, direction: Direction, stay = false): PlacedHunk | undefined {
    const hunks = this.reviews.in(editor.document);
    const i = neighbour(hunks, editor.selection.active.line - (stay ? direction : 0), direction);
    return i === undefined ? undefined : hunks[i];
  }

  /** Goes to the next or previous change; with only, to the next one of those. */
  async go(direction: Direction, only: (p: Proposal, h: Hunk) => boolean = () => true): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    const files = this.reviews.files().filter(({ proposal, file }) => file.hunks.some((h) => this.reviews.isPending(proposal, h) && only(proposal, h)));
    if (files.length === 0) {
      nothing();
      return;
    }
    const hunksOf = (document: vscode.TextDocument) => this.reviews.in(document).filter((h) => only(h.proposal, h.hunk));
    const here = editor ? hunksOf(editor.document) : [];
    const line = editor?.selection.active.line ?? 0;
    const more = here.some((h) => (direction === 1 ? h.range.start.line > line : h.range.start.line < line));
    const at = files.findIndex(({ file }) => editor !== undefined && isOf(file, editor.document.uri));
    if (editor && (more || (here.length > 0 && files.length === 1))) {
      const h = here[neighbour(here, line, direction) ?? 0];
      if (h) {
        await show(editor, h);
      }
      return;
    }
    // Past the last change of a file comes the next file.
    const next = at < 0 ? files[direction === 1 ? 0 : files.length - 1] : files[(at + direction + files.length) % files.length];
    if (next) {
      await this.openFile(next.proposal, next.file, direction, only);
    }
  }

  /** Shows a file at its first or last change; one that has no text to show it in, as a comparison. */
  async openFile(p: Proposal, f: ProposalFile, direction: Direction = 1, only: (p: Proposal, h: Hunk) => boolean = () => true): Promise<void> {
    const editor = f.op === "create" ? undefined : await this.edit(f.uri);
    if (!editor) {
      await this.proposed.openFile(p, f);
      return;
    }
    const hunks = this.reviews.in(editor.document).filter((h) => only(h.proposal, h.hunk));
    const h = direction === 1 ? hunks[0] : hunks.at(-1);
    if (h) {
      place(editor, h);
    }
  }

  /** Shows one hunk where it stands; one in conflict with both its sides. */
  async openHunk(p: Proposal, f: ProposalFile, hunkId: string): Promise<void> {
    const hunk = f.hunks.find((h) => h.hunkId === hunkId);
    if (hunk?.standing) {
      const editor = await this.edit(f.newUri ?? f.uri);
      const h = editor && this.reviews.standingIn(editor.document).find((x) => x.proposal.proposalId === p.proposalId && x.hunk.hunkId === hunkId);
      if (editor && h) {
        place(editor, h);
      } else if (!editor) {
        await this.proposed.openFile(p, f);
      }
      return;
    }
    const editor = f.op === "create" ? undefined : await this.edit(f.uri);
    const h = editor && this.reviews.in(editor.document).find((x) => x.proposal.proposalId === p.proposalId && x.hunk.hunkId === hunkId);
    if (!editor) {
      await this.proposed.openFile(p, f);
    } else if (h && !h.fits) {
      await this.proposed.openConflict(h);
    } else if (h) {
      place(editor, h);
    }
  }

  /** Opens a file as text; undefined when it is none or not there. */
  private async edit(uri: string): Promise<vscode.TextEditor | undefined> {
    try {
      return await vscode.window.showTextDocument(vscode.Uri.parse(uri));
    } catch {
      return undefined;
    }
  }
}

/** Whether a document is the file, or a comparison of it. */
export function isOf(f: ProposalFile, uri: vscode.Uri): boolean {
  if (uri.scheme !== "redline-proposed") {
    return sameUri(f.uri, uri.toString());
  }
  return new URLSearchParams(uri.query).get("f") === f.fileId && uri.path === vscode.Uri.parse(f.uri).path;
}

/** Puts the cursor, and the focus with it, at a hunk: its keys work only there. */
async function show(editor: vscode.TextEditor, h: PlacedHunk): Promise<void> {
  const options: vscode.TextDocumentShowOptions = {};
  if (editor.viewColumn !== undefined) {
    options.viewColumn = editor.viewColumn;
  }
  place(await vscode.window.showTextDocument(editor.document, options), h);
}

/** Cards above a place unfold after it was gone to, and push it away; this long it is held in view. */
const HOLD_MS = 1500;
/** So often, no more: who scrolls away at once is not held. */
const HOLD_TIMES = 2;

let holding: vscode.Disposable | undefined;

/** Puts the cursor at a hunk, wherever the focus is. */
export function place(editor: vscode.TextEditor, h: PlacedHunk): void {
  const at = new vscode.Position(Math.min(h.range.start.line, editor.document.lineCount - 1), 0);
  const there = new vscode.Range(at, at);
  const reveal = () => editor.revealRange(there, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  holding?.dispose();
  editor.selection = new vscode.Selection(at, at);
  reveal();
  let times = 0;
  const timer = setTimeout(() => hold.dispose(), HOLD_MS);
  const hold = vscode.Disposable.from(
    { dispose: () => clearTimeout(timer) },
    vscode.window.onDidChangeTextEditorVisibleRanges((e) => {
      if (e.textEditor === editor && !e.visibleRanges.some((r) => r.contains(at))) {
        reveal();
        if (++times === HOLD_TIMES) {
          hold.dispose();
        }
      }
    }),
    vscode.window.onDidChangeTextEditorSelection((e) => {
      if (e.textEditor === editor && !e.selections[0]?.active.isEqual(at)) {
        hold.dispose();
      }
    }),
    vscode.workspace.onDidChangeTextDocument((e) => e.document === editor.document && e.contentChanges.length > 0 && hold.dispose()),
  );
  holding = hold;
}
