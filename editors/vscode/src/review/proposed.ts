import * as vscode from "vscode";
import type { Hunk, Proposal, ProposalFile } from "../ext";
import { proposedText } from "./hunks";
import type { Looks } from "./looks";
import type { PlacedHunk, Reviews } from "./reviews";

export const SCHEME = "redline-proposed";

/** What of a file a proposed document shows. */
type Show =
  | "proposed" // the present text with everything pending, or the named hunks, in it
  | "before" // the present text without the named hunks, which were applied
  | "theirs"; // the present text with the named hunk in it over what the user made of its lines

/**
 * Read-only documents that hold a file as it would be with what is pending accepted, or
 * as it was before what was applied. They follow the real document as it is typed in.
 */
export class ProposedDocuments implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly subscriptions: vscode.Disposable[];
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly reviews: Reviews) {
    const refresh = () => {
      clearTimeout(this.timer);
      this.timer = undefined;
      for (const d of vscode.workspace.textDocuments) {
        if (d.uri.scheme === SCHEME) {
          this.changed.fire(d.uri);
        }
      }
    };
    this.subscriptions = [
      vscode.workspace.registerTextDocumentContentProvider(SCHEME, this),
      reviews.onDidChange((c) => {
        if (c === "content") {
          refresh();
          this.closeDone();
        } else {
          this.timer ??= setTimeout(refresh, 150); // typing comes in bursts
        }
      }),
    ];
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const query = new URLSearchParams(uri.query);
    const proposal = this.reviews.find(query.get("p") ?? "");
    const file = proposal?.files.find((f) => f.fileId === query.get("f"));
    const at = proposal && file && query.get("s") === "before" && file.newUri ? file.newUri : (file?.uri ?? uri.with({ scheme: "file", query: "" }).toString());
    const real = vscode.Uri.parse(at);
    const document = await documentOf(real);
    const text = document?.getText() ?? "";
    if (!proposal || !file) {
      return text;
    }
    const named = query.get("h")?.split(",");
    const place = (h: Hunk) => this.reviews.place(real.toString(), file, h);
    switch (query.get("s") as Show | null) {
      case "before": {
        const standing = document ? this.reviews.standingIn(document).filter((h) => h.proposal.proposalId === proposal.proposalId && named?.includes(h.hunk.hunkId)) : [];
        return proposedText(
          text,
          standing.map((h) => ({ range: h.range, oldText: h.hunk.final ?? h.hunk.newText, newText: h.hunk.oldText })),
        );
      }
      case "theirs":
        return document
          ? file.hunks
              .filter((h) => named?.includes(h.hunkId))
              .reduce((t, h) => {
                const r = place(h);
                const from = document.offsetAt(new vscode.Position(r.start.line, r.start.character));
                return t.slice(0, from) + h.newText + t.slice(document.offsetAt(new vscode.Position(r.end.line, r.end.character)));
              }, text)
          : text;
      default:
        return proposedText(
          text,
          file.hunks
            .filter((h) => (named ? named.includes(h.hunkId) : true) && this.reviews.isPending(proposal, h))
            .map((h) => ({ range: place(h), oldText: h.oldText, newText: h.newText })),
        );
    }
  }

  /** Opens one editor with the differences of every file that has pending hunks. */
  async openAll(): Promise<void> {
    const resources = this.reviews.files().map(({ proposal, file }) => resource(proposal, file));
    if (resources.length === 0) {
      nothing();
      return;
    }
    await vscode.commands.executeCommand("vscode.changes", TITLE, resources);
  }

  /** Opens one editor with only what is new or has changed since the person last looked, applied or not. */
  async openNews(looks: Looks): Promise<void> {
    const resources: Resource[] = [];
    for (const { proposal, file } of this.reviews.files()) {
      const ids = file.hunks.filter((h) => this.reviews.isPending(proposal, h) && looks.news(proposal, h)).map((h) => h.hunkId);
      if (ids.length > 0) {
        resources.push(resource(proposal, file, ids));
      }
    }
    for (const proposal of this.reviews.applied()) {
      for (const file of proposal.files) {
        const ids = file.hunks.filter((h) => h.standing && looks.news(proposal, h)).map((h) => h.hunkId);
        if (ids.length > 0) {
          const now = vscode.Uri.parse(file.newUri ?? file.uri);
          resources.push([now, proposedUri(proposal, file, "before", ids), now]);
        }
      }
    }
    if (resources.length === 0) {
      void vscode.window.showInformationMessage("Redline: nothing has changed since you last looked.");
      return;
    }
    await vscode.commands.executeCommand("vscode.changes", NEWS, resources);
  }

  /** Opens the differences of one file. */
  async open(uri: vscode.Uri): Promise<void> {
    const found = this.reviews.files().find(({ file }) => vscode.Uri.parse(file.uri).toString() === uri.toString());
    if (found) {
      await this.openFile(found.proposal, found.file);
    }
  }

  /** Opens what a proposal would do to a file, or what it has done to it. */
  async openFile(proposal: Proposal, file: ProposalFile): Promise<void> {
    const pending = file.hunks.some((h) => this.reviews.isPending(proposal, h));
    const uri = vscode.Uri.parse((!pending && file.newUri) || file.uri);
    const name = vscode.workspace.asRelativePath(uri);
    if (pending) {
      // A file that is not there yet has an empty other side.
      const left = file.op === "create" ? vscode.Uri.from({ scheme: SCHEME, path: "/nothing", query: "" }) : uri;
      await vscode.commands.executeCommand("vscode.diff", left, proposedUri(proposal, file), `${name} ↔ Redline`, asText(uri));
      return;
    }
    const ids = file.hunks.filter((h) => h.standing).map((h) => h.hunkId);
    await vscode.commands.executeCommand("vscode.diff", proposedUri(proposal, file, "before", ids), uri, `${name}: applied by Redline`, asText(uri));
  }

  /** Opens both sides of a conflict: what was proposed, and the file, in which the person may take from it. */
  async openConflict(h: PlacedHunk): Promise<void> {
    const uri = vscode.Uri.parse(h.file.uri);
    const name = vscode.workspace.asRelativePath(uri);
    const at = new vscode.Position(h.range.start.line, 0);
    await vscode.commands.executeCommand("vscode.diff", proposedUri(h.proposal, h.file, "theirs", [h.hunk.hunkId]), uri, `${name}: proposed ↔ yours`, {
      selection: new vscode.Range(at, at),
      ...asText(uri),
    });
  }

  dispose(): void {
    clearTimeout(this.timer);
    vscode.Disposable.from(...this.subscriptions, this.changed).dispose();
  }

  /** Closes the comparisons that have nothing to show any more. */
  private closeDone(): void {
    const files = this.reviews.files();
    const done = vscode.window.tabGroups.all
      .flatMap((g) => g.tabs)
      .filter((t) => {
        if (t.input instanceof vscode.TabInputTextDiff) {
          return [t.input.original, t.input.modified].some((u) => u.scheme === SCHEME && this.isDone(u)) && !t.isDirty;
        }
        return t.input === undefined && t.label.startsWith(TITLE) && files.length === 0;
      });
    if (done.length > 0) {
      void vscode.window.tabGroups.close(done, true);
    }
  }

  private isDone(uri: vscode.Uri): boolean {
    const query = new URLSearchParams(uri.query);
    const id = query.get("p");
    if (!id) {
      return false; // the empty side
    }
    const p = this.reviews.find(id);
    const ids = query.get("h")?.split(",");
    const hunks = p?.files.find((f) => f.fileId === query.get("f"))?.hunks.filter((h) => !ids || ids.includes(h.hunkId)) ?? [];
    return p === undefined || !hunks.some((h) => (query.get("s") === "before" ? h.standing : this.reviews.isPending(p, h)));
  }
}

