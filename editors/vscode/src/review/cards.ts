import * as vscode from "vscode";
import { lineCount } from "../chat/transcript";
import { cardBody } from "./cardbody";
import { lines } from "./hunks";
import type { HunkRef, PlacedHunk } from "./reviews";
import type { News } from "./seen";

/** A document and its hunks; beside says that only a comparison shows it, which has the proposed text itself. */
export interface Shown {
  document: vscode.TextDocument;
  hunks: PlacedHunk[];
  beside: boolean;
}

interface Card {
  thread: vscode.CommentThread;
  proposalId: string;
  hunkId: string;
  /** What is drawn, so that nothing is drawn twice. */
  drawn: string;
}

/**
 * So many cards of a file are unfolded at once. Each one is a widget that the editor lays out anew
 * with every key: fifty make typing twice as slow. In a file with more than ten
 * changes they start folded, and unfold where the cursor goes.
 */
const MAX_OPEN = 10;

/**
 * The cards with the proposed text. They are comment threads: of what an extension
 * can put between the lines of an editor only those make room, colour the text in
 * its language and are reached by keyboard and screen reader.
 */
export class Cards implements vscode.Disposable {
  private controller = newController();
  private readonly cards = new Map<string, Card>();
  /** Keys of the cards that were unfolded for the cursor, the newest last, by document. */
  private readonly unfolded = new Map<string, string[]>();

  /** Makes the cards those of the hunks in the given documents; news tells what is marked. */
  show(documents: Map<string, Shown>, news: (h: PlacedHunk) => News): void {
    const keep = new Set<string>();
    for (const [uri, { document, hunks, beside }] of documents) {
      const tabSize = tabSizeOf(document);
      // In a file where all is new, nothing needs to say so.
      const marks = hunks.map(news);
      const marked = marks.some((m) => m !== "new");
      hunks.forEach((h, i) => {
        const key = keyOf(uri, h);
        keep.add(key);
        const label = labelOf(h, i + 1, hunks.length, marked ? marks[i] : undefined);
        const at = anchor(h);
        const drawn = JSON.stringify([label, h.fits, h.hunk.newText, h.hunk.reason, tabSize, beside]);
        const old = this.cards.get(key);
        if (old) {
          if (!sameAnchor(old.thread.range, at)) {
            old.thread.range = at;
          }
          if (old.drawn !== drawn) {
            old.drawn = drawn;
            old.thread.label = label;
            old.thread.contextValue = context(h);
            old.thread.comments = [comment(h, document.languageId, tabSize, beside)];
          }
          return;
        }
        // Without a range a thread stands above the first line; the typings forget that it may.
        const thread = this.controller.createCommentThread(document.uri, at as vscode.Range, [
          comment(h, document.languageId, tabSize, beside),
        ]);
        thread.label = label;
        thread.canReply = false;
        thread.contextValue = context(h);
        thread.collapsibleState =
          hunks.length > MAX_OPEN ? vscode.CommentThreadCollapsibleState.Collapsed : vscode.CommentThreadCollapsibleState.Expanded;
        this.cards.set(key, { thread, proposalId: h.proposal.proposalId, hunkId: h.hunk.hunkId, drawn });
      });
    }
    const decided = new Set<string>();
    for (const [key, card] of this.cards) {
      if (!keep.has(key)) {
        decided.add(card.thread.uri.toString());
        card.thread.dispose();
        this.cards.delete(key);
      }
    }
    for (const card of this.cards.values()) {
      decided.delete(card.thread.uri.toString());
    }
    if (decided.size > 0) {
      this.renew(documents, news);
    }
  }

  /**
   * Starts over with a new controller. When a tab is switched while threads change, the
   * workbench can draw a thread twice and forget one of the two; with the controller all
   * that it has drawn goes. It is done when a file has no card left, so nothing flickers.
   */
  private renew(documents: Map<string, Shown>, news: (h: PlacedHunk) => News): void {
    this.controller.dispose();
    this.cards.clear();
    this.controller = newController();
    this.show(documents, news);
  }

  /** Unfolds the card of a hunk that the cursor has come to, and folds the one that was left first when there are too many. */
  unfold(uri: string, h: PlacedHunk): void {
    const key = keyOf(uri, h);
    const card = this.cards.get(key);
    if (!card || card.thread.collapsibleState === vscode.CommentThreadCollapsibleState.Expanded) {
      return;
    }
    card.thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
    const open = (this.unfolded.get(uri) ?? []).filter((k) => k !== key && this.cards.has(k));
    open.push(key);
    if (open.length > MAX_OPEN) {
      const first = this.cards.get(open.shift() ?? "");
      if (first) {
        first.thread.collapsibleState = vscode.CommentThreadCollapsibleState.Collapsed;
      }
    }
    this.unfolded.set(uri, open);
  }

  /** The hunk a thread belongs to. */
  hunkOf(thread: vscode.CommentThread): HunkRef | undefined {
    for (const c of this.cards.values()) {
      if (c.thread === thread) {
        return c;
      }
    }
    return undefined;
  }

  dispose(): void {
    for (const c of this.cards.values()) {
      c.thread.dispose();
    }
    this.cards.clear();
    this.controller.dispose();
  }
}

function keyOf(uri: string, h: PlacedHunk): string {
  return `${uri} ${h.proposal.proposalId} ${h.hunk.hunkId}`;
}

function newController(): vscode.CommentController {
  return vscode.comments.createCommentController("redline", "Redline");
}

/** The line under which the card goes; undefined above the first one. */
function anchor(h: PlacedHunk): vscode.Range | undefined {
  if (h.hunk.whole) {
    return undefined;
  }
  const l = lines(h.range);
  const line = l ? l.last : h.range.start.line - 1;
  return line < 0 ? undefined : new vscode.Range(line, 0, line, 0);
}

function sameAnchor(a: vscode.Range | undefined, b: vscode.Range | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.end.line === b.end.line);
}

/** By this the menus know what can be done with a card. */
function context(h: PlacedHunk): string {
  return h.fits ? "redline.hunk" : "redline.conflict";
}

function labelOf(h: PlacedHunk, n: number, of: number, news: News): string {
  const added = lineCount(h.hunk.newText);
  const removed = lineCount(h.hunk.oldText);
  const counts = [added ? `+${added}` : "", removed ? `−${removed}` : ""].filter(Boolean).join(" ");
  return `Change ${n} of ${of}   ${counts}${news ? `   ${news === "new" ? "new" : "changed"} since you looked` : ""}`;
}

function comment(h: PlacedHunk, language: string, tabSize: number, beside: boolean): vscode.Comment {
  const body = new vscode.MarkdownString(cardBody(h, language, tabSize, beside), true);
  body.supportHtml = true;
  body.isTrusted = {
    enabledCommands: ["acceptHunk", "rejectHunk", "rejectHunkWithReason", "amendHunk", "takeProposed", "openConflict", "openDiff"].map((c) => `redline.${c}`),
  };
  return {
    body,
    mode: vscode.CommentMode.Preview,
    author: { name: h.fits ? "Redline proposes" : "Redline" },
  };
}

function tabSizeOf(document: vscode.TextDocument): number {
  const shown = vscode.window.visibleTextEditors.find((e) => e.document === document)?.options.tabSize;
  return typeof shown === "number" ? shown : 4;
}
