/**
 * What is completed in the prompt, and how well a candidate fits. Nothing of the editor
 * and nothing of the page is used, so that both sides and the unit tests share it.
 */

/** What is being typed: "@" names something to look at, "/" a command. */
export interface Trigger {
  kind: "@" | "/";
  query: string;
  /** Where the sign stands in the text, in UTF-16 units. */
  start: number;
}

/** What a choice does: puts a text in place of what was typed, or attaches something. */
export interface Completion {
  /** What is shown and read out. */
  label: string;
  detail: string;
  icon: string;
  /** Text that replaces the sign and the query. */
  insert: string;
  /** What the extension is asked to attach. */
  attach?: AttachRequest;
}

export type AttachRequest =
  | { what: "selection" | "problems" | "terminal" | "terminalSelection" }
  | { what: "file"; uri: string }
  | { what: "symbol"; uri: string; name: string; line: number; endLine: number };

/** The trigger that the caret stands in, if any: an "@" that begins a word, or a "/" that begins the prompt. */
export function trigger(text: string, caret: number): Trigger | undefined {
  const before = text.slice(0, caret);
  const command = /^\s*\/([\w:.-]*)$/.exec(before);
  if (command) {
    return { kind: "/", query: command[1] ?? "", start: before.indexOf("/") };
  }
  const mention = /(?:^|[\s([{"'`])@((?:\\ |[^\s"'`@])*)$/.exec(before);
  if (mention) {
    const query = mention[1] ?? "";
    return { kind: "@", query: query.replaceAll("\\ ", " "), start: caret - query.length - 1 };
  }
  return undefined;
}

/**
 * How well a query fits a text: higher is better, 0 is not at all. Its signs must all
 * be there in order; starts of words, and signs that stand together, count more.
 */
export function fit(query: string, text: string): number {
  if (query === "") {
    return 1;
  }
  const q = query.toLowerCase();
  const t = text.toLowerCase();
  const whole = t.indexOf(q);
  if (whole >= 0) {
    return 1000 - Math.min(whole, 400) + (startsWord(text, whole) ? 300 : 0) + (t.length === q.length ? 500 : 0);
  }
  let score = 1;
  let at = -1;
  for (const c of q) {
    const next = t.indexOf(c, at + 1);
    if (next < 0) {
      return 0;
    }
    score += startsWord(text, next) ? 12 : next === at + 1 ? 8 : 1;
    at = next;
  }
  return score;
}

function startsWord(text: string, at: number): boolean {
  return at === 0 || /[/\\._\-\s]/.test(text[at - 1] ?? "") || (/[A-Z]/.test(text[at] ?? "") && /[a-z]/.test(text[at - 1] ?? ""));
}

/** The best of the candidates, best first; equal ones stay in their order. */
export function best<T>(query: string, candidates: readonly T[], text: (c: T) => string, limit: number): T[] {
  return candidates
    .map((c) => ({ c, score: Math.max(fit(query, text(c)), 2 * fit(query, baseName(text(c)))) }))
    .filter((x) => x.score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map((x) => x.c);
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** A path as a prompt names it: the server reads what stands behind an "@". */
export function mention(path: string): string {
  return `@${path.replaceAll(" ", "\\ ")}`;
}

/** The earlier prompts, to go through with the arrow keys; what was being typed comes back at the end. */
export class PromptHistory {
  private at: number | undefined;
  private draft = "";

  constructor(
    private entries: string[],
    private readonly limit = 50,
  ) {}

  get all(): readonly string[] {
    return this.entries;
  }

  add(text: string): void {
    this.entries = [...this.entries.filter((e) => e !== text), text].slice(-this.limit);
    this.at = undefined;
  }

  /** The text to show after a step; undefined: there is nothing further that way. */
  step(direction: "older" | "newer", current: string): string | undefined {
    if (this.at === undefined) {
      if (direction === "newer" || this.entries.length === 0) {
        return undefined;
      }
      this.draft = current;
      this.at = this.entries.length;
    }
    const next = this.at + (direction === "older" ? -1 : 1);
    if (next < 0) {
      return undefined;
    }
    if (next >= this.entries.length) {
      this.at = undefined;
      return this.draft;
    }
    this.at = next;
    return this.entries[next];
  }

  /** The user typed: the next step begins anew. */
  leave(): void {
    this.at = undefined;
  }
}
