/** What a code block of an answer says of the file it belongs to. Pure, for the webview and the tests. */

/** A name of a file with an ending, or with a folder. */
const path = /^[\w@.+~-]*(?:\/[\w@.+~-]+)*[\w+~-]+\.\w+$|^(?:[\w@.+~-]+\/)+[\w@.+~-]+$/;

/** The language of a fence's info string: its first word, without a path behind a colon. */
export function languageOf(info: string): string {
  return (info.trim().split(/[\s:{]/)[0] ?? "").slice(0, 30);
}

/**
 * The file that a block names: behind its language ("go:src/a.go", "go src/a.go",
 * `go title="src/a.go"`), or in a comment that is its first line. Empty: it names none.
 */
export function fileOf(info: string, text: string): string {
  const named = /(?:title|file|filename|path)=["']?([^"'\s}]+)/.exec(info)?.[1];
  const words = info.trim().split(/\s+/);
  const behind = words[0]?.includes(":") ? words[0].slice(words[0].indexOf(":") + 1) : undefined;
  for (const candidate of [named, behind, ...words.slice(1), words[0]]) {
    const clean = candidate?.replace(/:\d+.*$/, "").replace(/^\.\//, "");
    if (clean && path.test(clean)) {
      return clean;
    }
  }
  const first = text.slice(0, text.indexOf("\n") < 0 ? undefined : text.indexOf("\n"));
  const comment = /^\s*(?:\/\/|#|--|;|\/\*|<!--)\s*(\S+?)\s*(?:\*\/|-->)?\s*$/.exec(first)?.[1];
  return comment && path.test(comment) && comment.includes(".") ? comment.replace(/^\.\//, "") : "";
}

/** The text of a block without a first line that only names the file. */
export function withoutName(info: string, text: string): string {
  return fileOf(info, text) !== "" && fileOf("", text) === fileOf(info, text) ? text.slice(text.indexOf("\n") + 1) : text;
}