/** The editor adds the number of files. */
const TITLE = "Redline review";
const NEWS = "Redline: since you last looked";

/** Whether a tab shows all that is to be reviewed, or all of it that is new. */
export function isReviewTab(t: vscode.Tab): boolean {
  return t.input === undefined && (t.label.startsWith(TITLE) || t.label.startsWith(NEWS));
}

type Resource = [label: vscode.Uri, original: vscode.Uri | undefined, modified: vscode.Uri];

function resource(p: Proposal, f: ProposalFile, ids?: string[]): Resource {
  const real = vscode.Uri.parse(f.uri);
  return [real, f.op === "create" ? undefined : real, proposedUri(p, f, "proposed", ids)];
}

function proposedUri(p: Proposal, f: ProposalFile, show: Show = "proposed", ids?: string[]): vscode.Uri {
  const query = new URLSearchParams({ p: p.proposalId, f: f.fileId });
  if (show !== "proposed") {
    query.set("s", show);
  }
  if (ids) {
    query.set("h", ids.join(","));
  }
  return vscode.Uri.parse(f.uri).with({ scheme: SCHEME, query: query.toString() });
}

/** Options of a comparison: a notebook is compared as the JSON that is proposed. The typings leave the option out. */
function asText(uri: vscode.Uri): { override?: boolean } {
  return uri.path.endsWith(".ipynb") ? { override: true } : {};
}

/** Whether a document is theirs of one conflict. */
export function isConflict(uri: vscode.Uri): boolean {
  return uri.scheme === SCHEME && new URLSearchParams(uri.query).get("s") === "theirs";
}

export function nothing(): void {
  void vscode.window.showInformationMessage("Redline: nothing waits for review.");
}

/** A file as the user has it: the buffer when it is open, else from the disk; undefined when there is none. */
export async function documentOf(uri: vscode.Uri): Promise<vscode.TextDocument | undefined> {
  const open = vscode.workspace.textDocuments.find((d) => d.uri.toString() === uri.toString());
  if (open) {
    return open;
  }
  try {
    await vscode.workspace.fs.stat(uri);
    return await vscode.workspace.openTextDocument(uri);
  } catch {
    return undefined; // not there, or no text
  }
}
