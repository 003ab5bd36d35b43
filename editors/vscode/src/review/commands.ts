import * as vscode from "vscode";
import type { Proposal, ProposalFile } from "../ext";
import type { Amendments } from "./amend";
import { hunkAt } from "./hunks";
import type { InlineReview } from "./inline";
import type { Looks } from "./looks";
import { isOf, Navigation, place } from "./navigate";
import type { FileNode, HunkNode, ProposalNode, SectionNode } from "./panelmodel";
import type { ProposedDocuments } from "./proposed";
import type { RefactorPreview } from "./refactor";
import { toRange, type HunkRef, type PlacedHunk, type Reviews } from "./reviews";

/**
 * What a hunk command is given: ids from a card, a lens or the list, a card itself, a
 * line of the gutter, or nothing, which means the cursor.
 */
type HunkArg = HunkRef | vscode.CommentThread | vscode.Uri | { lineNumber: number; uri: vscode.Uri } | undefined;

/** What a file command is given: a file, an entry of the list, or nothing, which means the active editor. */
type FileArg = vscode.Uri | FileNode | ProposalNode | undefined;

export interface ReviewParts {
  reviews: Reviews;
  inline: InlineReview;
  proposed: ProposedDocuments;
  amendments: Amendments;
  looks: Looks;
  refactor: RefactorPreview;
}

