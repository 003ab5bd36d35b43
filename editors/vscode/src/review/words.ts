/** Differences inside changed lines, for marking words. Pure. */

/** A stretch of a text, in UTF-16 units. */
export interface Stretch {
  from: number;
  to: number;
}

/** Beyond this many cells of the comparison the marks are not worth their time. */
const MAX_CELLS = 250_000;

/**
 * The stretches of a that are not in b, by words; empty when a and b have too
 * little in common for marks to help, or are too long.
 */
export function removedWords(a: string, b: string): Stretch[] {
  const x = tokens(a);
  const y = tokens(b);
  let head = 0;
  while (head < x.length && head < y.length && x[head] === y[head]) {
    head++;
  }
  let tail = 0;
  while (tail < x.length - head && tail < y.length - head && x[x.length - 1 - tail] === y[y.length - 1 - tail]) {
    tail++;
  }
  const n = x.length - head - tail;
  const m = y.length - head - tail;
  if (n === 0 || n * m > MAX_CELLS) {
    return [];
  }
  const kept = common(x.slice(head, head + n), y.slice(head, head + m));
  const marks: Stretch[] = [];
  let at = x.slice(0, head).join("").length;
  let same = at;
  for (let i = 0; i < n; i++) {
    const t = x[head + i] as string;
    if (!kept[i]) {
      const last = marks.at(-1);
      // Marks with nothing but space between them are one.
      if (last && a.slice(last.to, at).trim() === "") {
        last.to = at + t.length;
      } else {
        marks.push({ from: at, to: at + t.length });
      }
    } else {
      same += t.trim().length;
    }
    at += t.length;
  }
  same += x.slice(head + n).join("").length;
  return same * 3 < a.length ? [] : marks;
}

function tokens(s: string): string[] {
  return s.match(/[\p{L}\p{N}_]+|[^\S\r\n]+|\r\n|[\s\S]/gu) ?? [];
}

/** Which of x belong to a longest common subsequence of x and y. */
function common(x: string[], y: string[]): boolean[] {
  const w = y.length + 1;
  const len = new Uint32Array((x.length + 1) * w);
  for (let i = x.length - 1; i >= 0; i--) {
    for (let j = y.length - 1; j >= 0; j--) {
      len[i * w + j] =
        x[i] === y[j]
          ? (len[(i + 1) * w + j + 1] as number) + 1
          : Math.max(len[(i + 1) * w + j] as number, len[i * w + j + 1] as number);
    }
  }
  const kept = new Array<boolean>(x.length).fill(false);
  for (let i = 0, j = 0; i < x.length && j < y.length; ) {
    if (x[i] === y[j]) {
      kept[i++] = true;
      j++;
    } else if ((len[(i + 1) * w + j] as number) >= (len[i * w + j + 1] as number)) {
      i++;
    } else {
      j++;
    }
  }
  return kept;
}
