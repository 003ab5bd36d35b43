import * as vscode from "vscode";
import type { ContextItem } from "./ext";
import { selectionItem } from "./context";
import { message, type Conversation } from "./session";

/** What an action is about: a place, and the problems there. */
interface About {
  uri: string;
  range: vscode.Range | { start: { line: number; character: number }; end: { line: number; character: number } };
  /** The problems' texts; empty: the selection is meant. */
  text?: string;
}

/**
 * The light bulb's offers: to fix and to explain the problems at a place, and to ask
 * about a selection. Without either there is no light bulb of ours.
 */
export class AskActions implements vscode.CodeActionProvider {
  static readonly kinds = [vscode.CodeActionKind.QuickFix, vscode.CodeActionKind.RefactorRewrite];

  provideCodeActions(document: vscode.TextDocument, range: vscode.Range, context: vscode.CodeActionContext): vscode.CodeAction[] {
    const problems = context.diagnostics.filter((d) => d.source !== "redline");
    const out: vscode.CodeAction[] = [];
    const add = (title: string, command: string, kind: vscode.CodeActionKind, about: About) => {
      const action = new vscode.CodeAction(title, kind);
      action.command = { title, command, arguments: [about] };
      out.push(action);
      return action;
    };
    const uri = document.uri.toString();
    if (problems.length > 0) {
      const where = problems.map((d) => d.range).reduce((a, b) => a.union(b));
      const about = { uri, range: where, text: problems.map((d) => d.message).join("; ") };
      add("Fix with Redline", "redline.fix", vscode.CodeActionKind.QuickFix, about).diagnostics = problems;
      add("Explain with Redline", "redline.explain", vscode.CodeActionKind.QuickFix, about).diagnostics = problems;
    }
    if (!range.isEmpty) {
      add("Ask Redline…", "redline.inlineAsk", vscode.CodeActionKind.RefactorRewrite, { uri, range });
      if (problems.length === 0) {
        add("Explain with Redline", "redline.explain", vscode.CodeActionKind.RefactorRewrite, { uri, range });
      }
    }
    return out;
  }
}

/** Registers the commands behind the actions; show brings the chat into sight. */
export function actionCommands(conversation: Conversation, showChat: (draft?: string) => Promise<void>): vscode.Disposable {
  const prompt = async (about: About | undefined, words: (text: string | undefined) => string) => {
    const found = await place(about);
    if (!found) {
      void vscode.window.showInformationMessage("Redline: select the lines that are meant, or put the cursor on a problem.");
      return false;
    }
    await conversation.prompt(words(found.text), [found.item], found.label);
    return true;
  };
  const register = (id: string, run: (about?: About) => unknown) => vscode.commands.registerCommand(`redline.${id}`, run);
  return vscode.Disposable.from(
    // Hunks show up where the user is, so the chat stays where it is.
    register("fix", (about) => prompt(about, (text) => (text ? `Fix this problem: ${text}` : "Fix the problem in the selected lines."))),
    // An answer is text, and that is in the chat.
    register("explain", async (about) => {
      await showChat();
      await prompt(about, (text) => (text ? `Explain this problem and what to do about it: ${text}` : "Explain the selected lines."));
    }),
    vscode.commands.registerCommand("redline.ask", async (arg?: { text?: string; uri?: string; range?: About["range"] }) => {
      if (typeof arg?.text === "string" && typeof arg.uri === "string" && arg.range) {
        // The server's action on a comment: the words are there already.
        const found = await place({ uri: arg.uri, range: arg.range });
        await conversation.prompt(arg.text, found ? [found.item] : [], found?.label);
        return;
      }
      await showChat(typeof arg?.text === "string" ? arg.text : undefined);
    }),
  );
}

/** The lines that an action is about; those at the cursor when it says nothing. */
async function place(about: About | undefined): Promise<{ item: ContextItem; label: string; text: string | undefined } | undefined> {
  try {
    if (about?.uri && about.range) {
      const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(about.uri));
      const { start, end } = about.range;
      const range = document.validateRange(new vscode.Range(start.line, start.character, end.line, end.character));
      return { ...selectionItem(document, range), text: about.text };
    }
  } catch (e) {
    void vscode.window.showErrorMessage(`Redline: ${message(e)}`);
    return undefined;
  }
  const editor = vscode.window.activeTextEditor;
  if (!editor) {
    return undefined;
  }
  const at = editor.selection;
  const problems = vscode.languages.getDiagnostics(editor.document.uri).filter((d) => d.range.intersection(at));
  if (at.isEmpty && problems.length === 0) {
    return undefined;
  }
  const range = problems.map((d) => d.range).reduce((a, b) => a.union(b), at);
  return { ...selectionItem(editor.document, range), text: problems.map((d) => d.message).join("; ") || undefined };
}
