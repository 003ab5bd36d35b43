import * as vscode from "vscode";
import { Cards, type Shown } from "./cards";
import { signImage, signOf, SIGNS, type Sign } from "./gutter";
import { hunkAt, lines } from "./hunks";
import type { Looks } from "./looks";
import { isConflict } from "./proposed";
import type { RefactorPreview } from "./refactor";
import { toRange, type HunkRef, type PlacedHunk, type Reviews } from "./reviews";
import { removedWords } from "./words";

/** How long after a keystroke what moved is drawn anew; meanwhile the editor itself moves it along. */
const TYPING_MS = 200;

/** Longest texts, in UTF-16 units together, whose changed words are marked. */
const MAX_WORDS = 20_000;

/**
 * Shows the pending hunks in the open editors: lines that would go in red, with the
 * words that change marked, a sign beside them, and the text that would come in a card
 * under them. The document itself is not touched. What was applied and not looked at
 * yet is marked too.
 */
export class InlineReview implements vscode.Disposable {
  private readonly removedLine = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("diffEditor.removedLineBackground"),
    ...framed("diffEditor.removedTextBorder"),
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
    ...framed("contrastActiveBorder"),
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.warningForeground"),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
  });
  private readonly applied = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("diffEditor.insertedLineBackground"),
    ...framed("diffEditor.insertedTextBorder"),
    overviewRulerColor: new vscode.ThemeColor("editorOverviewRuler.addedForeground"),
    overviewRulerLane: vscode.OverviewRulerLane.Left,
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
  });
  private readonly signs = new Map<Sign, vscode.TextEditorDecorationType>(
    SIGNS.map((s) => [s, vscode.window.createTextEditorDecorationType({ gutterIconPath: vscode.Uri.parse(signImage(s)), gutterIconSize: "80%" })]),
  );
  private readonly cards = new Cards();
  private readonly subscriptions: vscode.Disposable[];
  private timer: NodeJS.Timeout | undefined;
  private due = 0;
  /** Editors that have something drawn in them. */
  private drawn = new Set<vscode.TextEditor>();
  private signed = "[]";
  /** Where the cursor was last. */
  private readonly lines = new WeakMap<vscode.TextEditor, number>();

  constructor(
    private readonly reviews: Reviews,
    private readonly looks: Looks,
    private readonly refactor: RefactorPreview,
  ) {
    this.subscriptions = [
      reviews.onDidChange((c) => this.soon(c === "content" ? 15 : TYPING_MS)),
      looks.onDidChange(() => this.soon(15)),
      vscode.window.onDidChangeVisibleTextEditors(() => this.draw()),
      vscode.window.tabGroups.onDidChangeTabs(() => this.soon(15)),
      vscode.window.onDidChangeActiveTextEditor(() => this.soon(15)),
      vscode.window.onDidChangeTextEditorSelection((e) => this.moved(e.textEditor)),
      vscode.workspace.onDidChangeConfiguration((e) => e.affectsConfiguration("redline.review") && this.soon(15)),
    ];
    this.draw();
  }

  /** The hunk a card belongs to. */
  hunkOf(thread: vscode.CommentThread): HunkRef | undefined {
    return this.cards.hunkOf(thread);
  }

  dispose(): void {
    clearTimeout(this.timer);
    vscode.Disposable.from(
      ...this.subscriptions,
      this.cards,
      this.removedLine,
      this.removedWord,
      this.insertion,
      this.conflict,
      this.applied,
      ...this.signs.values(),
    ).dispose();
  }

  /** Typing and decisions come in bursts; one drawing answers them all. What was typed is drawn when it pauses. */
  private soon(ms: number): void {
    const now = Date.now();
    if (this.timer && ms < TYPING_MS && this.due <= now + ms) {
      return;
    }
    clearTimeout(this.timer);
    this.due = now + ms;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.draw();
    }, ms);
  }

  private draw(): void {
    const shown = new Map<string, Shown>();
    // Where the proposed text is not beside it: in a plain editor, and in the comparison of one conflict.
    const alone = new Set(
      vscode.window.tabGroups.all.map(({ activeTab }) => {
        const input = activeTab?.input;
        const shown = input instanceof vscode.TabInputText ? input.uri : input instanceof vscode.TabInputTextDiff && isConflict(input.original) ? input.modified : undefined;
        return shown?.toString() ?? "";
      }),
    );
    const drawn = new Set<vscode.TextEditor>();
    for (const editor of vscode.window.visibleTextEditors) {
      const { document } = editor;
      if (document.uri.scheme !== "file" && document.uri.scheme !== "untitled") {
        continue;
      }
      const uri = document.uri.toString();
      let entry = shown.get(uri);
      if (!entry) {
        shown.set(uri, (entry = { document, hunks: this.reviews.in(document), beside: !alone.has(uri) }));
      }
      const applied = this.reviews.standingIn(document).filter((h) => this.looks.news(h.proposal, h.hunk) !== undefined);
      // Nothing there and nothing there before: the many editors without changes cost nothing.
      if (entry.hunks.length + applied.length > 0 || this.drawn.has(editor)) {
        this.decorate(editor, this.refactor.preferred ? [] : entry.hunks, applied);
      }
      if (entry.hunks.length + applied.length > 0) {
        drawn.add(editor);
      }
    }
    this.drawn = drawn;
    this.cards.show(this.refactor.preferred ? new Map() : shown, (h) => this.looks.news(h.proposal, h.hunk));
    this.tellLines();
    const active = vscode.window.activeTextEditor;
    if (active) {
      this.moved(active); // the change may have come to the cursor
    }
  }

  /** The cursor is at another line: the card of a change there unfolds. */
  private moved(editor: vscode.TextEditor): void {
    const line = editor.selection.active.line;
    if (!this.drawn.has(editor) || this.lines.get(editor) === line) {
      return;
    }
    this.lines.set(editor, line);
    const h = hunkAt(this.reviews.in(editor.document), line);
    if (h) {
      this.cards.unfold(editor.document.uri.toString(), h);
    }
  }

  /** For the menu of the gutter: the lines, from 1, that belong to a change. */
  private tellLines(): void {
    const editor = vscode.window.activeTextEditor;
    const at: number[] = [];
    for (const h of editor && this.drawn.has(editor) ? this.reviews.in(editor.document) : []) {
      const l = lines(h.range) ?? { first: h.range.start.line, last: h.range.start.line };
      for (let i = l.first; i <= Math.min(l.last, l.first + 500); i++) {
        at.push(i + 1);
      }
    }
    const signed = JSON.stringify(at);
    if (signed !== this.signed) {
      this.signed = signed;
      void vscode.commands.executeCommand("setContext", "redline.changedLines", at);
    }
  }

  private decorate(editor: vscode.TextEditor, hunks: PlacedHunk[], applied: PlacedHunk[]): void {
    const removed: vscode.Range[] = [];
    const words: vscode.Range[] = [];
    const inserted: vscode.Range[] = [];
    const conflicts: vscode.Range[] = [];
    const signs = new Map<Sign, vscode.Range[]>(SIGNS.map((s) => [s, []]));
    const { document } = editor;
    for (const h of hunks) {
      const l = lines(h.range);
      const first = Math.min(l?.first ?? h.range.start.line, document.lineCount - 1);
      signs.get(signOf(h))?.push(new vscode.Range(first, 0, first, 0));
      if (!l) {
        (h.fits ? inserted : conflicts).push(new vscode.Range(first, 0, first, 0));
        continue;
      }
      const whole = new vscode.Range(l.first, 0, l.last, Number.MAX_SAFE_INTEGER);
      if (!h.fits) {
        conflicts.push(whole);
        continue;
      }
      removed.push(whole);
      if (h.hunk.newText === "" || h.hunk.oldText.length + h.hunk.newText.length > MAX_WORDS) {
        continue;
      }
      const from = document.offsetAt(new vscode.Position(h.range.start.line, 0));
      const old = document.getText(new vscode.Range(l.first, 0, h.range.end.line, h.range.end.character));
      for (const w of removedWords(old, h.hunk.newText)) {
        words.push(new vscode.Range(document.positionAt(from + w.from), document.positionAt(from + w.to)));
      }
    }
    editor.setDecorations(this.removedLine, removed);
    editor.setDecorations(this.removedWord, words);
    editor.setDecorations(this.insertion, inserted);
    editor.setDecorations(this.conflict, conflicts);
    for (const [sign, ranges] of signs) {
      editor.setDecorations(this.signs.get(sign) as vscode.TextEditorDecorationType, ranges);
    }
    editor.setDecorations(this.applied, applied.map(appliedMark));
  }
}

/** Lines that were applied without being asked about, with a way to take them back. */
function appliedMark(h: PlacedHunk): vscode.DecorationOptions {
  const args = encodeURIComponent(JSON.stringify([{ proposalId: h.proposal.proposalId, hunkId: h.hunk.hunkId }]));
  const hover = new vscode.MarkdownString(`Applied by Redline. [Revert](command:redline.revert?${args} "Put the lines that stood here back")`, true);
  hover.isTrusted = { enabledCommands: ["redline.revert"] };
  const l = lines(h.range);
  const range = l ? new vscode.Range(l.first, 0, l.last, Number.MAX_SAFE_INTEGER) : toRange(h.range);
  return { range, hoverMessage: hover };
}

/** Themes of high contrast have no background for changed lines, but a colour for a frame; the others have none. */
function framed(color: string): vscode.DecorationRenderOptions {
  return { outlineStyle: "dashed", outlineWidth: "1px", outlineColor: new vscode.ThemeColor(color) };
}
