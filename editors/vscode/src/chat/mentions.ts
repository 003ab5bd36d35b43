import * as vscode from "vscode";
import type { Server } from "../client";
import { selectionItem, type AttentionTracker } from "../context";
import { method, type CommandInfo } from "../ext";
import type { Attachment } from "./attachment";
import { best, fit, mention, type AttachRequest, type Completion } from "./completion";
import { terminalSelection, type Terminals } from "./terminal";

/** Most entries that are offered, and most files that are looked at. */
const MAX_ENTRIES = 12;
const MAX_FILES = 20_000;
/** How long a list of the files is good for, in milliseconds. */
const FRESH = 15_000;

/** Everything after "@" and "/": what can be named, and what naming it brings along. */
export class Mentions {
  private files: { at: number; list: Thenable<vscode.Uri[]> } | undefined;
  private made = 0;

  constructor(
    private readonly server: Server,
    private readonly attention: AttentionTracker,
    private readonly terminals: Terminals,
  ) {}

  async complete(kind: "@" | "/", query: string): Promise<Completion[]> {
    return kind === "/" ? this.commands(query) : this.things(query);
  }

  /** What a choice brings along, or a sentence why it cannot. */
  async attach(r: AttachRequest): Promise<Attachment | string> {
    const id = `a${++this.made}`;
    switch (r.what) {
      case "selection": {
        const now = this.attention.now();
        const item = now.items[0];
        return item?.kind === "selection"
          ? { id, label: now.label, title: `The selection: ${now.title}`, icon: "file", item }
          : "Nothing is selected: select lines in an editor first.";
      }
      case "problems": {
        const all = problems();
        return all.count === 0
          ? "There are no problems in the editor."
          : { id, label: all.label, title: `The editor's problems: ${all.label}`, icon: "warning", item: { kind: "diagnostics", text: all.text } };
      }
      case "terminalSelection":
      case "terminal": {
        const selected = r.what === "terminalSelection" ? await terminalSelection() : undefined;
        const read = selected?.text ? selected : await this.terminals.read();
        return read
          ? { id, label: read.label, title: read.label, icon: "execute", item: { kind: "terminal", text: read.text } }
          : "No command of the terminal is known: that needs the editor's shell integration (bash, zsh, fish or PowerShell). Or select text in the terminal and choose Add Terminal Text to Chat in its context menu.";
      }
      case "file": {
        const dropped = vscode.Uri.parse(r.uri);
        // The window names files of the host that this runs on by its own scheme.
        const uri = dropped.scheme === "vscode-remote" ? dropped.with({ scheme: "file", authority: "" }) : dropped;
        const name = vscode.workspace.asRelativePath(uri);
        const image = /\.(png|jpe?g|webp|heic|heif)$/i.test(name);
        if (!vscode.workspace.getWorkspaceFolder(uri)) {
          return `${name} is in no folder of this window, so the agent may not read it.`;
        }
        return { id, label: name.slice(name.lastIndexOf("/") + 1), title: name, icon: "file", item: { kind: image ? "image" : "file", uri: uri.toString() } };
      }
      case "symbol": {
        const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(r.uri));
        const range = document.validateRange(new vscode.Range(r.line, 0, r.endLine, Number.MAX_SAFE_INTEGER));
        const { item, label } = selectionItem(document, range);
        return { id, label: r.name, title: `${r.name}, ${label}`, icon: "other", item: { ...item, kind: "symbol" } };
      }
    }
  }

  private async commands(query: string): Promise<Completion[]> {
    const { commands } = await this.server.request<{ commands: CommandInfo[] }>(method.commandList, {});
    return best(query, commands, (c) => c.name, 30).map((c) => ({
      label: `/${c.name}`,
      detail: [c.description ?? "", c.args?.map((a) => (a.required ? `--${a.name}=…` : `[--${a.name}=…]`)).join(" ") ?? "", c.source === "builtin" ? "" : c.source].filter(Boolean).join(" · "),
      icon: "execute",
      // One that is complete is sent with Enter; an argument is typed behind the blank.
      insert: `/${c.name}${c.name === "compress" ? "" : " "}`,
    }));
  }

  private async things(query: string): Promise<Completion[]> {
    const now = this.attention.now();
    const special: Completion[] = [];
    if (now.items[0]?.kind === "selection") {
      special.push({ label: "selection", detail: now.title, icon: "file", insert: "", attach: { what: "selection" } });
    }
    const all = problems();
    if (all.count > 0) {
      special.push({ label: "problems", detail: all.label, icon: "warning", insert: "", attach: { what: "problems" } });
    }
    if (vscode.window.terminals.length > 0) {
      special.push({ label: "terminal", detail: "its last command, and what it printed", icon: "execute", insert: "", attach: { what: "terminal" } });
    }
    const [files, symbols] = await Promise.all([this.filesLike(query), this.symbolsLike(query)]);
    const named = special.filter((s) => fit(query, s.label) > 0);
    const room = MAX_ENTRIES - named.length - Math.min(symbols.length, 4);
    return [...named, ...files.slice(0, room), ...symbols].slice(0, MAX_ENTRIES);
  }

  private async filesLike(query: string): Promise<Completion[]> {
    if (!this.files || Date.now() - this.files.at > FRESH) {
      this.files = { at: Date.now(), list: vscode.workspace.findFiles("**/*", undefined, MAX_FILES) };
    }
    const open = vscode.window.tabGroups.all
      .flatMap((g) => [...g.tabs.filter((t) => t.isActive), ...g.tabs])
      .flatMap((t) => (t.input instanceof vscode.TabInputText && vscode.workspace.getWorkspaceFolder(t.input.uri) ? [t.input.uri] : []));
    const seen = new Set<string>();
    const paths = [...open, ...(await this.files.list)]
      .filter((u) => !seen.has(u.toString()) && seen.add(u.toString()))
      .map((uri) => ({ path: vscode.workspace.asRelativePath(uri), uri }));
    const first = vscode.workspace.workspaceFolders?.[0];
    return best(query, paths, (p) => p.path, MAX_ENTRIES).map(({ path, uri }) => {
      const slash = path.lastIndexOf("/");
      const here = vscode.workspace.getWorkspaceFolder(uri) === first;
      const said = here ? vscode.workspace.asRelativePath(uri, false) : uri.fsPath;
      return { label: path.slice(slash + 1), detail: path.slice(0, Math.max(slash, 0)), icon: "read", insert: `${mention(said)} ` };
    });
  }

  private async symbolsLike(query: string): Promise<Completion[]> {
    if (query.length < 2 || query.includes("/") || query.includes(".")) {
      return [];
    }
    const found: { name: string; detail: string; uri: vscode.Uri; range: vscode.Range }[] = [];
    const document = this.attention.document();
    if (document) {
      const own = await vscode.commands.executeCommand<(vscode.DocumentSymbol | vscode.SymbolInformation)[] | undefined>("vscode.executeDocumentSymbolProvider", document.uri);
      const walk = (list: (vscode.DocumentSymbol | vscode.SymbolInformation)[]): void => {
        for (const s of list) {
          found.push({ name: s.name, detail: vscode.workspace.asRelativePath(document.uri), uri: document.uri, range: "range" in s ? s.range : s.location.range });
          walk("children" in s ? s.children : []);
        }
      };
      walk(own ?? []);
    }
    const others = await vscode.commands.executeCommand<vscode.SymbolInformation[] | undefined>("vscode.executeWorkspaceSymbolProvider", query);
    for (const s of (others ?? []).slice(0, 200)) {
      if (s.location.uri.toString() !== document?.uri.toString() && vscode.workspace.getWorkspaceFolder(s.location.uri)) {
        found.push({ name: s.name, detail: vscode.workspace.asRelativePath(s.location.uri), uri: s.location.uri, range: s.location.range });
      }
    }
    return best(query, found, (s) => s.name, 6).map((s) => ({
      label: s.name,
      detail: `${s.detail}:${s.range.start.line + 1}`,
      icon: "other",
      insert: `\`${s.name}\` `,
      attach: { what: "symbol", uri: s.uri.toString(), name: s.name, line: s.range.start.line, endLine: s.range.end.line },
    }));
  }
}

/** The editor's errors and warnings, one a line, the errors first. */
function problems(): { count: number; label: string; text: string } {
  const lines: { severity: number; line: string }[] = [];
  for (const [uri, list] of vscode.languages.getDiagnostics()) {
    for (const d of vscode.workspace.getWorkspaceFolder(uri) ? list : []) {
      if (d.severity <= vscode.DiagnosticSeverity.Warning && d.source !== "redline") {
        const word = d.severity === vscode.DiagnosticSeverity.Error ? "error" : "warning";
        const at = `${vscode.workspace.asRelativePath(uri)}:${d.range.start.line + 1}:${d.range.start.character + 1}`;
        lines.push({ severity: d.severity, line: `${at}: ${word}: ${d.message}${d.source ? ` (${d.source})` : ""}` });
      }
    }
  }
  const shown = lines.sort((a, b) => a.severity - b.severity).slice(0, 100);
  return {
    count: lines.length,
    label: lines.length === 1 ? "1 problem" : `${lines.length} problems`,
    text: shown.map((l) => l.line).join("\n") + (shown.length < lines.length ? `\n… and ${lines.length - shown.length} more` : ""),
  };
}
