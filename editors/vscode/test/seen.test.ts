import assert from "node:assert/strict";
import { test } from "node:test";
import { Seen, signature } from "../src/review/seen";

const hunk = (newText: string, state = "pending", oldText = "old\n") => ({ oldText, newText, state });

test("what is on screen is looked at when it leaves the screen, as it read then", () => {
  const seen = new Seen();
  const a = signature(hunk("a\n"));
  assert.equal(seen.news("h1", a), "new");
  seen.see("file", "h1", a);
  assert.equal(seen.news("h1", a), "new", "it stays marked as long as it is shown");
  assert.equal(seen.leave(new Set(["file"])), false);
  assert.equal(seen.leave(new Set()), true);
  assert.equal(seen.news("h1", a), undefined);
  assert.equal(seen.news("h1", signature(hunk("b\n"))), "changed");
  assert.equal(seen.news("h2", a), "new", "another one of the same text was not seen");
});

test("places are left one by one", () => {
  const seen = new Seen();
  seen.see("one", "h1", "x");
  seen.see("two", "h2", "x");
  seen.leave(new Set(["two"]));
  assert.equal(seen.news("h1", "x"), undefined);
  assert.equal(seen.news("h2", "x"), "new");
});

test("what changes while it is on screen is looked at as it read last", () => {
  const seen = new Seen();
  seen.see("file", "h1", "x");
  seen.see("file", "h1", "y");
  seen.leave(new Set());
  assert.equal(seen.news("h1", "y"), undefined);
  assert.equal(seen.news("h1", "x"), "changed");
});

test("a decision counts as a look, whatever comes of it", () => {
  const seen = new Seen();
  seen.decided("h1");
  seen.see("file", "h1", "x");
  seen.leave(new Set());
  assert.equal(seen.news("h1", "anything"), undefined);
});

test("it outlives the window, and forgets what is gone", () => {
  const seen = new Seen();
  seen.see("file", "h1", "x");
  seen.see("file", "h2", "x");
  seen.leave(new Set());
  const again = new Seen(JSON.parse(JSON.stringify(seen.save())) as [string, string][]);
  again.prune((k) => k === "h1");
  assert.equal(again.news("h1", "x"), undefined);
  assert.equal(again.news("h2", "x"), "new");
});

test("a signature tells texts and conflicts apart, and old from new", () => {
  const all = [hunk("a\n"), hunk("b\n"), hunk("a\n", "conflict"), hunk("", "pending", "old\na\n"), hunk("old\n", "pending", "a\n"), { ...hunk("a\n", "amended"), final: "c\n" }];
  assert.equal(new Set(all.map(signature)).size, all.length);
  assert.equal(signature(hunk("a\n", "accepted")), signature(hunk("a\n")), "being applied changes nothing of what was read");
});
