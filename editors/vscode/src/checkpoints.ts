import * as vscode from "vscode";
import { ago, edited, filesBack } from "./checkpointtext";
import type { Server } from "./client";
import { method, type Checkpoint, type CheckpointResult, type CheckpointScope } from "./ext";
import type { Looks } from "./review/looks";
import { documentOf } from "./review/proposed";
import { message, type Conversation } from "./session";

const SCHEME = "redline-checkpoint";

/** The session's checkpoints as a timeline, newest first, with preview, restore, and undo of the restore. */
export class Checkpoints implements vscode.TreeDataProvider<Checkpoint>, vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  private list: Checkpoint[] = [];
  private session: string | undefined;
  private timer: NodeJS.Timeout | undefined;
  /** Texts of the newest preview, by URI. */
  private readonly texts = new Map<string, string>();
  private previews = 0;
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly server: Server,
    private readonly conversation: Conversation,
    private readonly looks: Looks,
  ) {
    const view = vscode.window.createTreeView("redline.checkpoints", { treeDataProvider: this });
    const command = (id: string, run: (c?: Checkpoint | { turnId: string }) => unknown) => vscode.commands.registerCommand(`redline.${id}`, run);
    this.subscriptions = [
      view,
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      conversation.onEvent((p) => {
        if (p.event.type === "checkpoint/created" || p.event.type === "turn/ended" || p.event.type === "proposal/updated") {
          this.soon();
        }
      }),
      conversation.onDidChangeState(() => this.soon()),
      command("previewCheckpoint", async (c) => this.with(c, (x) => this.preview(x))),
      command("restoreCheckpoint", async (c) => this.with(c, (x) => this.restore(x))),
      command("refreshCheckpoints", () => this.refresh()),
    ];
  }

  getChildren(c?: Checkpoint): Checkpoint[] {
    return c ? [] : this.list;
  }

  getTreeItem(c: Checkpoint): vscode.TreeItem {
    const item = new vscode.TreeItem(c.title || "(no text)");
    item.id = c.checkpointId;
    const n = c.files.length;
    const when = ago(Date.parse(c.createdAt), Date.now());
    item.description = [when, n > 0 ? `${n} ${n === 1 ? "file" : "files"} since` : ""].filter(Boolean).join("  ");
    item.iconPath = new vscode.ThemeIcon(c.turnId ? "git-commit" : "history");
    item.tooltip = [c.title, new Date(c.createdAt).toLocaleString(), ...c.files.map((f) => vscode.workspace.asRelativePath(vscode.Uri.parse(f)))].join("\n");
    item.contextValue = "checkpoint";
    item.command = { command: "redline.previewCheckpoint", title: "Preview", arguments: [c] };
    item.accessibilityInformation = { label: `Checkpoint before: ${c.title}. ${when}, ${n} files changed since` };
    return item;
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.toString()) ?? "";
  }

  dispose(): void {
    clearTimeout(this.timer);
    vscode.Disposable.from(...this.subscriptions, this.changed).dispose();
  }

  private soon(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      void this.refresh();
    }, 200);
  }

  private async refresh(): Promise<void> {
    const sessionId = this.conversation.sessionId;
    if (sessionId !== this.session) {
      this.session = sessionId;
      this.list = [];
      this.changed.fire();
    }
    if (!sessionId || this.server.state !== "running") {
      return;
    }
    try {
      const { checkpoints } = await this.server.request<{ checkpoints: Checkpoint[] }>(method.checkpointList, { sessionId });
      if (sessionId === this.session) {
        this.list = checkpoints.reverse();
        this.changed.fire();
      }
    } catch (e) {
      this.server.log(`checkpoints: ${message(e)}`);
    }
  }

  /** Runs on the named checkpoint, on that of a turn, or on one that is picked. */
  private async with(c: Checkpoint | { turnId: string } | undefined, run: (c: Checkpoint) => Promise<void>): Promise<void> {
    try {
      const chosen = c === undefined ? await this.pick() : "checkpointId" in c ? c : await this.of(c.turnId);
      if (chosen) {
        await run(chosen);
      }
    } catch (e) {
      void vscode.window.showWarningMessage(`Redline: ${message(e)}`);
    }
  }

  private async of(turnId: string): Promise<Checkpoint> {
    await this.refresh();
    const c = this.list.find((x) => x.turnId === turnId);
    if (!c) {
      throw new Error("there is no checkpoint of this prompt any more.");
    }
    return c;
  }

  private async pick(): Promise<Checkpoint | undefined> {
    await this.refresh();
    if (this.list.length === 0) {
      void vscode.window.showInformationMessage("Redline: there is no checkpoint yet. One is made before each prompt.");
      return undefined;
    }
    const items = this.list.map((c) => ({ label: c.title, description: ago(Date.parse(c.createdAt), Date.now()), c }));
    return (await vscode.window.showQuickPick(items, { title: "Go back to before which prompt?" }))?.c;
  }

  /** Shows what going back would make of the files. */
  private async preview(c: Checkpoint): Promise<void> {
    const result = await this.ask(method.checkpointPreview, c, "files");
    const files = filesBack(result.edit);
    if (files.length === 0) {
      void vscode.window.showInformationMessage(`Redline: going back to before “${short(c.title)}” changes no file.${this.left(result)}`);
      return;
    }
    this.texts.clear();
    const n = ++this.previews;
    const resources: [vscode.Uri, vscode.Uri | undefined, vscode.Uri | undefined][] = [];
    for (const f of files) {
      const from = f.from ? vscode.Uri.parse(f.from) : undefined;
      const to = f.to ? vscode.Uri.parse(f.to) : undefined;
      const name = to ?? from;
      if (!name) {
        continue;
      }
      const after = to?.with({ scheme: SCHEME, query: `n=${n}` });
      if (after) {
        this.texts.set(after.toString(), edited((from && (await documentOf(from))?.getText()) ?? "", f.edits));
      }
      resources.push([name, from, after]);
    }
    await vscode.commands.executeCommand("vscode.changes", `Back to before “${short(c.title)}”`, resources);
    const left = this.left(result);
    if (left) {
      void vscode.window.showInformationMessage(`Redline:${left}`);
    }
  }

  private async restore(c: Checkpoint): Promise<void> {
    const result = await this.ask(method.checkpointPreview, c, "files");
    const files = filesBack(result.edit).map((f) => vscode.workspace.asRelativePath(vscode.Uri.parse(f.to ?? f.from ?? "")));
    const detail = [
      files.length > 0 ? `Files that change: ${some(files)}.` : "No file changes.",
      this.left(result).trim(),
      "Nothing is lost: the way back can be undone.",
    ];
    const choices: [string, CheckpointScope][] = [
      ["Files and Conversation", "both"],
      ...(files.length > 0 ? ([["Files Only", "files"]] satisfies [string, CheckpointScope][]) : []),
      ["Conversation Only", "conversation"],
    ];
    const choice = await vscode.window.showWarningMessage(`Go back to before “${short(c.title)}”?`, { modal: true, detail: detail.filter(Boolean).join("\n\n") }, ...choices.map(([label]) => label));
    const scope = choices.find(([label]) => label === choice)?.[1];
    if (scope) {
      await this.goBack(c, scope);
    }
  }

  private async goBack(c: Pick<Checkpoint, "checkpointId" | "title">, scope: CheckpointScope, undone = false): Promise<void> {
    // What the person asked for here is no news to them.
    const result = await this.looks.quietly(() => this.ask(method.checkpointRestore, c, scope));
    await this.refresh();
    const undo = result.undoCheckpointId;
    const said = undone ? "Redline: it is as it was before you went back." : `Redline: you are back at before “${short(c.title)}”.`;
    const choice = await vscode.window.showInformationMessage(said + this.left(result), ...(undo && !undone ? ["Undo"] : []));
    if (choice === "Undo" && undo) {
      await this.with({ checkpointId: undo, title: c.title } as Checkpoint, (x) => this.goBack(x, scope, true));
    }
  }

  private ask(name: string, c: Pick<Checkpoint, "checkpointId">, scope: CheckpointScope): Promise<CheckpointResult> {
    return this.server.request<CheckpointResult>(name, { checkpointId: c.checkpointId, scope });
  }

  /** What stays as it is, in words; empty when that is nothing. */
  private left(r: CheckpointResult): string {
    const files = r.skipped.map((u) => {
      const why = r.reasons?.[u];
      return vscode.workspace.asRelativePath(vscode.Uri.parse(u)) + (why ? ` (${why})` : "");
    });
    return (files.length > 0 ? ` Left as they are: ${some(files)}.` : "") + (r.commands?.length ? ` What commands did since stays: ${some(r.commands)}.` : "");
  }
}

function some(names: string[]): string {
  return names.slice(0, 5).join(", ") + (names.length > 5 ? ` and ${names.length - 5} more` : "");
}

function short(title: string): string {
  const line = title.split("\n")[0] ?? "";
  return line.length > 60 ? `${line.slice(0, 59)}…` : line;
}
