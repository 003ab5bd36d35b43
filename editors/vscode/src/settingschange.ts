import * as vscode from "vscode";
import { config } from "./config";
import { message, type Conversation } from "./session";

/**
 * Says of a setting for new sessions that was changed while there is a session that it does not
 * count for that one, and offers to make it count.
 */
export function tellChanges(conversation: Conversation): vscode.Disposable {
  return vscode.workspace.onDidChangeConfiguration(async (e) => {
    const session = conversation.session;
    if (!e.affectsConfiguration("redline")) {
      return;
    }
    if (!session) {
      conversation.settingsChanged(); // the first session will have it
      return;
    }
    if (e.affectsConfiguration("redline.mode") && config.mode() !== session.mode) {
      await offer("the mode of the settings", () => conversation.configure({ mode: config.mode() }), conversation);
    }
    if (e.affectsConfiguration("redline.model") && config.model() && config.model() !== session.model) {
      await offer("the model of the settings", () => conversation.configure({ model: config.model() }), conversation);
    }
    if (e.affectsConfiguration("redline.reviewAt") && config.reviewAt() && config.reviewAt() !== session.reviewAt) {
      await offer("when edits are reviewed", undefined, conversation);
    }
  });
}

async function offer(what: string, now: (() => Promise<void>) | undefined, conversation: Conversation): Promise<void> {
  const here = "Use It in This Session";
  const choice = await vscode.window.showInformationMessage(`Redline: ${what} is for new sessions; the one that is open keeps what it has.`, ...(now ? [here] : []), "New Session");
  try {
    await (choice === here ? now?.() : choice && conversation.reset());
  } catch (e) {
    void vscode.window.showErrorMessage(`Redline: ${message(e)}`);
  }
}
