import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { setTimeout as delay } from "node:timers/promises";
import type { Position, URI } from "./ext";

interface At {
  uri: URI;
  position: Position;
}

/**
 * What the editor knows and the agent may ask for (WIRE.md §4, editor/*): the
 * answers of the language extensions the user has, in LSP's shapes.
 */
export function editorRequests(client: LanguageClient): void {
  const c2p = client.code2ProtocolConverter;
  const p2c = client.protocol2CodeConverter;
  const locations = (found: (vscode.Location | vscode.LocationLink)[] | undefined) =>
    (found ?? []).map((l) =>
      "targetUri" in l
        ? { uri: c2p.asUri(l.targetUri), range: c2p.asRange(l.targetSelectionRange ?? l.targetRange) }
        : { uri: c2p.asUri(l.uri), range: c2p.asRange(l.range) },
    );
  const at = async <T>(command: string, p: At, ...more: unknown[]): Promise<T | undefined> => {
    // Language extensions answer for documents they have seen.
    const document = await vscode.workspace.openTextDocument(p2c.asUri(p.uri));
    return vscode.commands.executeCommand<T | undefined>(command, document.uri, p2c.asPosition(p.position), ...more);
  };

  client.onRequest("editor/definition", async (p: At) => locations(await at("vscode.executeDefinitionProvider", p)));
  client.onRequest("editor/references", async (p: At) => locations(await at("vscode.executeReferenceProvider", p)));

  client.onRequest("editor/hover", async (p: At) => {
    const hovers = (await at<vscode.Hover[]>("vscode.executeHoverProvider", p)) ?? [];
    const parts = hovers.flatMap((h) => h.contents.map((c) => (typeof c === "string" ? c : c.value)));
    return { contents: { kind: "markdown", value: parts.filter(Boolean).join("\n\n") } };
  });

  client.onRequest("editor/symbols", async (p: { query?: string; uri?: URI }) => {
    if (p.uri !== undefined) {
      const { uri } = await vscode.workspace.openTextDocument(p2c.asUri(p.uri));
      const found = await vscode.commands.executeCommand<(vscode.DocumentSymbol | vscode.SymbolInformation)[] | undefined>(
        "vscode.executeDocumentSymbolProvider",
        uri,
      );
      return (found ?? []).map((s) => symbol(client, s, uri));
    }
    const found = await vscode.commands.executeCommand<vscode.SymbolInformation[] | undefined>(
      "vscode.executeWorkspaceSymbolProvider",
      p.query ?? "",
    );
    return (found ?? []).slice(0, 200).map((s) => symbol(client, s, s.location.uri));
  });

  client.onRequest("editor/rename", async (p: At & { newName: string }) => {
    const edit = await at<vscode.WorkspaceEdit>("vscode.executeDocumentRenameProvider", p, p.newName);
    const documentChanges = (edit?.entries() ?? []).map(([uri, edits]) => ({
      textDocument: {
        uri: c2p.asUri(uri),
        version: vscode.workspace.textDocuments.find((d) => d.uri.toString() === uri.toString())?.version ?? null,
      },
      edits: edits.map((e) => ({ range: c2p.asRange(e.range), newText: e.newText })),
    }));
    return { documentChanges };
  });

  client.onRequest("editor/diagnostics", async (p: { uri?: URI; afterVersion?: number; waitMs?: number }) => {
    const uri = p.uri === undefined ? undefined : p2c.asUri(p.uri);
    if (p.waitMs) {
      await quiet(uri, Math.min(p.waitMs, 10_000));
    }
    const all: [vscode.Uri, vscode.Diagnostic[]][] = uri
      ? [[uri, vscode.languages.getDiagnostics(uri)]]
      : vscode.languages.getDiagnostics();
    return {
      items: all
        .filter(([u, ds]) => ds.length > 0 || uri !== undefined || u.scheme === "untitled")
        .map(([u, ds]) => ({
          uri: c2p.asUri(u),
          version: vscode.workspace.textDocuments.find((d) => d.uri.toString() === u.toString())?.version ?? null,
          diagnostics: ds.map((d) => c2p.asDiagnostic(d)),
        })),
    };
  });

  client.onRequest("editor/openBuffers", () => ({
    buffers: vscode.workspace.textDocuments
      .filter((d) => d.uri.scheme === "file" || d.uri.scheme === "untitled")
      .map((d) => ({
        uri: c2p.asUri(d.uri),
        version: d.version,
        languageId: d.languageId,
        dirty: d.isDirty,
        visible: vscode.window.visibleTextEditors.some((e) => e.document === d),
        active: vscode.window.activeTextEditor?.document === d,
      })),
  }));

  client.onRequest("editor/save", async (p: { uris: URI[] }) => {
    const saved: URI[] = [];
    const failed: URI[] = [];
    for (const u of p.uris) {
      const uri = p2c.asUri(u);
      const document = vscode.workspace.textDocuments.find((d) => d.uri.toString() === uri.toString());
      // An untitled document would ask for a name; nobody asked for that dialogue.
      const ok = document !== undefined && !document.isUntitled && (!document.isDirty || (await document.save()));
      (ok ? saved : failed).push(u);
    }
    return { saved, failed };
  });

  client.onRequest("editor/format", async (p: { uri: URI; version?: number }) => {
    const document = await vscode.workspace.openTextDocument(p2c.asUri(p.uri));
    const editor = vscode.workspace.getConfiguration("editor", document);
    const edits = await vscode.commands.executeCommand<vscode.TextEdit[] | undefined>("vscode.executeFormatDocumentProvider", document.uri, {
      tabSize: editor.get<number>("tabSize", 4),
      insertSpaces: editor.get<boolean>("insertSpaces", true),
    });
    return (edits ?? []).map((e) => ({ range: c2p.asRange(e.range), newText: e.newText }));
  });
}

function symbol(client: LanguageClient, s: vscode.DocumentSymbol | vscode.SymbolInformation, uri: vscode.Uri): object {
  const c2p = client.code2ProtocolConverter;
  const kind = s.kind + 1; // the protocol counts from one
  if ("children" in s) {
    return {
      name: s.name,
      detail: s.detail,
      kind,
      range: c2p.asRange(s.range),
      selectionRange: c2p.asRange(s.selectionRange),
      children: s.children.map((c) => symbol(client, c, uri)),
    };
  }
  return {
    name: s.name,
    kind,
    containerName: s.containerName,
    location: { uri: c2p.asUri(s.location.uri), range: c2p.asRange(s.location.range) },
  };
}

/** Waits until the diagnostics (of uri) have not changed for a moment, at most ms. */
async function quiet(uri: vscode.Uri | undefined, ms: number): Promise<void> {
  const calm = 300;
  const end = Date.now() + ms;
  let last = Date.now();
  const listener = vscode.languages.onDidChangeDiagnostics((e) => {
    if (!uri || e.uris.some((u) => u.toString() === uri.toString())) {
      last = Date.now();
    }
  });
  try {
    let seen = false;
    while (Date.now() < end) {
      const since = Date.now() - last;
      seen ||= since < calm;
      if (since >= calm && seen) {
        return;
      }
      await delay(Math.min(50, Math.max(1, end - Date.now())));
    }
  } finally {
    listener.dispose();
  }
}
