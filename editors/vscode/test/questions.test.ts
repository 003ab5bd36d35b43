import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApproveParams } from "../src/ext";
import { chosenLabel, QuestionStore, type QuestionChange } from "../src/questions";

const approve = (callId: string): ApproveParams => ({
  sessionId: "s",
  turnId: "t",
  callId,
  subject: { type: "command" },
  title: "go test",
  detail: "",
  options: [
    { optionId: "once", label: "Run once", kind: "once" },
    { optionId: "reject", label: "Reject", kind: "reject" },
  ],
});

function watched(): { store: QuestionStore; seen: string[] } {
  const store = new QuestionStore();
  const seen: string[] = [];
  store.onDidChange((c: QuestionChange) =>
    seen.push(c.type === "asked" ? `asked ${c.question.id}` : `closed ${c.question.id}: ${chosenLabel(c.question, c.answer)}`),
  );
  return { store, seen };
}

test("the first answer counts, and everybody hears of it once", async () => {
  const { store, seen } = watched();
  const answered = store.approve(approve("c"));
  assert.deepEqual(store.open.map((q) => q.title), ["go test"]);
  assert.equal(store.answer("approve:c", { optionId: "nothing" }), false);
  assert.equal(store.answer("approve:c", { optionId: "reject", text: "not now" }), true);
  assert.equal(store.answer("approve:c", { optionId: "once" }), false);
  assert.deepEqual(await answered, { optionId: "reject", text: "not now" });
  assert.deepEqual(store.open, []);
  assert.deepEqual(seen, ["asked approve:c", "closed approve:c: Reject: not now"]);
});

test("a question that is withdrawn has no answer", async () => {
  const { store, seen } = watched();
  const a = store.approve(approve("c"));
  const b = store.ask({ sessionId: "s", question: "Which?", options: ["left", { label: "right" }] });
  store.withdraw("approve:c");
  assert.equal(await a, undefined);
  store.withdrawAll();
  assert.equal(await b, undefined);
  assert.deepEqual(seen.slice(2), ["closed approve:c: Not answered", "closed ask:1: Not answered"]);
});

test("asking the same again closes the earlier question", async () => {
  const { store } = watched();
  const first = store.approve(approve("c"));
  const second = store.approve(approve("c"));
  assert.equal(await first, undefined);
  store.answer("approve:c", { optionId: "once" });
  assert.deepEqual(await second, { optionId: "once" });
});

test("questions of two sessions wait side by side; a free text is an answer", async () => {
  const { store } = watched();
  const one = store.ask({ sessionId: "a", question: "Name?" });
  const two = store.ask({ sessionId: "b", question: "Which?", options: ["x"] });
  assert.deepEqual(store.open.map((q) => [q.sessionId, q.options.length]), [["a", 0], ["b", 1]]);
  store.answer("ask:2", { optionId: "x" });
  store.answer("ask:1", { text: "Ada" });
  assert.deepEqual(await one, { text: "Ada" });
  assert.deepEqual(await two, { optionId: "x" });
});
