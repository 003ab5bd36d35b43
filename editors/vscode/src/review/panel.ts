import * as vscode from "vscode";
import type { Looks } from "./looks";
import { countsText, idOf, nameOf, panel, reconcile, type FileNode, type HunkNode, type PanelNode, type SectionNode } from "./panelmodel";
import type { Reviews } from "./reviews";

/** The list of all changed files with their hunks: what is to be reviewed, and what was applied. */
export class ChangesPanel implements vscode.TreeDataProvider<PanelNode>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<PanelNode[] | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly view: vscode.TreeView<PanelNode>;
  private readonly subscriptions: vscode.Disposable[];
  private timer: NodeJS.Timeout | undefined;
  private roots: SectionNode[] = [];

  constructor(
    private readonly reviews: Reviews,
    private readonly looks: Looks,
  ) {
    this.view = vscode.window.createTreeView("redline.changes", { treeDataProvider: this, showCollapseAll: true });
    const soon = (ms: number) => {
      this.timer ??= setTimeout(() => {
        this.timer = undefined;
        this.refresh();
      }, ms);
    };
    this.subscriptions = [
      reviews.onDidChange((c) => soon(c === "content" ? 30 : 500)), // lines move as one types
      looks.onDidChange(() => soon(30)),
    ];
    this.refresh();
  }

  getChildren(node?: PanelNode): PanelNode[] {
    if (!node) {
      return this.roots;
    }
    return node.kind === "hunk" || (node.kind === "file" && isWhole(node)) ? [] : node.children;
  }

  getTreeItem(node: PanelNode): vscode.TreeItem {
    switch (node.kind) {
      case "section": {
        const item = new vscode.TreeItem(node.label, node.section === "review" ? OPEN : CLOSED);
        item.id = idOf(node);
        item.description = node.detail;
        item.contextValue = `section.${node.section}`;
        return item;
      }
      case "proposal": {
        const item = new vscode.TreeItem(node.label, node.section === "review" ? OPEN : CLOSED);
        item.id = idOf(node);
        item.description = node.detail;
        item.iconPath = new vscode.ThemeIcon("git-pull-request");
        item.contextValue = `proposal.${node.section}`;
        return item;
      }
      case "file":
        return this.file(node);
      case "hunk":
        return this.hunk(node);
    }
  }

  dispose(): void {
    clearTimeout(this.timer);
    vscode.Disposable.from(...this.subscriptions, this.view, this.changed).dispose();
  }

  private refresh(): void {
    const { reviews, looks } = this;
    const { roots, changed } = reconcile(this.roots, panel({
      open: reviews.all(),
      applied: reviews.applied(),
      isPending: (p, h) => reviews.isPending(p, h),
      news: (p, h) => looks.news(p, h),
      line: (_, f, h) => reviews.place(vscode.Uri.parse(f.uri).toString(), f, h).start.line,
    }));
    this.roots = roots;
    const n = reviews.pending;
    this.view.description = n > 0 ? `${n} to review` : "";
    void vscode.commands.executeCommand("setContext", "redline.hasNews", this.roots.some((r) => hasNews(r)));
    if (changed === "all") {
      this.changed.fire(undefined);
    } else if (changed.length > 0) {
      this.changed.fire(changed);
    }
  }

  private file(node: FileNode): vscode.TreeItem {
    const uri = vscode.Uri.parse(node.uri);
    const path = vscode.workspace.asRelativePath(uri, (vscode.workspace.workspaceFolders?.length ?? 0) > 1);
    const dir = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
    const name = node.op === "rename" && node.newUri ? `${nameOf(node.uri)} → ${nameOf(node.newUri)}` : nameOf(node.uri);
    const item = new vscode.TreeItem(name, isWhole(node) ? vscode.TreeItemCollapsibleState.None : node.children.length > 30 ? CLOSED : OPEN);
    item.id = idOf(node);
    item.resourceUri = uri;
    item.iconPath = vscode.ThemeIcon.File;
    item.description = [countsText(node.counts), node.notes.join(", "), dir].filter(Boolean).join("  ");
    item.tooltip = [path, `${node.children.length} ${node.children.length === 1 ? "change" : "changes"}  ${countsText(node.counts)}`, ...node.notes].join("\n");
    item.contextValue = `file.${node.section}`;
    item.command = { command: "redline.openChangedFile", title: "Open", arguments: [node] };
    return item;
  }

  private hunk(node: HunkNode): vscode.TreeItem {
    const item = new vscode.TreeItem(node.label, vscode.TreeItemCollapsibleState.None);
    item.id = idOf(node);
    item.description = [`:${node.line + 1}`, countsText(node.counts), node.notes.join(", ")].filter(Boolean).join("  ");
    item.iconPath = ICONS[node.icon];
    item.tooltip = node.notes.includes("conflict") ? "You changed these lines; your text stays. Open to see both sides." : node.label;
    item.contextValue = `hunk.${node.section}${node.icon === "conflict" ? ".conflict" : node.icon === "file" ? ".file" : ""}`;
    item.command = { command: "redline.openHunk", title: "Show", arguments: [node] };
    item.accessibilityInformation = { label: `${node.label}, line ${node.line + 1}, ${node.counts.added} lines added, ${node.counts.removed} removed${node.notes.map((n) => `, ${n}`).join("")}` };
    return item;
  }
}

const OPEN = vscode.TreeItemCollapsibleState.Expanded;
const CLOSED = vscode.TreeItemCollapsibleState.Collapsed;

const ICONS = {
  added: new vscode.ThemeIcon("diff-added", new vscode.ThemeColor("gitDecoration.addedResourceForeground")),
  removed: new vscode.ThemeIcon("diff-removed", new vscode.ThemeColor("gitDecoration.deletedResourceForeground")),
  modified: new vscode.ThemeIcon("diff-modified", new vscode.ThemeColor("gitDecoration.modifiedResourceForeground")),
  file: new vscode.ThemeIcon("file"),
  conflict: new vscode.ThemeIcon("warning", new vscode.ThemeColor("list.warningForeground")),
};

/** Its one change is the file itself: there is nothing to unfold. */
function isWhole(f: FileNode): boolean {
  return f.children.every((h) => h.icon === "file");
}

function hasNews(n: PanelNode): boolean {
  return n.kind === "hunk" ? n.notes.some((x) => x === "new" || x === "changed") : n.children.some(hasNews);
}

