import type { CheckpointResult, Range, URI } from "./ext";
import { lineStarts } from "./review/hunks";

/** What a way back to a checkpoint makes of files, from its workspace edit. Pure. */

/** One file of a way back: where it is, where it goes, and the edits of its text; to is undefined when it is deleted. */
export interface FileBack {
  from: URI | undefined;
  to: URI | undefined;
  edits: { range: Range; newText: string }[];
}

type DocumentChange =
  | { kind: "create" | "delete"; uri: URI }
  | { kind: "rename"; oldUri: URI; newUri: URI }
  | { kind?: undefined; textDocument: { uri: URI }; edits: { range: Range; newText: string }[] };

export function filesBack(edit: CheckpointResult["edit"]): FileBack[] {
  const changes = (edit as { documentChanges?: DocumentChange[] } | undefined)?.documentChanges ?? [];
  const files: FileBack[] = [];
  const at = (uri: URI): FileBack => {
    let f = files.find((x) => x.to === uri);
    if (!f) {
      files.push((f = { from: uri, to: uri, edits: [] }));
    }
    return f;
  };
  for (const c of changes) {
    switch (c.kind) {
      case "create":
        files.push({ from: undefined, to: c.uri, edits: [] });
        break;
      case "delete":
        at(c.uri).to = undefined;
        break;
      case "rename":
        at(c.oldUri).to = c.newUri;
        break;
      default:
        at(c.textDocument.uri).edits.push(...c.edits);
    }
  }
  return files;
}

/** text after LSP edits, which all refer to text and do not overlap. */
export function edited(text: string, edits: FileBack["edits"]): string {
  const starts = lineStarts(text);
  const offset = (p: { line: number; character: number }) => {
    const start = starts[p.line];
    return start === undefined ? text.length : Math.min(start + p.character, starts[p.line + 1] ?? text.length);
  };
  let out = "";
  let at = 0;
  for (const { from, to, by } of edits
    .map((e, i) => ({ from: offset(e.range.start), to: offset(e.range.end), by: e.newText, i }))
    .sort((a, b) => a.from - b.from || a.i - b.i)) {
    out += text.slice(at, Math.max(at, from)) + by;
    at = Math.max(at, to);
  }
  return out + text.slice(at);
}

/** How long ago, in words. */
export function ago(then: number, now: number): string {
  const minutes = Math.floor(Math.max(0, now - then) / 60_000);
  if (minutes < 1) {
    return "just now";
  }
  if (minutes < 60) {
    return `${minutes} min ago`;
  }
  const hours = Math.floor(minutes / 60);
  if (hours < 24) {
    return `${hours} h ago`;
  }
  const days = Math.floor(hours / 24);
  return days === 1 ? "yesterday" : `${days} days ago`;
}
