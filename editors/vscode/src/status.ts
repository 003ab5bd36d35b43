import * as vscode from "vscode";
import type { Server } from "./client";
import type { Reviews } from "./review/reviews";
import type { Conversation } from "./session";

/** The status bar item: what the agent does now; a click leads to the chat. */
export function statusItem(server: Server, conversation: Conversation, reviews: Reviews): vscode.Disposable {
  const item = vscode.window.createStatusBarItem("redline.status", vscode.StatusBarAlignment.Right, 90);
  item.name = "Redline";
  item.command = "redline.focusChat";
  const show = () => {
    const pending = reviews.pending;
    item.backgroundColor = undefined;
    if (server.state === "missing" || server.state === "failed") {
      item.text = "$(error) Redline";
      item.tooltip = server.problem;
      item.backgroundColor = new vscode.ThemeColor("statusBarItem.errorBackground");
    } else if (pending > 0) {
      item.text = `$(git-pull-request) Redline: review ${pending}`;
      item.tooltip = `${pending} ${pending === 1 ? "change waits" : "changes wait"} for your decision`;
      item.backgroundColor = new vscode.ThemeColor("statusBarItem.warningBackground");
    } else if (conversation.isRunning) {
      item.text = "$(loading~spin) Redline";
      item.tooltip = "The agent is working";
    } else if (server.state === "starting") {
      item.text = "$(loading~spin) Redline";
      item.tooltip = "The redline server is starting";
    } else if (conversation.hasFailed) {
      item.text = "$(warning) Redline";
      item.tooltip = "The last turn failed; the chat says why";
    } else {
      item.text = "$(edit) Redline";
      item.tooltip = "Redline is idle. Click to ask";
    }
    item.accessibilityInformation = { label: `${item.text.replace(/\$\([^)]*\)\s*/, "")}. ${String(item.tooltip)}` };
  };
  show();
  item.show();
  return vscode.Disposable.from(
    item,
    server.onDidChangeState(show),
    conversation.onDidChangeState(show),
    reviews.onDidChange(show),
  );
}
