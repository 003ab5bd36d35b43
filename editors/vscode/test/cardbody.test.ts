import assert from "node:assert/strict";
import { test } from "node:test";
import MarkdownIt from "markdown-it";
import { cardBody } from "../src/review/cardbody";

const card = (newText: string, fits = true, language = "go", beside = false) =>
  cardBody(
    {
      fits,
      proposal: { proposalId: "p1" },
      file: { op: "edit", fileId: "f1" },
      hunk: { hunkId: "h1", range: { start: { line: 0, character: 0 }, end: { line: 1, character: 0 } }, oldText: "", newText, state: "pending" },
    },
    language,
    4,
    beside,
  );

/** The code blocks of a card, as Markdown has them. */
const code = (text: string) => new MarkdownIt({ html: true }).parse(text, {}).filter((t) => t.type === "fence");

test("the proposed text is one block of code, whatever is in it", () => {
  for (const text of [
    "x := 1\n",
    "```\n[evil](command:evil)\n```\n",
    "`````\n",
    "</table></span>\n\n[x](command:workbench.action.quit)\n",
    "\n\n# not a heading\n\n",
    "<script>alert(1)</script>\n",
  ]) {
    const blocks = code(card(text));
    assert.equal(blocks.length, 1, text);
    const shown = (blocks[0]?.content ?? "").split("\n").map((l) => l.slice(1).trimEnd());
    assert.equal(shown.join("\n").trimEnd(), text.trimEnd(), text);
    const links = [...card(text).replace(blocks[0]?.content ?? "", "").matchAll(/\(command:([\w.]+)/g)].map((m) => m[1]);
    assert.deepEqual(links, ["redline.acceptHunk", "redline.rejectHunk", "redline.amendHunk", "redline.rejectHunkWithReason"], text);
  }
});

test("tabs are as wide as the editor's", () => {
  assert.match(card("\tif x {\n\t\ty\tz\n"), / {5}if x \{ +\n {9}y {3}z/);
});

test("removals and conflicts are put in words", () => {
  assert.equal(code(card("")).length, 0);
  assert.match(card(""), /removed/);
  assert.match(card("x\n", false), /your text stays/);
  assert.doesNotMatch(card("x\n", true, 'go"><b>'), /<b>/, "a strange language id is left out");
});

test("beside a comparison a card has the decisions alone, and a long text is cut", () => {
  assert.equal(code(card("x\n", true, "go", true)).length, 0);
  assert.match(card("x\n", true, "go", true), /redline\.acceptHunk/);
  const long = card("line\n".repeat(100));
  assert.equal(code(long)[0]?.content.match(/line/g)?.length, 60);
  assert.match(long, /40 more lines/);
  assert.doesNotMatch(card("line\n".repeat(60)), /more lines/);
});