/** Registers the commands of the review. */
export function reviewCommands({ reviews, inline, proposed, amendments, looks, refactor }: ReviewParts): vscode.Disposable {
  const register = (id: string, run: (...args: never[]) => unknown) => vscode.commands.registerCommand(`redline.${id}`, run);
  const navigation = new Navigation(reviews, proposed);

  const find = (arg: HunkArg): (HunkRef & { editor?: vscode.TextEditor }) | undefined => {
    if (arg && "hunkId" in arg) {
      return arg;
    }
    if (arg && "comments" in arg) {
      return inline.hunkOf(arg);
    }
    const editor = vscode.window.activeTextEditor;
    const line = arg && "lineNumber" in arg ? arg.lineNumber - 1 : editor?.selection.active.line;
    if (!editor || line === undefined) {
      return undefined;
    }
    const h = hunkAt(reviews.in(editor.document), line);
    return h && { proposalId: h.proposal.proposalId, hunkId: h.hunk.hunkId, editor };
  };

  const found = (arg: HunkArg) => {
    const f = find(arg);
    if (!f) {
      void vscode.window.showInformationMessage("Redline: there is no proposed change at the cursor.");
    }
    return f;
  };

  const decideHunk = async (arg: HunkArg, decision: "accept" | "reject", reason?: string) => {
    const ref = found(arg);
    if (!ref) {
      return;
    }
    const editor = ref.editor;
    let elsewhere = false;
    const moves = vscode.window.onDidChangeTextEditorSelection((e) => {
      elsewhere ||= e.textEditor === editor && (e.kind ?? vscode.TextEditorSelectionChangeKind.Command) !== vscode.TextEditorSelectionChangeKind.Command;
    });
    try {
      await reviews.decide(ref.proposalId, [{ target: { hunkId: ref.hunkId }, decision, ...(reason ? { reason } : {}) }]);
    } finally {
      moves.dispose();
    }
    // On to the next change, unless the person went on meanwhile; the focus stays where it is.
    if (editor && !elsewhere && vscode.window.activeTextEditor === editor) {
      const h = navigation.nearest(editor, 1, true);
      if (h) {
        place(editor, h);
      }
    }
  };

  const decideFile = async (arg: FileArg, decision: "accept" | "reject", reason?: string) => {
    const why = reason ? { reason } : {};
    if (arg && "proposalId" in arg) {
      await reviews.decide(arg.proposalId, [{ target: arg.kind === "file" ? { fileId: arg.fileId } : "all", decision, ...why }]);
      return;
    }
    for (const { proposal, file } of filesAt(arg ?? vscode.window.activeTextEditor?.document.uri)) {
      await reviews.decide(proposal.proposalId, [{ target: { fileId: file.fileId }, decision, ...why }]);
    }
  };

  /** The files under review that a document is, or is a comparison of. */
  const filesAt = (uri: vscode.Uri | undefined): { proposal: Proposal; file: ProposalFile }[] => {
    if (!uri) {
      return [];
    }
    return reviews.files().filter(({ file }) => isOf(file, uri));
  };

  const decideAll = async (decision: "accept" | "reject", reason?: string) => {
    for (const p of reviews.all()) {
      await reviews.decide(p.proposalId, [{ target: "all", decision, ...(reason ? { reason } : {}) }]);
    }
  };

  const askReason = (what: string) =>
    vscode.window.showInputBox({ title: `Reject ${what}`, prompt: "What should be different? The model is told.", ignoreFocusOut: true }).then((r) => r?.trim());

  /** The conflict at the cursor or named, where it stands in its document. */
  const conflict = async (arg: HunkArg): Promise<PlacedHunk | undefined> => {
    const ref = found(arg);
    const at = ref && reviews.pendingHunk(ref);
    if (!ref || !at) {
      return undefined;
    }
    const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(at.file.uri));
    return reviews.in(document).find((h) => h.proposal.proposalId === ref.proposalId && h.hunk.hunkId === ref.hunkId);
  };

  const withEntry = (n: { proposalId: string; fileId: string }, run: (p: Proposal, f: ProposalFile) => unknown) => {
    const p = reviews.find(n.proposalId);
    const f = p?.files.find((x) => x.fileId === n.fileId);
    return p && f ? run(p, f) : undefined;
  };

  const openFile = (arg: FileArg) => (arg && "kind" in arg && arg.kind === "file" ? withEntry(arg, (p, f) => proposed.openFile(p, f)) : undefined);

  return vscode.Disposable.from(
    register("acceptHunk", (arg?: HunkArg) => decideHunk(arg, "accept")),
    register("rejectHunk", (arg?: HunkArg) => decideHunk(arg, "reject")),
    register("rejectHunkWithReason", async (arg?: HunkArg) => {
      const ref = found(arg); // before the box: the cursor may move
      const reason = ref && (await askReason("this change"));
      if (ref && reason !== undefined) {
        await decideHunk(ref, "reject", reason);
      }
    }),
    register("amendHunk", (arg?: HunkArg) => {
      const ref = found(arg);
      return ref && amendments.open(ref);
    }),
    register("amendTake", () => amendments.take()),
    register("amendDiscard", () => amendments.discard()),
    register("openConflict", async (arg?: HunkArg) => {
      const h = await conflict(arg);
      return h && proposed.openConflict(h);
    }),
    register("takeProposed", async (arg?: HunkArg) => {
      const h = await conflict(arg);
      if (h) {
        // The person's own edit, one undo step: the server finds that the document has the text.
        const edit = new vscode.WorkspaceEdit();
        edit.replace(vscode.Uri.parse(h.file.uri), toRange(h.range), h.hunk.newText);
        await vscode.workspace.applyEdit(edit);
      }
    }),
    register("acceptFile", (arg?: FileArg) => decideFile(arg, "accept")),
    register("rejectFile", (arg?: FileArg) => decideFile(arg, "reject")),
    register("rejectFileWithReason", async (arg?: FileArg) => {
      const target = arg ?? vscode.window.activeTextEditor?.document.uri;
      const reason = await askReason("the changes of this file");
      if (reason !== undefined) {
        await decideFile(target, "reject", reason);
      }
    }),
    register("acceptAll", () => decideAll("accept")),
    register("rejectAll", () => decideAll("reject")),
    register("rejectAllWithReason", async () => {
      const reason = await askReason("all changes");
      if (reason !== undefined) {
        await decideAll("reject", reason);
      }
    }),
    register("nextHunk", () => navigation.go(1)),
    register("previousHunk", () => navigation.go(-1)),
    register("nextNews", () => navigation.go(1, (p, h) => looks.news(p, h) !== undefined)),
    register("reviewNews", () => proposed.openNews(looks)),
    register("markLooked", () => looks.markAll()),
    register("openDiff", (arg?: FileArg) => {
      if (arg && "kind" in arg) {
        return openFile(arg);
      }
      const target = arg instanceof vscode.Uri ? arg : vscode.window.activeTextEditor?.document.uri;
      return target ? proposed.open(target) : undefined;
    }),
    register("openChangedFile", (n: FileNode) =>
      withEntry(n, (p, f) => (n.section === "review" ? navigation.openFile(p, f) : n.children[0] ? navigation.openHunk(p, f, n.children[0].hunkId) : undefined)),
    ),
    register("openHunk", (n: HunkNode) => withEntry(n, (p, f) => navigation.openHunk(p, f, n.hunkId))),
    register("revert", async (n?: HunkNode | FileNode | ProposalNode | SectionNode | HunkRef) => {
      if (!n) {
        const last = reviews.applied()[0];
        return last ? reviews.revert(last.proposalId, ["all"]) : void vscode.window.showInformationMessage("Redline: nothing that was applied stands in the files.");
      }
      if ("hunkId" in n) {
        return reviews.revert(n.proposalId, [{ hunkId: n.hunkId }]);
      }
      if (n.kind === "section") {
        for (const p of reviews.applied()) {
          await reviews.revert(p.proposalId, ["all"]);
        }
        return;
      }
      return reviews.revert(n.proposalId, n.kind === "file" ? [{ fileId: n.fileId }] : ["all"]);
    }),
    register("reviewAll", () => (refactor.preferred ? refactor.open() : proposed.openAll())),
    register("reviewInPreview", () => refactor.open()),
  );
}

/** Keeps the context keys by which keys and menus of the review come and go. */
export function reviewContext(reviews: Reviews): vscode.Disposable {
  const last = new Map<string, string>();
  const set = (key: string, value: unknown) => {
    const text = JSON.stringify(value);
    if (last.get(key) !== text) {
      last.set(key, text);
      void vscode.commands.executeCommand("setContext", `redline.${key}`, value);
    }
  };
  const update = () => {
    const editor = vscode.window.activeTextEditor;
    const all = reviews.pending > 0;
    set("reviewing", all);
    set("applied", reviews.applied().length > 0);
    set("reviewingFile", all && editor !== undefined && reviews.in(editor.document).length > 0);
  };
  update();
  return vscode.Disposable.from(
    reviews.onDidChange((c) => c === "content" && update()),
    vscode.window.onDidChangeActiveTextEditor(update),
  );
}
