import assert from "node:assert/strict";
import { test } from "node:test";
import { statusText, type Situation } from "../src/statustext";

const idle: Situation = { server: "running", problem: "", questions: 0, hunks: 0, working: false, failed: false, signedIn: true };

test("the most urgent state is the one that shows", () => {
  const says = (s: Partial<Situation>) => statusText({ ...idle, ...s });
  assert.deepEqual(says({}), { text: "$(edit) Redline", tooltip: "Redline is idle" });
  assert.equal(says({ server: "missing", problem: "Nowhere.", questions: 1 }).text, "$(error) Redline: no server");
  assert.equal(says({ server: "failed", problem: "Too old." }).tooltip, "Too old.");
  assert.deepEqual(says({ questions: 1, hunks: 3, working: true }), {
    text: "$(question) Redline: waiting for you",
    tooltip: "1 question waits for your answer",
    alarm: "warning",
  });
  assert.equal(says({ hunks: 3, working: true }).text, "$(git-pull-request) Redline: review 3");
  assert.equal(says({ hunks: 1 }).tooltip, "1 change waits for your decision");
  assert.equal(says({ working: true, signedIn: false }).text, "$(loading~spin) Redline: working");
  assert.equal(says({ server: "starting" }).tooltip, "The redline server is starting");
  assert.equal(says({ signedIn: false, failed: true }).text, "$(key) Redline: sign in");
  assert.equal(says({ failed: true }).text, "$(warning) Redline");
});
