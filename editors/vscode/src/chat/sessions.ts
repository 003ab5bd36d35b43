import * as vscode from "vscode";
import type { Server } from "../client";
import { method, type SessionInfo } from "../ext";
import { message, type Conversation } from "../session";
import { age, findSessions, sessionDetail, sessionTitle } from "./words";

/**
 * The conversations of this folder, earlier ones too: a list in the side bar, and a
 * picker that is searched by typing. Both open, fork and delete.
 */
export class Sessions implements vscode.TreeDataProvider<SessionInfo>, vscode.Disposable {
  static readonly id = "redline.sessions";
  private readonly changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly subscriptions: vscode.Disposable;
  private readonly view: vscode.TreeView<SessionInfo>;
  private known = "";

  constructor(
    private readonly server: Server,
    private readonly conversation: Conversation,
    private readonly showChat: () => Promise<void>,
  ) {
    this.view = vscode.window.createTreeView(Sessions.id, { treeDataProvider: this });
    const command = (id: string, run: (s?: SessionInfo) => Promise<void>) =>
      vscode.commands.registerCommand(`redline.${id}`, (s?: SessionInfo) =>
        run(s).catch((e: unknown) => void vscode.window.showErrorMessage(`Redline: ${message(e)}`)),
      );
    this.subscriptions = vscode.Disposable.from(
      this.view,
      this.changed,
      command("sessions", () => this.pick()),
      command("openSession", (s) => (s ? this.open(s) : this.pick())),
      command("forkSession", async (s) => this.fork(s ?? (await this.choose("Fork which session?")))),
      command("deleteSession", async (s) => this.remove(s ?? (await this.choose("Delete which session?")))),
      command("refreshSessions", async () => this.changed.fire(undefined)),
      server.onDidChangeState((s) => s === "running" && this.changed.fire(undefined)),
      this.view.onDidChangeVisibility((e) => e.visible && this.changed.fire(undefined)),
      conversation.onDidChangeState(() => {
        const now = `${conversation.sessionId} ${conversation.isRunning} ${conversation.session?.mode}`;
        if (now !== this.known) {
          this.known = now;
          this.changed.fire(undefined);
        }
      }),
    );
  }

  dispose(): void {
    this.subscriptions.dispose();
  }

  async getChildren(parent?: SessionInfo): Promise<SessionInfo[]> {
    if (parent || this.server.state !== "running") {
      return [];
    }
    const all = await this.list();
    const empty = all.every((s) => s.turns === 0);
    this.view.message = empty ? "What you ask is kept here, and can be taken up again." : "";
    return all.filter((s) => s.turns > 0 || s.running);
  }

  getTreeItem(s: SessionInfo): vscode.TreeItem {
    const now = Date.now();
    const current = s.sessionId === this.conversation.sessionId;
    const item = new vscode.TreeItem(sessionTitle(s));
    item.id = s.sessionId;
    item.description = sessionDetail(s, now);
    item.iconPath = new vscode.ThemeIcon(s.running ? "loading~spin" : current ? "comment-discussion-sparkle" : "comment-discussion");
    item.contextValue = current ? "session.current" : "session";
    item.tooltip = new vscode.MarkdownString().appendText(`${sessionTitle(s)}\n${s.model}, begun ${new Date(s.createdAt).toLocaleString()}, last used ${new Date(s.updatedAt).toLocaleString()}`);
    item.accessibilityInformation = { label: `${sessionTitle(s)}, ${current ? "open, " : ""}${sessionDetail(s, now)}` };
    item.command = { command: "redline.openSession", title: "Open", arguments: [s] };
    return item;
  }

  private async list(): Promise<SessionInfo[]> {
    const { sessions } = await this.server.request<{ sessions: SessionInfo[] }>(method.sessionList, {});
    return findSessions(sessions, "");
  }

  private async open(s: SessionInfo): Promise<void> {
    await this.showChat();
    await this.conversation.switchTo(s.sessionId);
  }

  /** Goes on in a copy, so that the old conversation stays as it is. */
  private async fork(s: SessionInfo | undefined): Promise<void> {
    if (s) {
      const copy = await this.server.request<SessionInfo>(method.sessionFork, { sessionId: s.sessionId });
      await this.open(copy);
      this.changed.fire(undefined);
    }
  }

  private async remove(s: SessionInfo | undefined): Promise<void> {
    if (!s) {
      return;
    }
    const go = "Delete";
    const text = `Delete “${sessionTitle(s)}” for good?`;
    if ((await vscode.window.showWarningMessage(text, { modal: true, detail: "The conversation and its checkpoints are removed. Your files stay as they are." }, go)) !== go) {
      return;
    }
    if (s.sessionId === this.conversation.sessionId) {
      await this.conversation.reset();
    }
    await this.server.request(method.sessionDelete, { sessionId: s.sessionId });
    this.changed.fire(undefined);
  }

  private async choose(title: string): Promise<SessionInfo | undefined> {
    const now = Date.now();
    const entries = (await this.list()).filter((s) => s.turns > 0).map((s) => ({ label: sessionTitle(s), description: sessionDetail(s, now), s }));
    return (await vscode.window.showQuickPick(entries, { title, matchOnDescription: true }))?.s;
  }

  /** The picker; its buttons fork and delete the session of their line. */
  private async pick(): Promise<void> {
    const forkButton = { iconPath: new vscode.ThemeIcon("repo-forked"), tooltip: "Fork: go on in a copy" };
    const deleteButton = { iconPath: new vscode.ThemeIcon("trash"), tooltip: "Delete" };
    type Entry = vscode.QuickPickItem & { s?: SessionInfo };
    const pick = vscode.window.createQuickPick<Entry>();
    pick.title = "Sessions of this folder";
    pick.placeholder = "Search by title, time or model";
    pick.matchOnDescription = pick.matchOnDetail = true;
    const fill = async () => {
      const now = Date.now();
      const all = (await this.list()).filter((s) => s.turns > 0 || s.running);
      const days = new Map<string, Entry[]>();
      for (const s of all) {
        const a = age(s.updatedAt, now);
        const day = /now|min| h$/.test(a) ? "Today and yesterday" : a.endsWith(" d") ? "This week" : "Earlier";
        const icon = s.running ? "loading~spin" : s.sessionId === this.conversation.sessionId ? "circle-filled" : "comment-discussion";
        const entry = { label: `$(${icon}) ${sessionTitle(s)}`, description: sessionDetail(s, now), detail: s.model, buttons: [forkButton, deleteButton], s };
        days.set(day, [...(days.get(day) ?? []), entry]);
      }
      pick.items = [
        { label: "$(add) New session" },
        ...[...days].flatMap(([day, list]): Entry[] => [{ label: day, kind: vscode.QuickPickItemKind.Separator }, ...list]),
      ];
      pick.busy = false;
    };
    pick.busy = true;
    pick.onDidTriggerItemButton(async ({ item, button }) => {
      pick.hide();
      await vscode.commands.executeCommand(button === forkButton ? "redline.forkSession" : "redline.deleteSession", item.s);
    });
    pick.onDidAccept(async () => {
      const picked = pick.activeItems[0];
      pick.hide();
      if (picked) {
        await (picked.s ? vscode.commands.executeCommand("redline.openSession", picked.s) : vscode.commands.executeCommand("redline.newSession"));
      }
    });
    pick.onDidHide(() => pick.dispose());
    pick.show();
    await fill();
  }
}
