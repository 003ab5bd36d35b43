import * as vscode from "vscode";
import type { Hunk, Proposal } from "../ext";
import { SCHEME, isReviewTab } from "./proposed";
import { hunkKey, toRange, type Reviews } from "./reviews";
import { Seen, signature, type News } from "./seen";

const STATE = "redline.looked";

/**
 * Follows what the person looks at, so that it can be told what is new since. A hunk is
 * looked at while its lines are on screen in a window that has the focus.
 */
export class Looks implements vscode.Disposable {
  private readonly seen: Seen;
  private readonly changed = new vscode.EventEmitter<void>();
  /** Fired when what is news has changed without a change of the proposals. */
  readonly onDidChange = this.changed.event;
  private readonly subscriptions: vscode.Disposable[];
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly reviews: Reviews,
    private readonly state: vscode.Memento,
  ) {
    this.seen = new Seen(state.get<[string, string][]>(STATE) ?? []);
    const soon = () => {
      this.timer ??= setTimeout(() => {
        this.timer = undefined;
        this.look();
      }, 50);
    };
    this.subscriptions = [
      vscode.window.onDidChangeTextEditorVisibleRanges(soon),
      vscode.window.onDidChangeVisibleTextEditors(soon),
      vscode.window.onDidChangeWindowState(soon),
      vscode.window.tabGroups.onDidChangeTabs(soon),
      reviews.onDidChange((c) => c === "content" && soon()),
      reviews.onDidDecide(({ proposal, hunks }) => {
        for (const h of hunks) {
          this.seen.decided(hunkKey(proposal, h));
        }
        this.save();
      }),
    ];
  }

  news(p: Proposal, h: Hunk): News {
    // What was applied after a question was somebody's decision.
    return h.standing && !p.auto ? undefined : this.seen.news(hunkKey(p, h), signature(h));
  }

  /** Runs something that the person asked for: what is applied by it is no news. */
  async quietly<T>(run: () => Promise<T>): Promise<T> {
    const before = new Set(this.reviews.applied().map((p) => p.proposalId));
    const result = await run();
    for (const p of this.reviews.applied().filter((x) => !before.has(x.proposalId))) {
      for (const h of p.files.flatMap((f) => f.hunks)) {
        this.seen.decided(hunkKey(p, h));
      }
    }
    this.save();
    this.changed.fire();
    return result;
  }

  /** Everything there is counts as looked at. */
  markAll(): void {
    for (const p of [...this.reviews.all(), ...this.reviews.applied()]) {
      for (const h of p.files.flatMap((f) => f.hunks)) {
        this.seen.see("all", hunkKey(p, h), signature(h));
      }
    }
    this.seen.leave(new Set());
    this.save();
    this.changed.fire();
  }

  dispose(): void {
    clearTimeout(this.timer);
    vscode.Disposable.from(...this.subscriptions, this.changed).dispose();
  }

  private look(): void {
    const places = new Set<string>();
    if (vscode.window.state.focused) {
      for (const editor of vscode.window.visibleTextEditors) {
        const uri = editor.document.uri;
        places.add(uri.toString());
        if (uri.scheme === SCHEME) {
          this.seeFile(uri);
        } else {
          this.seeRanges(editor);
        }
      }
      const tab = vscode.window.tabGroups.activeTabGroup.activeTab;
      if (tab && isReviewTab(tab)) {
        places.add("review");
        for (const { proposal, file } of this.reviews.files()) {
          for (const h of file.hunks) {
            this.seen.see("review", hunkKey(proposal, h), signature(h));
          }
        }
      }
    }
    if (this.seen.leave(places)) {
      this.save();
      this.changed.fire();
    }
  }

  /** A proposed file in a comparison: what is in view of it cannot be known by hunk. */
  private seeFile(uri: vscode.Uri): void {
    const query = new URLSearchParams(uri.query);
    const p = this.reviews.get(query.get("p") ?? "");
    for (const h of p?.files.find((f) => f.fileId === query.get("f"))?.hunks ?? []) {
      if (p) {
        this.seen.see(uri.toString(), hunkKey(p, h), signature(h));
      }
    }
  }

  private seeRanges(editor: vscode.TextEditor): void {
    const place = editor.document.uri.toString();
    const shown = [...this.reviews.in(editor.document), ...this.reviews.standingIn(editor.document)];
    for (const h of shown) {
      const range = toRange(h.range);
      if (editor.visibleRanges.some((v) => v.intersection(range) !== undefined)) {
        this.seen.see(place, hunkKey(h.proposal, h.hunk), signature(h.hunk));
      }
    }
  }

  private save(): void {
    const known = new Set<string>();
    for (const p of [...this.reviews.all(), ...this.reviews.applied()]) {
      for (const h of p.files.flatMap((f) => f.hunks)) {
        known.add(hunkKey(p, h));
      }
    }
    // What the server has not told of yet, after a reload, is kept.
    if (known.size > 0) {
      this.seen.prune((key) => known.has(key));
    }
    void this.state.update(STATE, this.seen.save());
  }
}
