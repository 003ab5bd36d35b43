import assert from "node:assert/strict";
import { test } from "node:test";
import { imageProblem, limits } from "../src/chat/attachment";
import { fileOf, languageOf, withoutName } from "../src/chat/codeblock";
import { best, fit, mention, PromptHistory, trigger } from "../src/chat/completion";
import { PromptQueue } from "../src/chat/queue";
import { plain } from "../src/chat/terminaltext";
import { age, dollars, findSessions, sessionDetail, tokens, usageWords } from "../src/chat/words";
import type { SessionInfo } from "../src/ext";

test("what is typed asks for completions where it should", () => {
  const at = (text: string) => {
    const caret = text.indexOf("|");
    const t = trigger(text.replace("|", ""), caret);
    return t && `${t.kind}${t.query} ${t.start}`;
  };
  assert.equal(at("@|"), "@ 0");
  assert.equal(at("look at @src/ma|in"), "@src/ma 8");
  assert.equal(at("(@a|)"), "@a 1");
  assert.equal(at("see @my\\ file|"), "@my file 4");
  assert.equal(at("mail a@b|"), undefined);
  assert.equal(at("@a b|"), undefined);
  assert.equal(at("/com|"), "/com 0");
  assert.equal(at("  /git:pr|"), "/git:pr 2");
  assert.equal(at("a /com|"), undefined);
  assert.equal(at("/compress now|"), undefined);
});

test("the best candidate is first", () => {
  const files = ["lsp/server.go", "cmd/serve.go", "agent/session.go", "docs/server.md", "README.md"];
  assert.deepEqual(best("server", files, (f) => f, 2), ["lsp/server.go", "docs/server.md"]);
  assert.deepEqual(best("ls/se", files, (f) => f, 1), ["lsp/server.go"]);
  assert.deepEqual(best("readme.md", files, (f) => f, 1), ["README.md"]);
  assert.deepEqual(best("", files, (f) => f, 2), files.slice(0, 2));
  assert.deepEqual(best("zzz", files, (f) => f, 2), []);
  assert.ok(fit("sg", "session.go") > 0);
  assert.equal(mention("my file.txt"), "@my\\ file.txt");
});

test("earlier prompts come back, and so does what was being typed", () => {
  const h = new PromptHistory([], 3);
  assert.equal(h.step("older", "x"), undefined);
  for (const p of ["a", "b", "c", "b", "d"]) {
    h.add(p);
  }
  assert.deepEqual(h.all, ["c", "b", "d"]);
  assert.equal(h.step("newer", "typed"), undefined);
  assert.deepEqual([h.step("older", "typed"), h.step("older", "d"), h.step("older", "b"), h.step("older", "c")], ["d", "b", "c", undefined]);
  assert.deepEqual([h.step("newer", "c"), h.step("newer", "b"), h.step("newer", "d")], ["b", "d", "typed"]);
});

test("pictures that cannot go along are refused in words", () => {
  const ok = { name: "a.png", type: "image/png", size: 1000 };
  assert.equal(imageProblem(ok, 0), undefined);
  assert.match(imageProblem({ ...ok, type: "image/gif" }, 0) ?? "", /a\.png is of type image\/gif: pictures must be PNG/);
  assert.match(imageProblem({ name: "", type: "", size: 1 }, 0) ?? "", /The picture is no picture/);
  assert.match(imageProblem({ ...ok, size: limits.image + (1 << 19) }, 0) ?? "", /has 5\.5 MB; a picture may have 5 MB/);
  assert.match(imageProblem({ ...ok, size: limits.image }, limits.all - 10) ?? "", /may have 12 MB together/);
});

