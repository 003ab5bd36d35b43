import { lineCount } from "../chat/transcript";
import type { Hunk, Proposal, ProposalFile } from "../ext";

/** What the list of changes shows, as a tree. Pure. */

export type Section = "review" | "applied";

export type PanelNode = SectionNode | ProposalNode | FileNode | HunkNode;

export interface SectionNode {
  kind: "section";
  section: Section;
  label: string;
  detail: string;
  children: (ProposalNode | FileNode)[];
}

export interface ProposalNode {
  kind: "proposal";
  section: Section;
  proposalId: string;
  label: string;
  detail: string;
  children: FileNode[];
}

export interface FileNode {
  kind: "file";
  section: Section;
  proposalId: string;
  fileId: string;
  uri: string;
  newUri?: string;
  op: ProposalFile["op"];
  counts: Counts;
  /** In words: what happens to the file and how it stands. */
  notes: string[];
  children: HunkNode[];
}

export interface HunkNode {
  kind: "hunk";
  section: Section;
  proposalId: string;
  fileId: string;
  hunkId: string;
  uri: string;
  /** 0-based. */
  line: number;
  label: string;
  counts: Counts;
  icon: "added" | "removed" | "modified" | "file" | "conflict";
  notes: string[];
}

export interface Counts {
  added: number;
  removed: number;
}

/** What the model needs to know of the state that is not in the proposals. */
export interface PanelState {
  open: Proposal[];
  /** Decided ones of which something stands, newest first. */
  applied: Proposal[];
  isPending(p: Proposal, h: Hunk): boolean;
  /** new, changed or undefined: since the person last looked. */
  news(p: Proposal, h: Hunk): "new" | "changed" | undefined;
  /** The 0-based line where the hunk stands now. */
  line(p: Proposal, f: ProposalFile, h: Hunk): number;
}

const OPS = { edit: "", create: "new file", delete: "deleted", rename: "renamed" } as const;

export function panel(s: PanelState): SectionNode[] {
  const out: SectionNode[] = [];
  const open = s.open.map((p) => proposalNode(s, p, "review")).filter((n) => n.children.length > 0);
  if (open.length > 0) {
    const files = open.flatMap((n) => n.children);
    const children = open.length === 1 ? files : open;
    out.push({ kind: "section", section: "review", label: "To review", detail: sum(files), children });
  }
  const applied = s.applied.map((p) => proposalNode(s, p, "applied")).filter((n) => n.children.length > 0);
  if (applied.length > 0) {
    out.push({ kind: "section", section: "applied", label: "Applied", detail: sum(applied.flatMap((n) => n.children)), children: applied });
  }
  return out;
}

export function countsText(c: Counts): string {
  return [c.added ? `+${c.added}` : "", c.removed ? `−${c.removed}` : ""].filter(Boolean).join(" ");
}

function sum(files: FileNode[]): string {
  const n = new Set(files.map((f) => f.uri)).size;
  return `${n} ${n === 1 ? "file" : "files"}  ${countsText(total(files))}`.trim();
}

function total(nodes: { counts: Counts }[]): Counts {
  return nodes.reduce((a, n) => ({ added: a.added + n.counts.added, removed: a.removed + n.counts.removed }), { added: 0, removed: 0 });
}

function proposalNode(s: PanelState, p: Proposal, section: Section): ProposalNode {
  const children = p.files.map((f) => fileNode(s, p, f, section)).filter((f) => f.children.length > 0);
  return { kind: "proposal", section, proposalId: p.proposalId, label: p.title, detail: sum(children), children };
}

function fileNode(s: PanelState, p: Proposal, f: ProposalFile, section: Section): FileNode {
  const hunks = f.hunks.filter((h) => (section === "review" ? s.isPending(p, h) : h.standing));
  const children = hunks.map((h) => hunkNode(s, p, f, h, section));
  const notes: string[] = [];
  if (hunks.some((h) => h.whole) && OPS[f.op]) {
    notes.push(OPS[f.op]);
  }
  for (const word of ["conflict", "new", "changed", "amended"]) {
    if (children.some((h) => h.notes.includes(word))) {
      notes.push(word);
    }
  }
  return {
    kind: "file",
    section,
    proposalId: p.proposalId,
    fileId: f.fileId,
    uri: f.uri,
    ...(f.newUri ? { newUri: f.newUri } : {}),
    op: f.op,
    counts: total(children),
    notes,
    children,
  };
}

