/** What the person has looked at, and as what. Pure. */

export type News = "new" | "changed" | undefined;

/** Looked at whatever it reads: the person decided on it. */
const ANY = "*";

/**
 * What was on screen becomes what was looked at when it leaves the screen: as long as it
 * is there, what is new in it stays marked.
 */
export class Seen {
  private readonly looked: Map<string, string>;
  /** What is on screen now, by where. */
  private readonly sights = new Map<string, Map<string, string>>();

  constructor(saved: [string, string][] = []) {
    this.looked = new Map(saved);
  }

  news(key: string, signature: string): News {
    const was = this.looked.get(key);
    return was === undefined ? "new" : was === signature || was === ANY ? undefined : "changed";
  }

  /** Notes that key is on screen at place, with that signature. */
  see(place: string, key: string, signature: string): void {
    let sight = this.sights.get(place);
    if (!sight) {
      this.sights.set(place, (sight = new Map()));
    }
    sight.set(key, signature);
  }

  /** The person looks away from every place that keep does not name; true if anything was seen there. */
  leave(keep: ReadonlySet<string>): boolean {
    let some = false;
    for (const [place, sight] of this.sights) {
      if (keep.has(place)) {
        continue;
      }
      for (const [key, signature] of sight) {
        if (this.looked.get(key) !== ANY && this.looked.get(key) !== signature) {
          this.looked.set(key, signature);
          some = true;
        }
      }
      this.sights.delete(place);
    }
    return some;
  }

  decided(key: string): void {
    this.looked.set(key, ANY);
  }

  /** Forgets what is not there any more. */
  prune(keep: (key: string) => boolean): void {
    for (const key of this.looked.keys()) {
      if (!keep(key)) {
        this.looked.delete(key);
      }
    }
  }

  save(): [string, string][] {
    return [...this.looked];
  }
}

/** A short mark of what a hunk says: FNV-1a over its texts and state. */
export function signature(h: { oldText: string; newText: string; state: string; final?: string }): string {
  let a = 0x811c9dc5;
  const text = `${h.state === "conflict" ? "!" : ""}${h.oldText}\u0000${h.final ?? h.newText}`;
  for (let i = 0; i < text.length; i++) {
    a = Math.imul(a ^ text.charCodeAt(i), 0x01000193);
  }
  return `${(a >>> 0).toString(36)}.${text.length}`;
}
