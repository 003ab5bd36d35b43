import type { Hunk, Position, Range } from "../ext";

/**
 * Where hunks stand while the user types, and what a text would be with them in.
 * Pure: no editor, so that it is tested by itself. Positions are 0-based lines and
 * UTF-16 units, as the editor has them.
 */

/** One edit of a document, without its text: that is all that moving ranges needs. */
export interface Shift {
  start: Position;
  end: Position;
  /** Line ends in the inserted text. */
  lines: number;
  /** UTF-16 units behind the last line end of the inserted text. */
  tail: number;
}

export function shiftOf(range: Range, text: string): Shift {
  const ends = [...text.matchAll(/\r\n|\r|\n/g)];
  const last = ends.at(-1);
  return {
    start: range.start,
    end: range.end,
    lines: ends.length,
    tail: last ? text.length - (last.index + last[0].length) : text.length,
  };
}

export function before(a: Position, b: Position): boolean {
  return a.line < b.line || (a.line === b.line && a.character < b.character);
}

/** Where p is after the edit s; a position inside the replaced text goes to its end. */
export function movePosition(p: Position, s: Shift): Position {
  if (before(p, s.start)) {
    return p;
  }
  const end = { line: s.start.line + s.lines, character: s.lines === 0 ? s.start.character + s.tail : s.tail };
  if (before(p, s.end)) {
    return end;
  }
  return {
    line: end.line + (p.line - s.end.line),
    character: p.line === s.end.line ? end.character + (p.character - s.end.character) : p.character,
  };
}

/**
 * Where the whole lines of r are after the edit s. What is typed at its very start
 * is in front of it only if it is whole lines, and what is typed at its end is behind.
 */
export function moveRange(r: Range, s: Shift): Range {
  const empty = !before(r.start, r.end);
  if (!before(s.start, r.end) && !(empty && samePosition(s.start, r.end))) {
    return r; // behind
  }
  const atStart = samePosition(s.start, r.start) && samePosition(s.end, r.start);
  if (atStart && s.tail !== 0) {
    // Typed into the first line: the range grows, and its text no longer is what it was.
    return { start: r.start, end: empty ? r.start : movePosition(r.end, s) };
  }
  const start = movePosition(r.start, s);
  return { start, end: empty ? start : movePosition(r.end, s) };
}

function samePosition(a: Position, b: Position): boolean {
  return a.line === b.line && a.character === b.character;
}

/** A document's recent edits by version, so that ranges of an older version can be moved to now. */
export class ShiftLog {
  private readonly entries: { version: number; shifts: Shift[] }[] = [];

  /** Edits of one version, as the editor reports them: all on the text before, none overlapping. */
  add(version: number, shifts: Shift[]): void {
    // Later ones first: then each finds the positions in front of it unmoved.
    const sorted = [...shifts].sort((a, b) => (before(a.start, b.start) ? 1 : -1));
    this.entries.push({ version, shifts: sorted });
    if (this.entries.length > 512) {
      this.entries.shift();
    }
  }

  /** Moves r from version to the newest one. */
  move(r: Range, version: number): Range {
    for (const e of this.entries) {
      if (e.version > version) {
        r = e.shifts.reduce(moveRange, r);
      }
    }
    return r;
  }
}

/** Offsets of the starts of the lines of text, in UTF-16 units. */
export function lineStarts(text: string): number[] {
  const starts = [0];
  for (const m of text.matchAll(/\r\n|\r|\n/g)) {
    starts.push(m.index + m[0].length);
  }
  return starts;
}

function offsetAt(p: Position, starts: number[], length: number): number {
  const start = starts[p.line];
  if (start === undefined) {
    return length;
  }
  return Math.min(start + p.character, starts[p.line + 1] ?? length, length);
}

/** The part of text in r. */
export function slice(text: string, r: Range): string {
  const starts = lineStarts(text);
  return text.slice(offsetAt(r.start, starts, text.length), offsetAt(r.end, starts, text.length));
}

