import assert from "node:assert/strict";
import { test } from "node:test";
import { removedWords } from "../src/review/words";

test("words that change are marked", () => {
  const cases: [a: string, b: string, want: string[]][] = [
    ["return words[:n]\n", "return words[:min(n, len(words))]\n", []],
    ["a long line with one word\n", "a long line with two words\n", ["one word"]],
    ["for x in list:\n", "for y in list:\n", ["x"]],
    ["same\n", "same\n", []],
    ["nothing in common here\n", "0\n", []],
    ["", "new\n", []],
  ];
  for (const [a, b, want] of cases) {
    const got = removedWords(a, b).map((s) => a.slice(s.from, s.to));
    assert.deepEqual(got, want, JSON.stringify([a, b]));
  }
});

test("long texts are not compared word by word", () => {
  const long = Array.from({ length: 3000 }, (_, i) => `w${i}`).join(" ");
  const start = performance.now();
  assert.deepEqual(removedWords(long, long.replaceAll("w", "v")), []);
  assert.ok(performance.now() - start < 1000);
});
