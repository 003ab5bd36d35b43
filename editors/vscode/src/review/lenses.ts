import * as vscode from "vscode";
import type { Reviews } from "./reviews";

/** A plain space beside an icon is not drawn. */
const NBSP = "\u00a0";

/** The lens on top of a file under review: what there is and the decisions on all of it. */
export class ReviewLenses implements vscode.CodeLensProvider {
  readonly onDidChangeCodeLenses: vscode.Event<void>;

  constructor(private readonly reviews: Reviews) {
    this.onDidChangeCodeLenses = reviews.onDidChange;
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const hunks = this.reviews.in(document);
    if (hunks.length === 0) {
      return [];
    }
    const top = new vscode.Range(0, 0, 0, 0);
    const lens = (title: string, command: string, tooltip: string) =>
      new vscode.CodeLens(top, { title, command, tooltip, arguments: [document.uri] });
    const n = hunks.length;
    return [
      lens(`$(edit)${NBSP}Redline: ${n} ${n === 1 ? "change" : "changes"}`, "redline.nextHunk", "Go to the next change"),
      lens(`$(check-all)${NBSP}Accept file (${n})`, "redline.acceptFile", "Accept all changes of this file"),
      lens(`$(close-all)${NBSP}Reject file`, "redline.rejectFile", "Reject all changes of this file"),
      lens(`$(diff)${NBSP}Open diff`, "redline.openDiff", "Compare with the proposed file"),
    ];
  }
}
