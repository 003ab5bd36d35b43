import * as vscode from "vscode";
import type { Proposal, ProposalFile } from "../ext";
import { proposedText } from "./hunks";
import type { Reviews } from "./reviews";

export const SCHEME = "redline-proposed";

/**
 * Read-only documents that hold a file as it would be with everything pending
 * accepted. They follow the real document as it is typed in.
 */
export class ProposedDocuments implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly reviews: Reviews) {
    this.subscriptions = [
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      reviews.onDidChange(() => {
        for (const d of vscode.workspace.textDocuments) {
          if (d.uri.scheme === SCHEME) {
            this.changed.fire(d.uri);
          }
        }
        this.closeDone();
      }),
    ];
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const real = uri.with({ scheme: "file", query: "" });
    const text = await currentText(real);
    const query = new URLSearchParams(uri.query);
    const file = this.reviews.get(query.get("p") ?? "")?.files.find((f) => f.fileId === query.get("f"));
    if (!file) {
      return text;
    }
    return proposedText(
      text,
      file.hunks
        .filter((h) => this.reviews.isPending(h))
        .map((h) => ({ range: this.reviews.place(real.toString(), file, h), oldText: h.oldText, newText: h.newText })),
    );
  }

  /** Opens one editor with the differences of every file that has pending hunks. */
  async openAll(): Promise<void> {
    const files = this.reviews.files();
    if (files.length === 0) {
      void vscode.window.showInformationMessage("Redline: nothing waits for review.");
      return;
    }
    const resources = files.map(({ proposal, file }) => {
      const real = vscode.Uri.parse(file.uri);
      return [real, file.op === "create" ? undefined : real, proposedUri(proposal, file)];
    });
    await vscode.commands.executeCommand("vscode.changes", TITLE, resources);
  }

  /** Opens the differences of one file. */
  async open(uri: vscode.Uri): Promise<void> {
    const found = this.reviews.files().find(({ file }) => vscode.Uri.parse(file.uri).toString() === uri.toString());
    if (!found) {
      return;
    }
    const name = vscode.workspace.asRelativePath(uri);
    await vscode.commands.executeCommand("vscode.diff", uri, proposedUri(found.proposal, found.file), `${name} ↔ Redline`);
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions, this.changed).dispose();
  }

  /** Closes the comparisons that have nothing to show any more. */
  private closeDone(): void {
    const files = this.reviews.files();
    const open = new Set(files.map(({ proposal, file }) => proposedUri(proposal, file).toString()));
    const done = vscode.window.tabGroups.all
      .flatMap((g) => g.tabs)
      .filter((t) =>
        t.input instanceof vscode.TabInputTextDiff
          ? t.input.modified.scheme === SCHEME && !open.has(t.input.modified.toString())
          : t.input === undefined && t.label.startsWith(TITLE) && files.length === 0,
      );
    if (done.length > 0) {
      void vscode.window.tabGroups.close(done, true);
    }
  }
}

/** The editor adds the number of files. */
const TITLE = "Redline review";

function proposedUri(p: Proposal, f: ProposalFile): vscode.Uri {
  const query = new URLSearchParams({ p: p.proposalId, f: f.fileId }).toString();
  return vscode.Uri.parse(f.uri).with({ scheme: SCHEME, query });
}

/** The text of a file as the user has it: of the buffer when it is open, else of the disk; empty when there is none. */
async function currentText(uri: vscode.Uri): Promise<string> {
  const open = vscode.workspace.textDocuments.find((d) => d.uri.toString() === uri.toString());
  if (open) {
    return open.getText();
  }
  try {
    await vscode.workspace.fs.stat(uri);
  } catch {
    return "";
  }
  return (await vscode.workspace.openTextDocument(uri)).getText();
}
