import * as vscode from "vscode";
import type { HunkRef, Reviews } from "./reviews";
import { amended } from "./amendtext";
import { sameText } from "./hunks";

export const SCHEME = "redline-amend";
/** The lines that are there now, on the other side. */
const NOW = "redline-now";

interface Draft {
  ref: HunkRef;
  name: string;
  text: string;
  /** What the document has instead. */
  now: string;
  /** The file that it is for. */
  uri: vscode.Uri;
  mtime: number;
}

/**
 * The person's own version of a hunk: its text as a file that is edited beside the lines
 * it is for, with everything the editor has for that language. Saving it is the decision.
 * It is a file, and no box in the card, because an unsaved file outlives everything: what
 * the server does meanwhile, a failed decision, a closed window.
 */
export class Amendments implements vscode.FileSystemProvider, vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly drafts = new Map<string, Draft>();
  private readonly changed = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  readonly onDidChangeFile = this.changed.event;
  /** Paths that the editor saves by itself now; that is no decision. */
  private readonly automatic = new Set<string>();
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly reviews: Reviews) {
    this.subscriptions = [
      vscode.workspace.registerFileSystemProvider(SCHEME, this, { isCaseSensitive: true }),
      vscode.workspace.registerTextDocumentContentProvider(NOW, this),
      vscode.workspace.onWillSaveTextDocument((e) => {
        if (e.document.uri.scheme === SCHEME && e.reason !== vscode.TextDocumentSaveReason.Manual) {
          this.automatic.add(e.document.uri.path);
        }
      }),
      // Only then does the editor count the text as saved.
      vscode.workspace.onDidSaveTextDocument((d) => d.uri.scheme === SCHEME && this.closeDone()),
      reviews.onDidChange((c) => c === "content" && this.closeDone()),
    ];
  }

  /** Opens the text of a hunk for editing. */
  async open(ref: HunkRef): Promise<void> {
    const found = this.reviews.pendingHunk(ref);
    if (!found) {
      void vscode.window.showInformationMessage("Redline: this change is decided already.");
      return;
    }
    const { proposal, file, hunk } = found;
    if (hunk.whole && file.op !== "create") {
      void vscode.window.showInformationMessage(`Redline: ${file.op === "delete" ? "a deletion" : "a new name"} has no text to amend. Accept or reject it.`);
      return;
    }
    const uri = vscode.Uri.parse(file.uri);
    const name = uri.path.split("/").pop() ?? "text";
    const path = `/${encodeURIComponent(proposal.proposalId)}/${hunk.hunkId}/${name}`;
    if (!this.drafts.has(path)) {
      this.drafts.set(path, { ref, name, text: hunk.newText, now: hunk.oldText, uri, mtime: 1 });
    }
    const at = hunk.range.start.line + 1;
    await vscode.commands.executeCommand(
      "vscode.diff",
      vscode.Uri.from({ scheme: NOW, path }),
      vscode.Uri.from({ scheme: SCHEME, path }),
      `${name}:${at}: your version — save it to put it in`,
      { preview: false },
    );
  }

  /** Takes the text as it is in the active editor. */
  async take(): Promise<void> {
    const document = vscode.window.activeTextEditor?.document;
    if (document?.uri.scheme !== SCHEME) {
      return;
    }
    if (document.isDirty) {
      await document.save();
      return;
    }
    try {
      await this.decide(document.uri, document.getText());
    } catch (e) {
      void vscode.window.showWarningMessage(`Redline: ${e instanceof Error ? e.message : String(e)}`);
    }
  }

  async discard(): Promise<void> {
    if (vscode.window.activeTextEditor?.document.uri.scheme === SCHEME) {
      this.drafts.delete(vscode.window.activeTextEditor.document.uri.path);
      await vscode.commands.executeCommand("workbench.action.revertAndCloseActiveEditor");
    }
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.drafts.get(uri.path)?.now ?? "";
  }

  stat(uri: vscode.Uri): vscode.FileStat {
    const d = this.draft(uri);
    return { type: vscode.FileType.File, ctime: 0, mtime: d.mtime, size: Buffer.byteLength(d.text) };
  }

  readFile(uri: vscode.Uri): Uint8Array {
    return Buffer.from(this.draft(uri).text);
  }

  async writeFile(uri: vscode.Uri, content: Uint8Array): Promise<void> {
    const d = this.draft(uri);
    const text = Buffer.from(content).toString();
    if (this.automatic.delete(uri.path)) {
      d.text = text;
      d.mtime++;
      return;
    }
    await this.decide(uri, text);
    d.text = text;
    d.mtime++;
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => undefined);
  }
  readDirectory(): never {
    throw vscode.FileSystemError.NoPermissions();
  }
  createDirectory(): never {
    throw vscode.FileSystemError.NoPermissions();
  }
  delete(): never {
    throw vscode.FileSystemError.NoPermissions();
  }
  rename(): never {
    throw vscode.FileSystemError.NoPermissions();
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions, this.changed).dispose();
  }

  private draft(uri: vscode.Uri): Draft {
    const d = this.drafts.get(uri.path);
    if (!d) {
      throw vscode.FileSystemError.FileNotFound(uri);
    }
    return d;
  }

  private async decide(uri: vscode.Uri, text: string): Promise<void> {
    const d = this.draft(uri);
    const found = this.reviews.pendingHunk(d.ref);
    if (!found) {
      throw new Error("This change is decided already. Your text is kept here; copy what you need.");
    }
    if (found.hunk.state === "conflict") {
      throw new Error("You changed these lines in the document meanwhile, and they stay as they are. Your text is kept here; copy what you need.");
    }
    const newText = amended(text, found.hunk);
    const target = { hunkId: d.ref.hunkId };
    await this.reviews.submit(d.ref.proposalId, [
      sameText(newText, found.hunk.newText) ? { target, decision: "accept" } : { target, decision: "amend", newText },
    ]);
  }

  /** Closes the editors whose change is decided, unless text in them is not saved. */
  private closeDone(): void {
    for (const [path, d] of this.drafts) {
      if (this.reviews.pendingHunk(d.ref)) {
        continue;
      }
      const tabs = vscode.window.tabGroups.all
        .flatMap((g) => g.tabs)
        .filter((t) => t.input instanceof vscode.TabInputTextDiff && t.input.modified.scheme === SCHEME && t.input.modified.path === path);
      const was = tabs.some((t) => t.isActive && t.group.isActive);
      const clean = tabs.filter((t) => !t.isDirty);
      if (tabs.length === clean.length && !this.deciding(d)) {
        this.drafts.delete(path);
      }
      if (clean.length > 0) {
        void vscode.window.tabGroups.close(clean, true).then(async () => {
          // Back to where the text went, if nobody has gone elsewhere.
          if (was && d.uri.scheme !== SCHEME && vscode.window.state.focused) {
            await vscode.window.showTextDocument(d.uri, { preview: false });
          }
        });
      }
    }
  }

  private deciding(d: Draft): boolean {
    return this.reviews.get(d.ref.proposalId)?.files.some((f) => f.hunks.some((h) => h.hunkId === d.ref.hunkId && h.state === "pending")) ?? false;
  }
}
