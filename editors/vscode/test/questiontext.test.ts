import assert from "node:assert/strict";
import { test } from "node:test";
import type { Question } from "../src/questions";
import { commandLink, noLinks, questionText } from "../src/questiontext";

const question = (over: Partial<Question>): Question => ({ id: "q", sessionId: "s", title: "", detail: "", options: [], ...over }) as Question;

test("a command is quoted in one line, with the reason it is asked for", () => {
  const q = question({ subject: { type: "command", command: "go test\n  ./x" }, title: "Run go test", detail: "In /w.\n\nAsked because no rule allows `go test`." });
  assert.deepEqual(questionText(q), { text: "Run this command? go test ./x: Asked because no rule allows `go test`.", whole: true });
  assert.equal(questionText(question({ subject: { type: "command", command: "ls" }, detail: "" })).text, "Run this command? ls");
});

test("what is no command is its title and detail without the marks of code", () => {
  const q = question({ subject: { type: "network" }, title: "Fetch `example.org`?", detail: "```\nhttps://example.org/\n```\nonce" });
  assert.deepEqual(questionText(q), { text: "Fetch example.org? https://example.org/ once", whole: true });
  assert.equal(questionText(question({ title: "May it?", detail: "" })).text, "May it?");
  assert.equal(questionText(question({ title: "Read secrets", detail: "A file." })).text, "Read secrets: A file.");
  const web = question({ kind: "approve", subject: { type: "network" }, title: "https://a.example/", detail: "Reads from the web:\n\nhttps://a.example/" });
  assert.equal(questionText(web).text, "Allow this? Reads from the web: https://a.example/");
  assert.equal(questionText(question({ kind: "approve", title: "read_file .env", detail: "`.env` may hold secrets." })).text, "Allow this? read_file .env: .env may hold secrets.");
});

test("a question that does not fit says so, and shows its beginning", () => {
  const { text, whole } = questionText(question({ subject: { type: "command", command: "x".repeat(500) }, detail: "" }));
  assert.equal(whole, false);
  assert.equal(text.length, 401);
  assert.ok(text.startsWith("Run this command? xxx") && text.endsWith("…"));
  // The end of a long command is not hidden behind a short question.
  assert.equal(questionText(question({ subject: { type: "command", command: "x".repeat(380) }, detail: "" })).whole, true);
});

test("the words of a model make no links; ours do, whatever they are given", () => {
  assert.equal(noLinks("[yes](command:redline.acceptAll)").includes("]("), false);
  const link = commandLink("Run [it]", "redline.answer", ["a'(b)", { c: "]" }]);
  const m = /^\[([^\]]*)\]\(command:redline\.answer\?([^)'(]*)\)$/.exec(link);
  assert.ok(m, link);
  assert.equal(m[1], "Run (it)");
  assert.deepEqual(JSON.parse(decodeURIComponent(m[2] ?? "")), ["a'(b)", { c: "]" }]);
});
