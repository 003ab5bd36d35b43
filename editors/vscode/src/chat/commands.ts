import * as vscode from "vscode";
import type { Server } from "../client";
import { message, type Conversation } from "../session";
import { pickMode, pickModel } from "./picks";
import { Sessions } from "./sessions";
import type { ChatView } from "./view";

/** The chat's commands beside those of its buttons, and the list of sessions. */
export function chatCommands(chat: ChatView, conversation: Conversation, server: Server): vscode.Disposable {
  const command = (id: string, run: (uri?: vscode.Uri) => Promise<unknown>) =>
    vscode.commands.registerCommand(`redline.${id}`, (uri?: vscode.Uri) =>
      run(uri).catch((e: unknown) => void vscode.window.showErrorMessage(`Redline: ${message(e)}`)),
    );
  return vscode.Disposable.from(
    new Sessions(server, conversation, () => chat.focus()),
    command("compress", () => conversation.prompt("/compress", [])),
    command("pickMode", () => pickMode(conversation)),
    command("pickModel", () => pickModel(conversation, server)),
    command("attachTerminal", async () => {
      const made = chat.attach({ what: "terminalSelection" }); // before the focus goes, and the selection with it
      await chat.focus();
      await made;
    }),
    // The lines that are selected, else the file.
    command("attachToChat", async (uri) => {
      const editor = vscode.window.activeTextEditor;
      const file = uri ?? editor?.document.uri;
      await chat.focus();
      if (editor && !editor.selection.isEmpty && file?.toString() === editor.document.uri.toString()) {
        await chat.attach({ what: "selection" });
      } else if (file) {
        await chat.attach({ what: "file", uri: file.toString() });
      }
    }),
  );
}
