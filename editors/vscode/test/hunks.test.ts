import assert from "node:assert/strict";
import { test } from "node:test";
import type { Range } from "../src/ext";
import { find, hunkAt, lines, lineStarts, movePosition, moveRange, neighbour, proposedText, ShiftLog, shiftOf, slice } from "../src/review/hunks";

const range = (a: number, b: number, c: number, d: number): Range => ({
  start: { line: a, character: b },
  end: { line: c, character: d },
});

/** A small generator, so that a failure can be run again. */
function random(seed: number): (n: number) => number {
  return (n) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((seed / 2 ** 32) * n);
  };
}

function splice(text: string, r: Range, by: string): string {
  const starts = lineStarts(text);
  const at = (p: { line: number; character: number }) => (starts[p.line] ?? text.length) + p.character;
  return text.slice(0, at(r.start)) + by + text.slice(at(r.end));
}

test("ranges move with edits in front of, behind and inside them", () => {
  const cases: [name: string, r: Range, edit: Range, text: string, want: Range][] = [
    ["lines inserted above", range(5, 0, 7, 0), range(2, 0, 2, 0), "a\nb\n", range(7, 0, 9, 0)],
    ["CRLF counts once", range(5, 0, 7, 0), range(2, 0, 2, 0), "a\r\nb\r\n", range(7, 0, 9, 0)],
    ["typed in the line above", range(5, 0, 7, 0), range(4, 3, 4, 3), "xyz", range(5, 0, 7, 0)],
    ["lines removed above", range(5, 0, 7, 0), range(1, 0, 3, 0), "", range(3, 0, 5, 0)],
    ["typed below", range(5, 0, 7, 0), range(7, 0, 7, 0), "x\n", range(5, 0, 7, 0)],
    ["line inserted right above", range(5, 0, 7, 0), range(5, 0, 5, 0), "x\n", range(6, 0, 8, 0)],
    ["enter at the end of the line above", range(5, 0, 7, 0), range(4, 9, 4, 9), "\n", range(6, 0, 8, 0)],
    ["typed at the start of the first line", range(5, 0, 7, 0), range(5, 0, 5, 0), "x", range(5, 0, 7, 0)],
    ["line inserted inside", range(5, 0, 7, 0), range(6, 0, 6, 0), "x\n", range(5, 0, 8, 0)],
    ["insertion point moves down", range(5, 0, 5, 0), range(1, 0, 1, 0), "x\n", range(6, 0, 6, 0)],
    ["line inserted at the insertion point", range(5, 0, 5, 0), range(5, 0, 5, 0), "x\n", range(6, 0, 6, 0)],
    ["typed behind the insertion point", range(5, 0, 5, 0), range(5, 2, 5, 2), "x\n", range(5, 0, 5, 0)],
  ];
  for (const [name, r, edit, text, want] of cases) {
    assert.deepEqual(moveRange(r, shiftOf(edit, text)), want, name);
  }
});

test("a range keeps its text through any edit outside of its lines", () => {
  const next = random(7);
  for (let round = 0; round < 3000; round++) {
    const count = 3 + next(12);
    let text = Array.from({ length: count }, (_, i) => `line ${i} ${"x".repeat(next(4))}\n`).join("");
    const first = next(count);
    const last = Math.min(count, first + 1 + next(3));
    let r = range(first, 0, last, 0);
    const old = slice(text, r);
    for (let k = 0; k < 4; k++) {
      const starts = lineStarts(text);
      const line = next(starts.length - 1);
      const inside = line >= r.start.line && line < r.end.line;
      if (inside) {
        continue;
      }
      const length = (starts[line + 1] as number) - (starts[line] as number) - 1;
      const from = next(length + 1);
      const edit = range(line, from, line, from + next(length - from + 1));
      const by = ["", "y", "a\nb", "\n", "one\ntwo\n"][next(5)] as string;
      text = splice(text, edit, by);
      r = moveRange(r, shiftOf(edit, by));
      assert.equal(slice(text, r), old, `round ${round}`);
    }
  }
});

test("a position inside replaced text goes to its end", () => {
  assert.deepEqual(movePosition({ line: 2, character: 4 }, shiftOf(range(2, 0, 2, 9), "ab")), { line: 2, character: 2 });
  assert.deepEqual(movePosition({ line: 2, character: 9 }, shiftOf(range(2, 0, 2, 9), "ab\ncd")), { line: 3, character: 2 });
});