test("a code block says what file it is for", () => {
  for (const [info, text, want] of [
    ["go", "x", ""],
    ["go:src/a.go", "x", "src/a.go"],
    ["go:src/a.go:12-20", "x", "src/a.go"],
    ["ts title=\"src/b.ts\"", "x", "src/b.ts"],
    ["js ./lib/c.js", "x", "lib/c.js"],
    ["Makefile", "x", ""],
    ["main.go", "x", "main.go"],
    ["go", "// cmd/main.go\npackage main\n", "cmd/main.go"],
    ["py", "# tools/x.py\nimport os\n", "tools/x.py"],
    ["go", "// It adds numbers.\nfunc add() {}\n", ""],
    ["go", "// TODO\n", ""],
    ["html", "<!-- index.html -->\n<p>", "index.html"],
    ["c++", "x", ""],
  ] as const) {
    assert.equal(fileOf(info, text), want, `${info} / ${text}`);
  }
  assert.equal(languageOf("go:src/a.go"), "go");
  assert.equal(withoutName("go", "// cmd/main.go\npackage main\n"), "package main\n");
  assert.equal(withoutName("go:cmd/main.go", "// cmd/main.go\npackage main\n"), "package main\n");
  assert.equal(withoutName("go", "// hello\nx\n"), "// hello\nx\n");
});

test("terminal output is plain text", () => {
  assert.equal(plain("\x1b]633;C\x07\x1b[31mred\x1b[0m\r\n10%\r20%\r100%\r\ndone\x1b[K\r\n"), "red\n100%\ndone");
});

const session = (title: string, updatedAt: string, more: Partial<SessionInfo> = {}): SessionInfo => ({
  sessionId: title, title, folders: [], mode: "default", model: "gemini-2.5-pro", createdAt: updatedAt, updatedAt, turns: 2, lastSeq: 1, ...more,
});

test("sessions are found and told by title, time and state", () => {
  const now = Date.parse("2026-11-21T12:00:00Z");
  const all = [session("Fix the parser", "2026-11-20T11:00:00Z"), session("Add a parser test", "2026-11-21T11:30:00Z", { mode: "plan", running: true, turns: 1 })];
  assert.deepEqual(findSessions(all, "").map((s) => s.title), ["Add a parser test", "Fix the parser"]);
  assert.deepEqual(findSessions(all, "PARSER fix").map((s) => s.title), ["Fix the parser"]);
  assert.equal(sessionDetail(all[0] as SessionInfo, now), "1 d · 2 prompts");
  assert.equal(sessionDetail(all[1] as SessionInfo, now), "working · 30 min · 1 prompt · Plan");
  assert.deepEqual([age("2026-11-21T12:00:00Z", now), age("2026-11-21T09:00:00Z", now), age("2025-01-02T00:00:00Z", now), age("?", now)], ["now", "3 h", "2025-01-02", ""]);
});

test("usage is told in short and in full", () => {
  assert.deepEqual([tokens(999), tokens(1500), tokens(34_000), tokens(120_000), tokens(1_048_576)], ["999", "1.5k", "34k", "120k", "1.0M"]);
  assert.deepEqual([dollars(0), dollars(0.001), dollars(1.234)], ["$0", "< $0.01", "$1.23"]);
  assert.deepEqual(usageWords(undefined), { short: "", long: "" });
  const u = { inputTokens: 5000, outputTokens: 100, totalTokens: 5100, requests: 1, contextTokens: 5000, contextWindow: 100_000, models: [], costUsd: 0.02 };
  assert.equal(usageWords(u).short, "5% · $0.02");
  assert.match(usageWords(u).long, /fills 5%.*5k of 100k.*5k tokens in, 100 out, in 1 request\. About \$0\.02/);
});

test("queued prompts go out when a turn completes, and wait when it did not", async () => {
  const sent: string[] = [];
  let changes = 0;
  const q = new PromptQueue(async (p) => void sent.push(p.text), () => changes++);
  q.add("one", [], "", true);
  q.add("two", [], "", true);
  q.add("three", [], "", true);
  q.ended("completed");
  assert.deepEqual(sent, ["one"]);
  q.ended("cancelled");
  assert.deepEqual([sent.length, q.waits, q.all.length], [1, true, 2]);
  assert.equal(q.take(q.all[0]?.id ?? "")?.text, "two");
  assert.equal(q.take("none"), undefined);
  await q.next();
  assert.deepEqual([sent, q.waits, q.all.length], [["one", "three"], false, 0]);
  q.ended("completed");
  assert.equal(sent.length, 2);
  assert.ok(changes > 5);
});
