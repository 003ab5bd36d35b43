import * as vscode from "vscode";
import { message } from "../session";
import { nothing } from "./proposed";
import type { Reviews } from "./reviews";

/**
 * Review in the editor's own Refactor Preview, for whoever prefers it. The editor gives
 * that pane the focus, so it is opened by the person alone; that something waits is said
 * by a notification, which takes none.
 */
export class RefactorPreview implements vscode.Disposable {
  private readonly told = new Set<string>();
  private showing = false;
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly reviews: Reviews) {
    this.subscriptions = [reviews.onDidChange((c) => c === "content" && this.preferred && this.tell())];
  }

  /** Whether the setting says that proposals are reviewed there. */
  get preferred(): boolean {
    return vscode.workspace.getConfiguration("redline").get("review.preview") === "refactor";
  }

  /** Shows the open proposals there, one after the other: the editor has one such pane. */
  async open(): Promise<void> {
    const open = this.reviews.all().filter((p) => p.state === "open");
    if (open.length === 0) {
      nothing();
      return;
    }
    if (this.showing) {
      await vscode.commands.executeCommand("refactorPreview.focus");
      return;
    }
    this.showing = true;
    try {
      for (const p of open) {
        const after = await this.reviews.confirm(p.proposalId);
        if (after?.state === "open") {
          void this.left(p.proposalId);
          return;
        }
      }
    } catch (e) {
      void vscode.window.showWarningMessage(`Redline: ${message(e)}`);
    } finally {
      this.showing = false;
    }
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private async left(proposalId: string): Promise<void> {
    const choice = await vscode.window.showInformationMessage("Redline: nothing was taken from the preview. The changes still wait for your decision.", "Open Again", "Reject All");
    if (choice === "Open Again") {
      await this.open();
    } else if (choice === "Reject All") {
      await this.reviews.decide(proposalId, [{ target: "all", decision: "reject" }]);
    }
  }

  private tell(): void {
    for (const p of this.reviews.all()) {
      if (p.state !== "open" || this.told.has(p.proposalId)) {
        continue;
      }
      this.told.add(p.proposalId);
      void vscode.window.showInformationMessage(`Redline proposes: ${p.title}`, "Preview", "Reject").then(async (choice) => {
        if (choice === "Preview") {
          await this.open();
        } else if (choice === "Reject") {
          await this.reviews.decide(p.proposalId, [{ target: "all", decision: "reject" }]);
        }
      });
    }
  }
}