test("a log moves ranges of an older version, several edits of one version too", () => {
  const log = new ShiftLog();
  log.add(2, [shiftOf(range(0, 0, 0, 0), "a\n")]);
  log.add(3, [shiftOf(range(1, 0, 1, 0), "b\n"), shiftOf(range(8, 0, 8, 0), "c\nd\n")]);
  assert.deepEqual(log.move(range(10, 0, 11, 0), 1), range(14, 0, 15, 0));
  assert.deepEqual(log.move(range(10, 0, 11, 0), 2), range(13, 0, 14, 0));
  assert.deepEqual(log.move(range(10, 0, 11, 0), 3), range(10, 0, 11, 0));
});

test("the proposed text", () => {
  const h = (r: Range, oldText: string, newText: string) => ({ range: r, oldText, newText });
  const text = "one\ntwo\nthree\nfour\n";
  const cases: [name: string, text: string, hunks: ReturnType<typeof h>[], want: string][] = [
    ["nothing", text, [], text],
    ["replaced", text, [h(range(1, 0, 2, 0), "two\n", "2\nzwei\n")], "one\n2\nzwei\nthree\nfour\n"],
    ["several, in any order", text, [h(range(3, 0, 4, 0), "four\n", "4\n"), h(range(0, 0, 1, 0), "one\n", "")], "two\nthree\n4\n"],
    ["inserted at the start", text, [h(range(0, 0, 0, 0), "", "zero\n")], `zero\n${text}`],
    ["inserted at the end", text, [h(range(4, 0, 4, 0), "", "five\n")], `${text}five\n`],
    ["behind a last line without an end", "one", [h(range(0, 3, 0, 3), "", "two\n")], "one\ntwo\n"],
    ["last line without an end", "one\ntwo", [h(range(1, 0, 1, 3), "two", "2")], "one\n2"],
    ["what does not fit is left out", text, [h(range(1, 0, 2, 0), "changed\n", "x\n"), h(range(2, 0, 3, 0), "three\n", "3\n")], "one\ntwo\n3\nfour\n"],
    ["line ends may differ", "a\r\nb\r\n", [h(range(1, 0, 2, 0), "b\n", "c\r\n")], "a\r\nc\r\n"],
    ["empty file", "", [h(range(0, 0, 0, 0), "", "new\n")], "new\n"],
    ["surrogate pairs", "😀😀\nx\n", [h(range(1, 0, 2, 0), "x\n", "y\n")], "😀😀\ny\n"],
  ];
  for (const [name, base, hunks, want] of cases) {
    assert.equal(proposedText(base, hunks), want, name);
  }
});

test("lines, neighbours, and the hunk at a line", () => {
  assert.deepEqual(lines(range(3, 0, 5, 0)), { first: 3, last: 4 });
  assert.deepEqual(lines(range(3, 0, 3, 7)), { first: 3, last: 3 });
  assert.equal(lines(range(3, 0, 3, 0)), undefined);
  const hunks = [{ range: range(2, 0, 4, 0) }, { range: range(8, 0, 8, 0) }];
  assert.equal(neighbour(hunks, 0, 1), 0);
  assert.equal(neighbour(hunks, 2, 1), 1);
  assert.equal(neighbour(hunks, 9, 1), 0, "round");
  assert.equal(neighbour(hunks, 2, -1), 1, "round");
  assert.equal(neighbour([], 2, 1), undefined);
  assert.equal(hunkAt(hunks, 3), hunks[0]);
  assert.equal(hunkAt(hunks, 4), undefined);
  assert.equal(hunkAt(hunks, 7), hunks[1], "the line in front of an insertion");
});

test("lines that were applied are found again, the nearest first", () => {
  const text = "a\nx\ny\nb\nx\ny\nc";
  assert.deepEqual(find(text, "x\ny\n", 4), range(4, 0, 6, 0));
  assert.deepEqual(find(text, "x\r\ny\r\n", 0), range(1, 0, 3, 0), "whatever their line ends");
  assert.deepEqual(find(text, "y\nc", 0), range(5, 0, 6, 1), "without a line end only at the end");
  assert.equal(find(text, "y\nb", 0), undefined);
  assert.equal(find(text, "z\n", 2), undefined);
  assert.deepEqual(find("x\n", "x\n", 40), range(0, 0, 1, 0), "from behind the end");
});
