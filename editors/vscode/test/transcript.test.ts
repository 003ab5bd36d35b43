import assert from "node:assert/strict";
import { test } from "node:test";
import { lineCount, Transcript, type Change, type Item } from "../src/chat/transcript";
import type { Event, Proposal } from "../src/ext";

function transcript() {
  const changes: Change[] = [];
  const t = new Transcript(
    (c) => changes.push(structuredClone(c)),
    (uri) => uri.replace("file:///ws/", ""),
    () => 1000,
  );
  const apply = (...events: Event[]) => events.forEach((e) => t.apply("t1", e));
  return { t, changes, apply };
}

/** What a webview would have, that only saw the changes. */
function follow(changes: Change[]): Item[] {
  let items: Item[] = [];
  for (const c of changes) {
    if (c.type === "reset") {
      items = [];
    } else if (c.type === "remove") {
      items = items.filter((i) => i.id !== c.id);
    } else if (c.type === "text") {
      const item = items.find((i) => i.id === c.id);
      assert.ok(item && "text" in item);
      item.text += c.text;
    } else {
      const at = items.findIndex((i) => i.id === c.item.id);
      if (at < 0) {
        items.push(structuredClone(c.item));
      } else {
        items[at] = structuredClone(c.item);
      }
    }
  }
  return items;
}

const proposal = (state: Proposal["state"], hunks: ("pending" | "accepted" | "rejected" | "conflict")[]): Proposal => ({
  proposalId: "p1",
  rev: 1,
  sessionId: "s",
  turnId: "t1",
  callIds: [],
  title: "Change a.go",
  state,
  diff: "",
  files: [
    {
      fileId: "f1",
      uri: "file:///ws/dir/a.go",
      op: "edit",
      base: { version: 1, hash: "", eol: "lf", bom: false, encoding: "utf-8" },
      hunks: hunks.map((h, i) => ({
        hunkId: `h${i}`,
        range: { start: { line: i * 10, character: 0 }, end: { line: i * 10 + 1, character: 0 } },
        oldText: "old\n",
        newText: "new\nlines\n",
        state: h,
      })),
    },
  ],
});

test("a turn as the user sees it, and the same from its changes alone", () => {
  const { t, changes, apply } = transcript();
  t.prompt("Fix it", "a.go:3");
  apply(
    { type: "turn/started" },
    { type: "message/user", messageId: "m0", text: "Fix it" },
    { type: "thought/delta", messageId: "m1", text: "Let me ", subject: "Looking" },
    { type: "thought/delta", messageId: "m1", text: "see." },
    { type: "message/delta", messageId: "m1", text: "I " },
    { type: "message/delta", messageId: "m1", text: "look." },
    { type: "tool/updated", callId: "c1", name: "read_file", title: "a.go", kind: "read", status: "running", locations: [{ uri: "file:///ws/a.go", line: 4 }] },
    { type: "tool/output", callId: "c1", text: "x" },
    { type: "tool/updated", callId: "c1", name: "read_file", title: "a.go", kind: "read", status: "completed", output: "package a" },
    { type: "message/delta", messageId: "m2", text: "Done." },
    { type: "turn/ended", status: "completed" },
  );
  assert.deepEqual(
    t.items.map((i) => [i.kind, "text" in i ? i.text : "title" in i ? i.title : ""]),
    [
      ["user", "Fix it"],
      ["thought", "**Looking**\n\nLet me see."],
      ["answer", "I look."],
      ["tool", "a.go"],
      ["answer", "Done."],
    ],
  );
  assert.ok(t.items.every((i) => !("live" in i) || !i.live), "nothing streams any more");
  assert.equal(t.turn, undefined);
  assert.deepEqual(follow(changes), t.items);
});

test("the end of a turn says what to do", () => {
  for (const [e, level, text, action] of [
    [{ type: "turn/ended", status: "failed", error: { kind: "auth", message: "GEMINI_API_KEY environment variable not found." } }, "error", "GEMINI_API_KEY environment variable not found.", "key"],
    [{ type: "turn/ended", status: "failed", error: "boom" }, "error", "boom", undefined],
    [{ type: "turn/ended", status: "failed" }, "error", "The turn failed.", undefined],
    [{ type: "turn/ended", status: "cancelled" }, "info", "Stopped.", undefined],
  ] as const) {
    const { t, apply } = transcript();
    apply({ type: "turn/started" }, e);
    const item = t.items.at(-1);
    assert.ok(item?.kind === "notice");
    assert.deepEqual([item.level, item.text, item.action], [level, text, action]);
  }
});

test("a retry shows until something else happens", () => {
  const { t, changes, apply } = transcript();
  apply({ type: "turn/started" }, { type: "retry", attempt: 1, delayMs: 5000, reason: "429" });
  assert.deepEqual(t.items.at(-1), { kind: "retry", id: "retry:1", attempt: 1, until: 6000, reason: "429" });
  apply({ type: "retry", attempt: 2, delayMs: 9000, reason: "429" });
  assert.equal(t.items.length, 1);
  apply({ type: "message/delta", messageId: "m", text: "Hello" });
  assert.deepEqual(t.items.map((i) => i.kind), ["answer"]);
  assert.deepEqual(follow(changes), t.items);
});

test("a proposal counts what is open, and in the end what came of it", () => {
  const { t, apply } = transcript();
  apply({ type: "proposal/updated", proposal: proposal("open", ["pending", "accepted", "rejected"]) });
  const open = t.items[0];
  assert.ok(open?.kind === "proposal");
  assert.deepEqual([open.added, open.removed, open.pending], [2, 1, 1]);
  assert.deepEqual([open.files[0]?.name, open.files[0]?.dir, open.files[0]?.accepted], ["a.go", "dir", 1]);
  apply({ type: "proposal/updated", proposal: proposal("conflict", ["accepted", "accepted", "conflict"]) });
  const closed = t.items[0];
  assert.ok(closed?.kind === "proposal" && t.items.length === 1);
  assert.deepEqual([closed.added, closed.removed, closed.pending, closed.files[0]?.conflict], [4, 2, 0, 1]);
});

test("prompts into a running turn, and prompts from elsewhere", () => {
  const { t, apply } = transcript();
  t.prompt("one", undefined);
  t.prompt("two", undefined);
  apply({ type: "message/user", messageId: "m1", text: "one" }, { type: "message/user", messageId: "m2", text: "two" });
  assert.equal(t.items.length, 2);
  apply({ type: "message/user", messageId: "m3", text: "from a code action" });
  assert.equal(t.items.length, 3);
});

test("a lost server ends what was running", () => {
  const { t, apply } = transcript();
  apply({ type: "turn/started" }, { type: "message/delta", messageId: "m", text: "Half" });
  apply({ type: "proposal/updated", proposal: proposal("open", ["pending"]) }, { type: "retry", attempt: 1, delayMs: 1, reason: "" });
  t.lost("gone");
  assert.deepEqual(t.items.map((i) => i.kind), ["answer", "proposal", "notice"]);
  assert.ok(t.items[1]?.kind === "proposal" && t.items[1].state === "withdrawn");
  assert.equal(t.turn, undefined);
});

test("lines are counted with and without a last line end", () => {
  for (const [text, want] of [["", 0], ["a", 1], ["a\n", 1], ["a\nb", 2], ["a\r\nb\r\n", 2], ["\n", 1]] as const) {
    assert.equal(lineCount(text), want, JSON.stringify(text));
  }
});
