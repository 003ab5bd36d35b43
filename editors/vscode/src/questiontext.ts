import type { Question } from "./questions";

/** Longest text of a question in a notification, in UTF-16 units. */
const MAX_TEXT = 400;

/**
 * The words of a question in one line. whole is false when they did not fit: nobody
 * should say yes to what they have not read, so only a refusal is offered beside them.
 */
export function questionText(q: Question): { text: string; whole: boolean } {
  const command = q.subject?.type === "command" && typeof q.subject["command"] === "string" ? q.subject["command"] : undefined;
  const [title, detail] = [oneLine(q.title), oneLine(q.detail)];
  // The title of a question about the network or a tool is what it is about; the detail says it too.
  const about = q.kind === "approve" && !title.endsWith("?") ? joined("Allow this?", detail.includes(title) ? detail : joined(title, detail)) : joined(title, detail);
  const text = command === undefined ? about : joined("Run this command?", oneLine(command), reason(q.detail));
  return text.length > MAX_TEXT ? { text: `${text.slice(0, MAX_TEXT)}…`, whole: false } : { text, whole: true };
}

/**
 * A link in a notification that runs a command of ours. Notifications make links of
 * "[label](command:…)", so other words in them go through noLinks.
 */
export function commandLink(label: string, command: string, args: unknown[]): string {
  const query = encodeURIComponent(JSON.stringify(args)).replace(/[()']/g, (c) => `%${c.charCodeAt(0).toString(16)}`);
  return `[${label.replaceAll("]", ")").replaceAll("[", "(")}](command:${command}?${query})`;
}

/**
 * Text that makes no link in a notification: the words of a question are in part the
 * model's, and a click on "[label](command:…)" would run what it wants.
 */
export function noLinks(text: string): string {
  return text.replaceAll("](", "]\u200b(");
}

function joined(...parts: string[]): string {
  return parts.filter(Boolean).reduce((a, b) => (a === "" ? b : `${a}${/[.?!:,;]$/.test(a) ? "" : ":"} ${b}`), "");
}

/** Why a command is asked for, as the server words it at the end of the detail. */
function reason(detail: string): string {
  return /(?:^|\n)(Asked because [^\n]*)\s*$/.exec(detail)?.[1] ?? "";
}

/** Markdown in one line, without the marks of code. */
function oneLine(markdown: string): string {
  return markdown
    .replace(/^```.*$/gm, "")
    .replace(/`/g, "")
    .replace(/\s+/g, " ")
    .trim();
}
