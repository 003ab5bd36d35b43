import * as vscode from "vscode";
import type { HunkDecision } from "../ext";
import { hunkAt, neighbour } from "./hunks";
import type { InlineReview } from "./inline";
import type { ProposedDocuments } from "./proposed";
import { sameUri, type PlacedHunk, type Reviews } from "./reviews";

/** What a hunk command is given: ids from a card or lens, a card itself, or nothing, which means the cursor. */
type HunkArg = { proposalId: string; hunkId: string } | vscode.CommentThread | vscode.Uri | undefined;

/** Registers the commands of the review. */
export function reviewCommands(reviews: Reviews, inline: InlineReview, proposed: ProposedDocuments): vscode.Disposable {
  const register = (id: string, run: (...args: never[]) => unknown) => vscode.commands.registerCommand(`redline.${id}`, run);

  const decideHunk = async (arg: HunkArg, decision: "accept" | "reject", reason?: string) => {
    const found = find(arg);
    if (!found) {
      void vscode.window.showInformationMessage("Redline: there is no proposed change at the cursor.");
      return;
    }
    const editor = found.editor;
    let elsewhere = false;
    const moves = vscode.window.onDidChangeTextEditorSelection((e) => {
      elsewhere ||= e.textEditor === editor && (e.kind ?? vscode.TextEditorSelectionChangeKind.Command) !== vscode.TextEditorSelectionChangeKind.Command;
    });
    try {
      await reviews.decide(found.proposalId, [{ target: { hunkId: found.hunkId }, decision, ...(reason ? { reason } : {}) }]);
    } finally {
      moves.dispose();
    }
    // On to the next change, unless the person went on meanwhile; the focus stays where it is.
    if (editor && !elsewhere && vscode.window.activeTextEditor === editor) {
      const h = nearest(editor, 1, true);
      if (h) {
        place(editor, h);
      }
    }
  };

  const find = (arg: HunkArg): { proposalId: string; hunkId: string; editor?: vscode.TextEditor } | undefined => {
    if (arg && "hunkId" in arg) {
      return arg;
    }
    if (arg && "comments" in arg) {
      return inline.hunkOf(arg);
    }
    const editor = vscode.window.activeTextEditor;
    if (!editor) {
      return undefined;
    }
    const h = hunkAt(reviews.in(editor.document), editor.selection.active.line);
    return h && { proposalId: h.proposal.proposalId, hunkId: h.hunk.hunkId, editor };
  };

  const decideFile = async (uri: unknown, decision: "accept" | "reject") => {
    const target = uri instanceof vscode.Uri ? uri : vscode.window.activeTextEditor?.document.uri;
    if (!target) {
      return;
    }
    const key = target.with({ scheme: target.scheme === "redline-proposed" ? "file" : target.scheme, query: "" }).toString();
    for (const { proposal, file } of reviews.files()) {
      if (sameUri(file.uri, key)) {
        await reviews.decide(proposal.proposalId, [{ target: { fileId: file.fileId }, decision }]);
      }
    }
  };

  const decideAll = async (decision: "accept" | "reject") => {
    for (const p of reviews.all()) {
      const all: HunkDecision[] = [{ target: "all", decision }];
      await reviews.decide(p.proposalId, all);
    }
  };

  const nearest = (editor: vscode.TextEditor, direction: 1 | -1, stay = false): PlacedHunk | undefined => {
    const hunks = reviews.in(editor.document);
    const i = neighbour(hunks, editor.selection.active.line - (stay ? direction : 0), direction);
    return i === undefined ? undefined : hunks[i];
  };

  const go = async (direction: 1 | -1) => {
    const editor = vscode.window.activeTextEditor;
    const files = reviews.files();
    if (files.length === 0) {
      void vscode.window.showInformationMessage("Redline: nothing waits for review.");
      return;
    }
    const here = editor ? reviews.in(editor.document) : [];
    const line = editor?.selection.active.line ?? 0;
    const more = direction === 1 ? here.some((h) => h.range.start.line > line) : here.some((h) => h.range.start.line < line);
    if (editor && (more || (here.length > 0 && files.length === 1))) {
      const h = nearest(editor, direction);
      if (h) {
        await show(editor, h);
      }
      return;
    }
    // Past the last change of a file comes the next file.
    const at = files.findIndex(({ file }) => editor && sameUri(file.uri, editor.document.uri.toString()));
    const next = files[(at + direction + files.length) % files.length] ?? files[0];
    if (!next) {
      return;
    }
    if (next.file.op === "create") {
      await proposed.openAll();
      return;
    }
    const opened = await vscode.window.showTextDocument(vscode.Uri.parse(next.file.uri));
    const hunks = reviews.in(opened.document);
    const h = direction === 1 ? hunks[0] : hunks.at(-1);
    if (h) {
      await show(opened, h);
    }
  };

  return vscode.Disposable.from(
    register("acceptHunk", (arg?: HunkArg) => decideHunk(arg, "accept")),
    register("rejectHunk", (arg?: HunkArg) => decideHunk(arg, "reject")),
    register("rejectHunkWithReason", async (arg?: HunkArg) => {
      const found = find(arg);
      const reason = await vscode.window.showInputBox({
        title: "Reject this change",
        prompt: "What should be different? The model is told.",
        ignoreFocusOut: true,
      });
      if (reason !== undefined && found) {
        await decideHunk(found, "reject", reason.trim());
      }
    }),
    register("acceptFile", (uri?: vscode.Uri) => decideFile(uri, "accept")),
    register("rejectFile", (uri?: vscode.Uri) => decideFile(uri, "reject")),
    register("acceptAll", () => decideAll("accept")),
    register("rejectAll", () => decideAll("reject")),
    register("nextHunk", () => go(1)),
    register("previousHunk", () => go(-1)),
    register("openDiff", (uri?: vscode.Uri) => {
      const target = uri instanceof vscode.Uri ? uri : vscode.window.activeTextEditor?.document.uri;
      return target ? proposed.open(target) : undefined;
    }),
    register("reviewAll", () => proposed.openAll()),
  );
}

/** Puts the cursor, and the focus with it, at a hunk: its keys work only there. */
async function show(editor: vscode.TextEditor, h: PlacedHunk): Promise<void> {
  const options: vscode.TextDocumentShowOptions = {};
  if (editor.viewColumn !== undefined) {
    options.viewColumn = editor.viewColumn;
  }
  place(await vscode.window.showTextDocument(editor.document, options), h);
}

/** Puts the cursor at a hunk, wherever the focus is. */
function place(editor: vscode.TextEditor, h: PlacedHunk): void {
  const at = new vscode.Position(Math.min(h.range.start.line, editor.document.lineCount - 1), 0);
  editor.selection = new vscode.Selection(at, at);
  editor.revealRange(new vscode.Range(at, at), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}

/** Keeps the context keys by which keys and menus of the review come and go. */
export function reviewContext(reviews: Reviews): vscode.Disposable {
  let reviewing: boolean | undefined;
  let here: boolean | undefined;
  const update = () => {
    const editor = vscode.window.activeTextEditor;
    const all = reviews.pending > 0;
    const file = all && editor !== undefined && reviews.in(editor.document).length > 0;
    if (all !== reviewing) {
      reviewing = all;
      void vscode.commands.executeCommand("setContext", "redline.reviewing", all);
    }
    if (file !== here) {
      here = file;
      void vscode.commands.executeCommand("setContext", "redline.reviewingFile", file);
    }
  };
  update();
  return vscode.Disposable.from(reviews.onDidChange(update), vscode.window.onDidChangeActiveTextEditor(update));
}