function hunkNode(s: PanelState, p: Proposal, f: ProposalFile, h: Hunk, section: Section): HunkNode {
  const text = h.final ?? h.newText;
  const counts = { added: lineCount(text), removed: lineCount(h.oldText) };
  const notes: string[] = [];
  if (h.state === "conflict") {
    notes.push("conflict");
  }
  if (h.state === "amended") {
    notes.push("amended");
  }
  const news = s.news(p, h);
  if (news) {
    notes.push(news);
  }
  return {
    kind: "hunk",
    section,
    proposalId: p.proposalId,
    fileId: f.fileId,
    hunkId: h.hunkId,
    uri: (section === "applied" && f.newUri) || f.uri,
    line: s.line(p, f, h),
    label: labelOf(f, h, text),
    counts,
    icon: h.state === "conflict" ? "conflict" : h.whole ? "file" : counts.removed === 0 ? "added" : counts.added === 0 ? "removed" : "modified",
    notes,
  };
}

/** The first line that says something: what comes in that was not there, else what goes. */
function labelOf(f: ProposalFile, h: Hunk, text: string): string {
  if (h.whole && f.op === "delete") {
    return "Delete the file";
  }
  if (h.whole && f.op === "rename") {
    return `Rename to ${nameOf(f.newUri ?? "")}`;
  }
  const old = new Set(lines(h.oldText));
  const say = lines(text).find((l) => l !== "" && !old.has(l)) ?? lines(text).find((l) => l !== "") ?? lines(h.oldText).find((l) => l !== "");
  return say ?? "(blank lines)";
}

function lines(text: string): string[] {
  return text.split(/\r\n|\r|\n/).map((l) => l.trim());
}

export function nameOf(uri: string): string {
  const last = uri.split("/").pop()?.replace(/^untitled:/, "") ?? uri;
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

export function idOf(n: PanelNode): string {
  switch (n.kind) {
    case "section":
      return n.section;
    case "proposal":
      return `${n.section} ${n.proposalId}`;
    case "file":
      return `${n.section} ${n.proposalId} ${n.fileId}`;
    case "hunk":
      return `${n.section} ${n.proposalId} ${n.fileId} ${n.hunkId}`;
  }
}

/**
 * Makes the tree old what now is, keeping the nodes that stay, and returns those to draw
 * anew: as few as may be, since a row that is drawn anew under the mouse loses its click.
 * It is "all" when the roots are others.
 */
export function reconcile(old: SectionNode[], now: SectionNode[]): { roots: SectionNode[]; changed: "all" | PanelNode[] } {
  if (!sameIds(old, now)) {
    return { roots: now, changed: "all" };
  }
  const changed: PanelNode[] = [];
  old.forEach((n, i) => update(n, now[i] as SectionNode, changed));
  return { roots: old, changed };
}

function update(old: PanelNode, now: PanelNode, changed: PanelNode[]): void {
  const before = childrenOf(old);
  const after = childrenOf(now);
  const same = sameIds(before, after);
  if (own(old) !== own(now) || !same) {
    changed.push(old);
  }
  Object.assign(old, now);
  if (same && old.kind !== "hunk") {
    old.children = before as never; // of the kind it has, for the ids are the same
    before.forEach((n, i) => update(n, after[i] as PanelNode, changed));
  }
}

function childrenOf(n: PanelNode): PanelNode[] {
  return n.kind === "hunk" ? [] : n.children;
}

function sameIds(a: PanelNode[], b: PanelNode[]): boolean {
  return a.length === b.length && a.every((n, i) => idOf(n) === idOf(b[i] as PanelNode));
}

/** What a node shows itself. */
function own(n: PanelNode): string {
  return JSON.stringify({ ...n, children: undefined });
}
