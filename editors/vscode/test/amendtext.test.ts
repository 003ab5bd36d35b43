import assert from "node:assert/strict";
import { test } from "node:test";
import { amended } from "../src/review/amendtext";

test("an amendment has the line ends of its hunk and ends as it does", () => {
  const cases: [name: string, edited: string, oldText: string, newText: string, want: string][] = [
    ["as it is", "x\n", "a\n", "b\n", "x\n"],
    ["without the last line end", "x", "a\n", "b\n", "x\n"],
    ["CRLF of the proposal", "x\ny\n", "a\r\n", "b\r\n", "x\r\ny\r\n"],
    ["CRLF typed into LF", "x\r\ny", "a\n", "b\n", "x\ny\n"],
    ["CRLF of the lines that go, where nothing comes", "x\n", "a\r\n", "", "x\r\n"],
    ["nothing: the lines are removed", "", "a\n", "b\n", ""],
    ["the end of a file without a line end", "x", "a", "b", "x"],
    ["the same, and the person adds one", "x\n", "a", "b\n", "x\n"],
    ["an insertion", "x", "", "b\n", "x\n"],
    ["a new file without a line end", "x", "", "b", "x"],
    ["lone carriage returns", "x\ny", "a\r", "b\r", "x\ry\r"],
  ];
  for (const [name, edited, oldText, newText, want] of cases) {
    assert.equal(amended(edited, { oldText, newText }), want, name);
  }
});
