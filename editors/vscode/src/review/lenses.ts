import * as vscode from "vscode";
import { lines } from "./hunks";
import type { PlacedHunk, Reviews } from "./reviews";

/** A plain space beside an icon is not drawn. */
const NBSP = "\u00a0";

/** The lenses of a file under review: on top the decisions on all of it, above each change those on it. */
export class ReviewLenses implements vscode.CodeLensProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeCodeLenses = this.changed.event;
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly reviews: Reviews) {
    this.subscriptions = [
      // As one types the editor asks by itself.
      reviews.onDidChange((c) => c === "content" && this.changed.fire()),
      vscode.workspace.onDidChangeConfiguration((e) => e.affectsConfiguration("redline.review") && this.changed.fire()),
    ];
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const hunks = this.reviews.in(document);
    if (hunks.length === 0 || vscode.workspace.getConfiguration("redline").get("review.preview") === "refactor") {
      return [];
    }
    const top = new vscode.Range(0, 0, 0, 0);
    const lens = (title: string, command: string, tooltip: string) =>
      new vscode.CodeLens(top, { title, command, tooltip, arguments: [document.uri] });
    const n = hunks.length;
    const out = [
      lens(`$(edit)${NBSP}Redline: ${n} ${n === 1 ? "change" : "changes"}`, "redline.nextHunk", "Go to the next change"),
      lens(`$(check-all)${NBSP}Accept file (${n})`, "redline.acceptFile", "Accept all changes of this file"),
      lens(`$(close-all)${NBSP}Reject file`, "redline.rejectFile", "Reject all changes of this file"),
      lens(`$(diff)${NBSP}Open diff`, "redline.openDiff", "Compare with the proposed file"),
    ];
    if (vscode.workspace.getConfiguration("redline", document.uri).get("review.codeLens") !== "file") {
      for (const h of hunks) {
        out.push(...this.of(h));
      }
    }
    return out;
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions, this.changed).dispose();
  }

  private of(h: PlacedHunk): vscode.CodeLens[] {
    if (h.hunk.whole) {
      return []; // the lenses of the file say it all
    }
    const line = lines(h.range)?.first ?? h.range.start.line;
    const at = new vscode.Range(line, 0, line, 0);
    const ref = { proposalId: h.proposal.proposalId, hunkId: h.hunk.hunkId };
    const lens = (title: string, command: string, tooltip: string) => new vscode.CodeLens(at, { title, command, tooltip, arguments: [ref] });
    return h.fits
      ? [
          lens(`$(check)${NBSP}Accept`, "redline.acceptHunk", "Put the proposed text into the document"),
          lens(`$(close)${NBSP}Reject`, "redline.rejectHunk", "Leave the document as it is"),
          lens(`$(edit)${NBSP}Amend`, "redline.amendHunk", "Change the proposed text, and put that in"),
        ]
      : [
          lens(`$(warning)${NBSP}Keep mine`, "redline.acceptHunk", "Your text stays; the model is told that you changed it"),
          lens("Take theirs", "redline.takeProposed", "Put the proposed text in place of yours; undo brings yours back"),
          lens("Compare", "redline.openConflict", "Show both sides"),
        ];
  }
}