/**
 * text with the given hunks in it. One that no longer fits, because its lines are
 * not what it replaces or another one already changed them, is left out.
 */
export function proposedText(text: string, hunks: { range: Range; oldText: string; newText: string }[]): string {
  const starts = lineStarts(text);
  const crlf = text.includes("\r\n");
  const placed = hunks
    .map((h) => ({
      from: offsetAt(h.range.start, starts, text.length),
      to: offsetAt(h.range.end, starts, text.length),
      h,
    }))
    .filter((x) => sameText(text.slice(x.from, x.to), x.h.oldText))
    .sort((a, b) => a.from - b.from || a.to - b.to);
  let out = "";
  let at = 0;
  for (const { from, to, h } of placed) {
    if (from < at) {
      continue;
    }
    // Where the last line has no line end, text that goes behind it needs one first.
    const joint = from === to && from === text.length && from > 0 && !/[\r\n]$/.test(text) ? (crlf ? "\r\n" : "\n") : "";
    out += text.slice(at, from) + joint + h.newText;
    at = to;
  }
  return out + text.slice(at);
}

/** Equal but for the kind of line ends: the editor shows a document with one kind only. */
export function sameText(a: string, b: string): boolean {
  return a === b || a.replace(/\r\n?/g, "\n") === b.replace(/\r\n?/g, "\n");
}

/** Lines [first, last] that r covers; undefined when it covers none, as an insertion. */
export function lines(r: Range): { first: number; last: number } | undefined {
  if (!before(r.start, r.end)) {
    return undefined;
  }
  const last = r.end.character === 0 ? r.end.line - 1 : r.end.line;
  return { first: r.start.line, last: Math.max(r.start.line, last) };
}

/** The index of the hunk to go to from a line; undefined when there are none. Goes round. */
export function neighbour(hunks: { range: Range }[], line: number, direction: 1 | -1): number | undefined {
  const order = hunks.map((h, i) => ({ i, line: h.range.start.line })).sort((a, b) => a.line - b.line);
  if (direction === 1) {
    return (order.find((x) => x.line > line) ?? order[0])?.i;
  }
  return (order.findLast((x) => x.line < line) ?? order.at(-1))?.i;
}

/** The hunk a cursor is in or right at; undefined when there is none. */
export function hunkAt<H extends { range: Range }>(hunks: H[], line: number): H | undefined {
  return hunks.find((h) => {
    const l = lines(h.range);
    return l ? l.first <= line && line <= l.last : h.range.start.line === line || h.range.start.line === line + 1;
  });
}

/** True when a decision made on old still means the same on now. */
export function sameChange(old: Hunk, now: Hunk): boolean {
  return old.oldText === now.oldText && old.newText === now.newText && old.state === now.state;
}

/**
 * The whole lines of text that are lines, at the place nearest to line; undefined when
 * they are not there.
 */
export function find(text: string, wanted: string, line: number): Range | undefined {
  const rows = text.replace(/\r\n?/g, "\n").split("\n");
  const want = wanted.replace(/\r\n?/g, "\n");
  const open = !want.endsWith("\n"); // then its last line is the last of the text
  const lines = (open ? want : want.slice(0, -1)).split("\n");
  const fits = (at: number) => lines.every((l, i) => rows[at + i] === l) && (!open || at + lines.length === rows.length);
  const last = rows.length - lines.length;
  for (let d = 0; d <= Math.max(line, last - line); d++) {
    for (const at of d === 0 ? [line] : [line - d, line + d]) {
      if (at >= 0 && at <= last && fits(at)) {
        const end = at + lines.length;
        return {
          start: { line: at, character: 0 },
          end: open ? { line: end - 1, character: rows[end - 1]?.length ?? 0 } : { line: end, character: 0 },
        };
      }
    }
  }
  return undefined;
}
