import * as vscode from "vscode";
import { Cards } from "./cards";
import { lines } from "./hunks";
import type { PlacedHunk, Reviews } from "./reviews";
import { removedWords } from "./words";

/**
 * Shows the pending hunks in the open editors: lines that would go in red, with the
 * words that change marked, and the text that would come in a card under them. The
 * document itself is not touched.
 */
export class InlineReview implements vscode.Disposable {
  private readonly removedLine = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("diffEditor.removedLineBackground"),
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.deletedForeground"),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  });
  private readonly removedWord = vscode.window.createTextEditorDecorationType({
    backgroundColor: new vscode.ThemeColor("diffEditor.removedTextBackground"),
    borderRadius: "2px",
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  });
  private readonly insertion = vscode.window.createTextEditorDecorationType({
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.addedForeground"),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
  });
  private readonly conflict = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("inputValidation.warningBackground"),
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.warningForeground"),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
  });
  private readonly cards = new Cards();
  private readonly subscriptions: vscode.Disposable[];
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly reviews: Reviews) {
    this.subscriptions = [
      reviews.onDidChange(() => this.soon()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.draw()),
    ];
    this.draw();
  }

  /** The hunk a card belongs to. */
  hunkOf(thread: vscode.CommentThread): { proposalId: string; hunkId: string } | undefined {
    return this.cards.hunkOf(thread);
  }

  dispose(): void {
    clearTimeout(this.timer);
    vscode.Disposable.from(...this.subscriptions, this.cards, this.removedLine, this.removedWord, this.insertion, this.conflict).dispose();
  }

  /** Typing and decisions come in bursts; one drawing answers them all. */
  private soon(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.draw();
    }, 15);
  }

  private draw(): void {
    const shown = new Map<string, { document: vscode.TextDocument; hunks: PlacedHunk[] }>();
    for (const editor of vscode.window.visibleTextEditors) {
      const { document } = editor;
      if (document.uri.scheme !== "file" && document.uri.scheme !== "untitled") {
        continue;
      }
      const uri = document.uri.toString();
      let entry = shown.get(uri);
      if (!entry) {
        shown.set(uri, (entry = { document, hunks: this.reviews.in(document) }));
      }
      this.decorate(editor, entry.hunks);
    }
    this.cards.show(shown);
  }

  private decorate(editor: vscode.TextEditor, hunks: PlacedHunk[]): void {
    const removed: vscode.Range[] = [];
    const words: vscode.Range[] = [];
    const inserted: vscode.Range[] = [];
    const conflicts: vscode.Range[] = [];
    for (const h of hunks) {
      const l = lines(h.range);
      if (!l) {
        const line = Math.min(h.range.start.line, editor.document.lineCount - 1);
        (h.fits ? inserted : conflicts).push(new vscode.Range(line, 0, line, 0));
        continue;
      }
      const whole = new vscode.Range(l.first, 0, l.last, Number.MAX_SAFE_INTEGER);
      if (!h.fits) {
        conflicts.push(whole);
        continue;
      }
      removed.push(whole);
      const from = editor.document.offsetAt(new vscode.Position(h.range.start.line, 0));
      const old = editor.document.getText(new vscode.Range(l.first, 0, h.range.end.line, h.range.end.character));
      for (const w of removedWords(old, h.hunk.newText)) {
        words.push(
          new vscode.Range(editor.document.positionAt(from + w.from), editor.document.positionAt(from + w.to)),
        );
      }
    }
    editor.setDecorations(this.removedLine, removed);
    editor.setDecorations(this.removedWord, words);
    editor.setDecorations(this.insertion, inserted);
    editor.setDecorations(this.conflict, conflicts);
  }
}
