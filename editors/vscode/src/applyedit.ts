import * as vscode from "vscode";
import type { ApplyWorkspaceEditParams } from "vscode-languageclient/node";

/**
 * Refuses an edit of a document without a version that is open and changed: the server
 * took the file for closed when it made the edit, so nothing else protects what was
 * typed into it since. Documents with a version are checked by the language client.
 */
export function unseenChange(params: ApplyWorkspaceEditParams): string | undefined {
  for (const change of params.edit.documentChanges ?? []) {
    if (!("textDocument" in change) || change.textDocument.version !== null) {
      continue;
    }
    const uri = vscode.Uri.parse(change.textDocument.uri).toString();
    const open = vscode.workspace.textDocuments.find((d) => d.uri.toString() === uri);
    if (open?.isDirty) {
      return `${vscode.workspace.asRelativePath(open.uri)} was opened and changed meanwhile`;
    }
  }
  return undefined;
}
