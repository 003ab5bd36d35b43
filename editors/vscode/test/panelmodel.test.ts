import assert from "node:assert/strict";
import { test } from "node:test";
import type { Hunk, Proposal, ProposalFile } from "../src/ext";
import { countsText, idOf, panel, reconcile, type FileNode, type PanelState } from "../src/review/panelmodel";

const range = { start: { line: 4, character: 0 }, end: { line: 5, character: 0 } };
const hunk = (hunkId: string, oldText: string, newText: string, more: Partial<Hunk> = {}): Hunk => ({ hunkId, range, oldText, newText, state: "pending", ...more });
const file = (name: string, hunks: Hunk[], more: Partial<ProposalFile> = {}): ProposalFile => ({
  fileId: name, uri: `file:///w/${name}`, op: "edit", base: { version: 1, hash: "", eol: "lf", bom: false, encoding: "utf-8" }, hunks, ...more,
});
const proposal = (proposalId: string, files: ProposalFile[]): Proposal => ({
  proposalId, rev: 1, sessionId: "s", turnId: "t", callIds: [], title: `Change ${proposalId}`, state: "open", files, diff: "",
});
const state = (more: Partial<PanelState>): PanelState => ({
  open: [], applied: [], isPending: (_, h) => h.state === "pending" || h.state === "conflict", news: () => undefined, line: (_, __, h) => h.range.start.line, ...more,
});

test("one proposal shows its files; of several each is named", () => {
  const one = proposal("p1", [file("a.go", [hunk("h1", "x\n", "y\ny2\n")])]);
  const two = proposal("p2", [file("b.go", [hunk("h1", "", "new\n")])]);
  const [review] = panel(state({ open: [one] }));
  assert.equal(review?.label, "To review");
  assert.equal(review?.detail, "1 file  +2 −1");
  assert.deepEqual(review?.children.map((c) => c.kind), ["file"]);
  const [both] = panel(state({ open: [one, two] }));
  assert.deepEqual(both?.children.map((c) => c.kind === "proposal" && c.label), ["Change p1", "Change p2"]);
  assert.equal(both?.detail, "2 files  +3 −1");
});

test("what is decided is not to be reviewed; what stands can be taken back", () => {
  const p = proposal("p1", [
    file("a.go", [hunk("h1", "x\n", "y\n", { state: "accepted", standing: true }), hunk("h2", "u\n", "v\n"), hunk("h3", "r\n", "s\n", { state: "rejected" })]),
    file("b.go", [hunk("h4", "x\n", "y\n", { state: "rejected" })]),
  ]);
  const [review, applied] = panel(state({ open: [p], applied: [p] }));
  const files = review?.children as FileNode[];
  assert.deepEqual(files.map((f) => [f.fileId, f.children.map((h) => h.hunkId)]), [["a.go", ["h2"]]]);
  assert.equal(applied?.section, "applied");
  assert.deepEqual(applied?.children.flatMap((c) => (c.kind === "proposal" ? c.children : [])).map((f) => f.children.map((h) => h.hunkId)), [["h1"]]);
  assert.deepEqual(panel(state({})), []);
});

test("a change is called by its first line that is new", () => {
  const label = (h: Hunk, more: Partial<ProposalFile> = {}) => {
    const [s] = panel(state({ open: [proposal("p", [file("a.go", [h], more)])] }));
    const f = s?.children[0] as FileNode;
    return [f.children[0]?.label, f.children[0]?.icon];
  };
  assert.deepEqual(label(hunk("h", "if a {\n\tb()\n", "if a {\n\n\tc()\n")), ["c()", "modified"]);
  assert.deepEqual(label(hunk("h", "", "\n  x\n")), ["x", "added"]);
  assert.deepEqual(label(hunk("h", "gone\n", "")), ["gone", "removed"]);
  assert.deepEqual(label(hunk("h", "\n\n", "\n")), ["(blank lines)", "modified"]);
  assert.deepEqual(label(hunk("h", "x\n", "y\n", { state: "conflict" })), ["y", "conflict"]);
  assert.deepEqual(label(hunk("h", "all\n", "", { whole: true }), { op: "delete" }), ["Delete the file", "file"]);
  assert.deepEqual(label(hunk("h", "", "", { whole: true }), { op: "rename", newUri: "file:///w/b%20c.go" }), ["Rename to b c.go", "file"]);
});

test("files say what happens to them and what is new", () => {
  const p = proposal("p1", [file("a.go", [hunk("h1", "", "x\n", { whole: true })], { op: "create" }), file("b.go", [hunk("h2", "x\n", "y\n", { state: "conflict" }), hunk("h3", "", "z\n")])]);
  const [s] = panel(state({ open: [p], news: (_, h) => (h.hunkId === "h3" ? "changed" : undefined) }));
  assert.deepEqual((s?.children as FileNode[]).map((f) => f.notes), [["new file"], ["conflict", "changed"]]);
  assert.equal(countsText({ added: 0, removed: 3 }), "−3");
  assert.equal(countsText({ added: 0, removed: 0 }), "");
});

test("only what changed is drawn anew, and nodes stay who they are", () => {
  const make = (h2: Partial<Hunk>, more: Hunk[] = []) =>
    panel(state({ open: [proposal("p1", [file("a.go", [hunk("h1", "x\n", "y\n"), hunk("h2", "x\n", "y\n", h2), ...more]), file("b.go", [hunk("h3", "", "z\n")])])] }));
  const old = make({});
  const node = old[0]?.children[0] as FileNode;
  const ids = (changed: "all" | Parameters<typeof idOf>[0][]) => (changed === "all" ? changed : changed.map(idOf));
  assert.deepEqual(ids(reconcile(old, make({})).changed), []);
  const moved = reconcile(old, make({ range: { start: { line: 9, character: 0 }, end: { line: 10, character: 0 } } }));
  assert.deepEqual(ids(moved.changed), ["review p1 a.go h2"]);
  assert.equal(moved.roots[0]?.children[0], node);
  assert.equal(node.children[1]?.line, 9);
  const grown = reconcile(old, make({}, [hunk("h4", "", "w\n")]));
  assert.deepEqual(ids(grown.changed), ["review", "review p1 a.go"], "the sum of the section and the file");
  assert.equal(node.children.length, 3);
  assert.equal(ids(reconcile(old, []).changed), "all");
});
