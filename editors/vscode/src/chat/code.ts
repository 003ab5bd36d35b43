import * as vscode from "vscode";
import type { Server } from "../client";
import type { AttentionTracker } from "../context";
import { method } from "../ext";
import { message, type Conversation } from "../session";
import { fileOf, withoutName } from "./codeblock";

/** A code block of an answer, with the words behind its fence. */
export interface CodeBlock {
  text: string;
  info: string;
}

/** Puts a block where the cursor of the editor is; what is selected there goes. */
export async function insertCode(block: CodeBlock, attention: AttentionTracker): Promise<void> {
  const editor = await attention.show();
  if (!editor) {
    void vscode.window.showInformationMessage("Redline: open the file that the code is to go into, and put the cursor there.");
    return;
  }
  const at = editor.selection;
  const line = editor.document.lineAt(at.start.line).text;
  const before = line.slice(0, at.start.character);
  const indent = /^\s*/.exec(before)?.[0] ?? "";
  const lines = block.text.replace(/\n(?=[^\n])/g, `\n${indent}`);
  // Behind a line that is complete the block begins a line of its own.
  const text = at.isEmpty && before.trim() !== "" && at.start.character === line.length ? `\n${indent}${lines}` : before.trim() === "" ? lines : block.text;
  await editor.edit((b) => b.replace(at, text));
}

/** What a proposal of a block would replace. */
interface Place extends vscode.QuickPickItem {
  uri: vscode.Uri;
  version?: number;
  range?: vscode.Range;
  fit?: boolean;
}

/**
 * Proposes a block as a change, which is then reviewed like the model's. Where it goes:
 * to the file that it names, else to the one the user looks at; there to what is selected,
 * to the lines that it is a new version of, or where the user says.
 */
export async function applyCode(block: CodeBlock, attention: AttentionTracker, server: Server, conversation: Conversation): Promise<void> {
  const text = withoutName(block.info, block.text);
  const named = await findNamed(fileOf(block.info, block.text));
  const seen = attention.document();
  const target = named?.uri ?? seen?.uri;
  if (!target) {
    void vscode.window.showInformationMessage("Redline: open the file that the code is for, and apply it again.");
    return;
  }
  const name = vscode.workspace.asRelativePath(target);
  if (named?.exists === false) {
    await propose([{ uri: target, newText: ended(text) }]);
    return;
  }
  const document = await vscode.workspace.openTextDocument(target);
  const editor = vscode.window.visibleTextEditors.find((e) => e.document === document);
  const selection = editor && !editor.selection.isEmpty ? editor.selection : undefined;
  if (selection) {
    await propose([{ uri: target, version: document.version, edits: [{ range: plainRange(selection), newText: text }] }]);
    return;
  }
  if (document.getText().trim() === "") {
    await propose([{ uri: target, version: document.version, newText: ended(text) }]);
    return;
  }
  if (await propose([{ uri: target, version: document.version, fit: true, newText: text }], true)) {
    return;
  }
  // The block does not say which lines it replaces.
  const line = editor?.selection.active.line ?? document.lineCount - 1;
  const places: Place[] = [
    { label: `$(arrow-right) At line ${line + 1} of ${name}`, description: "where the cursor is", uri: target, range: new vscode.Range(line, 0, line, 0) },
    { label: `$(arrow-down) At the end of ${name}`, uri: target, range: document.validateRange(new vscode.Range(document.lineCount, 0, document.lineCount, 0)) },
    { label: `$(replace-all) In place of all of ${name}`, uri: target },
  ];
  const picked = await vscode.window.showQuickPick(places, {
    title: "Where does the code go? Nothing changes before you accept it",
    placeHolder: `It does not tell which lines of ${name} it replaces; select them first, or choose`,
  });
  if (!picked) {
    return;
  }
  const before = picked.range && document.lineAt(picked.range.start.line).text !== "" && picked.range.start.character > 0 ? "\n" : "";
  await propose([
    picked.range
      ? { uri: target, version: document.version, edits: [{ range: plainRange(picked.range), newText: before + ended(text) }] }
      : { uri: target, version: document.version, newText: ended(text) },
  ]);

  /** Whether it was proposed; with quiet a place that is not clear is no error. */
  async function propose(files: { uri: vscode.Uri; [k: string]: unknown }[], quiet = false): Promise<boolean> {
    try {
      const { sessionId } = await conversation.open();
      await server.request(method.proposalNew, { sessionId, files: files.map((f) => ({ ...f, uri: f.uri.toString() })) });
      return true;
    } catch (e) {
      if (quiet && (e as { data?: { kind?: string } }).data?.kind === "noFit") {
        return false;
      }
      void vscode.window.showWarningMessage(`Redline: ${message(e)}`);
      return true; // told
    }
  }
}

/** The file of the workspace that a block names; one that does not exist is made where it says. */
async function findNamed(name: string): Promise<{ uri: vscode.Uri; exists: boolean } | undefined> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  if (name === "" || folders.length === 0 || name.split("/").includes("..")) {
    return undefined;
  }
  for (const f of folders) {
    for (const path of [name, name.startsWith(`${f.name}/`) ? name.slice(f.name.length + 1) : ""]) {
      const uri = path && vscode.Uri.joinPath(f.uri, path);
      if (uri && (await exists(uri))) {
        return { uri, exists: true };
      }
    }
  }
  const found = await vscode.workspace.findFiles(`**/${name.replace(/[[\]{}*?]/g, "")}`, undefined, 2);
  if (found.length === 1 && found[0]) {
    return { uri: found[0], exists: true };
  }
  const first = folders[0];
  return found.length === 0 && first ? { uri: vscode.Uri.joinPath(first.uri, name), exists: false } : undefined;
}

async function exists(uri: vscode.Uri): Promise<boolean> {
  return Promise.resolve(vscode.workspace.fs.stat(uri)).then(
    () => true,
    () => false,
  );
}

function plainRange(r: vscode.Range): unknown {
  return {
    start: { line: r.start.line, character: r.start.character },
    end: { line: r.end.line, character: r.end.character },
  };
}

/** A block as whole lines. */
function ended(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}
