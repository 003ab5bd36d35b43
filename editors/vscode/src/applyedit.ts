import * as vscode from "vscode";
import type { ApplyWorkspaceEditParams, ApplyWorkspaceEditResult, HandlerResult } from "vscode-languageclient/node";

type Result = HandlerResult<ApplyWorkspaceEditResult, void>;

type Change = NonNullable<ApplyWorkspaceEditParams["edit"]["documentChanges"]>[number];

/**
 * Applies an edit of the server's without the files that it must not reach; the others
 * are changed. The answer then is no, with the reason; the server finds out by the
 * documents what was done.
 */
export async function applyGuarded(
  params: ApplyWorkspaceEditParams,
  next: (params: ApplyWorkspaceEditParams) => Result,
): Promise<Awaited<Result>> {
  const changes = params.edit.documentChanges ?? [];
  const refused = new Map<string, string>();
  for (const change of changes) {
    const why = "textDocument" in change ? await refusal(change) : undefined;
    if (why && "textDocument" in change) {
      refused.set(change.textDocument.uri, why);
    }
  }
  if (refused.size === 0) {
    const result = await next(params);
    await saveNotebooks(changes);
    return result;
  }
  const rest = changes.filter((c) => !(("textDocument" in c && refused.has(c.textDocument.uri)) || ("uri" in c && refused.has(c.uri)) || ("newUri" in c && refused.has(c.newUri))));
  if (rest.length > 0) {
    await next({ ...params, edit: { ...params.edit, documentChanges: rest } });
    await saveNotebooks(rest);
  }
  return { applied: false, failureReason: [...refused.values()].join("; ") };
}

/**
 * Saves the text of notebooks that was changed. Their editor shows what is on the disk, so that
 * the change would be in a document that nobody sees, and "Save All" leaves alone.
 */
async function saveNotebooks(changes: Change[]): Promise<void> {
  for (const change of changes) {
    const uri = "textDocument" in change ? vscode.Uri.parse(change.textDocument.uri) : undefined;
    const is = (d: { uri: vscode.Uri }) => d.uri.toString() === uri?.toString();
    if (uri && (uri.path.endsWith(".ipynb") || vscode.workspace.notebookDocuments.some(is))) {
      await vscode.workspace.textDocuments.find((d) => is(d) && d.isDirty)?.save();
    }
  }
}

/** Why a document must not be changed; undefined when it may. */
async function refusal(change: Extract<Change, { textDocument: unknown }>): Promise<string | undefined> {
  const uri = vscode.Uri.parse(change.textDocument.uri);
  const name = vscode.workspace.asRelativePath(uri);
  const is = (d: { uri: vscode.Uri }) => d.uri.toString() === uri.toString();
  // The server took the file for closed when it made the edit, so nothing else protects what was
  // typed into it since. Documents with a version are checked by the language client.
  const open = vscode.workspace.textDocuments.find(is);
  if (change.textDocument.version === null && open?.isDirty) {
    return `${name} was opened and changed meanwhile`;
  }
  // What is typed into a notebook is in no document of that name, and an edit of the file goes past it.
  if (vscode.workspace.notebookDocuments.find(is)?.isDirty) {
    return `${name}: save this notebook first, it has changes of yours; then ask again`;
  }
  // An extension's edit would be shown in it, and could never be saved.
  return (await isReadOnly(uri)) ? `${name} is read-only in this editor` : undefined;
}

async function isReadOnly(uri: vscode.Uri): Promise<boolean> {
  const matches = async (setting: string) => {
    const globs = Object.entries(vscode.workspace.getConfiguration("files", uri).get<Record<string, unknown>>(setting) ?? {}).filter(([, on]) => on !== false);
    if (globs.length === 0) {
      return false;
    }
    const document = await vscode.workspace.openTextDocument(uri).then(undefined, () => undefined);
    const folder = vscode.workspace.getWorkspaceFolder(uri);
    return (
      document !== undefined &&
      globs.some(([glob]) => vscode.languages.match([{ pattern: glob }, ...(folder ? [{ pattern: new vscode.RelativePattern(folder, glob) }] : [])], document) > 0)
    );
  };
  if ((await matches("readonlyInclude")) && !(await matches("readonlyExclude"))) {
    return true;
  }
  try {
    const { permissions = 0 } = await vscode.workspace.fs.stat(uri);
    return (permissions & vscode.FilePermission.Readonly) !== 0;
  } catch {
    return false; // not there yet
  }
}
