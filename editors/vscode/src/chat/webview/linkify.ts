/**
 * What markdown-it uses of the package "linkify-it", which knows all top-level domains and
 * many kinds of addresses: here only http and https addresses that are written out become links.
 */
export interface Match {
  schema: string;
  index: number;
  lastIndex: number;
  raw: string;
  text: string;
  url: string;
}

// Signs that end a sentence, and a bracket that was opened before, are no part of it.
const address = /https?:\/\/[\w[][^\s<>"'`|\\^{}]*/gi;
const first = new RegExp(`^${address.source}`, "i");

export class LinkifyIt {
  set(): this {
    return this;
  }

  test(text: string): boolean {
    return new RegExp(address.source, "i").test(text);
  }

  match(text: string): Match[] {
    return [...text.matchAll(address)].map((m) => made(trimmed(m[0]), m.index));
  }

  matchAtStart(text: string): Match | null {
    const m = first.exec(text);
    return m && made(trimmed(m[0]), 0);
  }
}

function made(raw: string, index: number): Match {
  return { schema: raw.slice(0, raw.indexOf(":") + 1), index, lastIndex: index + raw.length, raw, text: raw, url: raw };
}

function trimmed(url: string): string {
  let out = url.replace(/[.,;:!?*_~]+$/, "");
  while (/[)\]]$/.test(out) && count(out, /[)\]]/g) > count(out, /[([]/g)) {
    out = out.slice(0, -1).replace(/[.,;:!?*_~]+$/, "");
  }
  return out;
}

function count(text: string, signs: RegExp): number {
  return text.match(signs)?.length ?? 0;
}
