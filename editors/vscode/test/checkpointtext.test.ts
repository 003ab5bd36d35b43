import assert from "node:assert/strict";
import { test } from "node:test";
import { ago, edited, filesBack } from "../src/checkpointtext";

const range = (a: number, b: number, c: number, d: number) => ({ start: { line: a, character: b }, end: { line: c, character: d } });

test("a way back is files with edits, creations, deletions and new names", () => {
  const edits = [{ range: range(0, 0, 1, 0), newText: "x\n" }];
  const files = filesBack({
    documentChanges: [
      { textDocument: { uri: "file:///a" }, edits },
      { kind: "create", uri: "file:///b" },
      { textDocument: { uri: "file:///b" }, edits },
      { kind: "delete", uri: "file:///c" },
      { kind: "rename", oldUri: "file:///d", newUri: "file:///e" },
      { textDocument: { uri: "file:///e" }, edits },
    ],
  });
  assert.deepEqual(files, [
    { from: "file:///a", to: "file:///a", edits },
    { from: undefined, to: "file:///b", edits },
    { from: "file:///c", to: undefined, edits: [] },
    { from: "file:///d", to: "file:///e", edits },
  ]);
  assert.deepEqual(filesBack(undefined), []);
});

test("edits refer to the text before all of them", () => {
  const text = "one\r\ntwo\r\nthree";
  assert.equal(edited(text, [{ range: range(2, 0, 2, 5), newText: "3" }, { range: range(0, 0, 1, 0), newText: "" }]), "two\r\n3");
  assert.equal(edited(text, [{ range: range(1, 0, 1, 0), newText: "a\r\n" }, { range: range(1, 0, 1, 0), newText: "b\r\n" }]), "one\r\na\r\nb\r\ntwo\r\nthree");
  assert.equal(edited("", [{ range: range(0, 0, 0, 0), newText: "all\n" }]), "all\n");
  assert.equal(edited(text, [{ range: range(9, 0, 9, 0), newText: "!" }]), `${text}!`, "behind the end is the end");
});

test("times are put in words", () => {
  const now = 1e12;
  const cases: [number, string][] = [[0, "just now"], [59_000, "just now"], [60_000, "1 min ago"], [3_599_000, "59 min ago"], [3_600_000, "1 h ago"], [86_400_000, "yesterday"], [3 * 86_400_000, "3 days ago"], [-5000, "just now"]];
  for (const [before, want] of cases) {
    assert.equal(ago(now - before, now), want);
  }
});
