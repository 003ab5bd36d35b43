import type { ContextItem } from "../ext";

/** A prompt that waits for the running turn to end. */
export interface Queued {
  id: string;
  text: string;
  items: ContextItem[];
  about: string;
  /** It is no command, so that a running turn takes it. */
  joins: boolean;
}

/**
 * The prompts that were typed while a turn runs. The next one goes out when a turn has
 * completed; after one that was stopped or failed they wait for the user.
 */
export class PromptQueue {
  private entries: Queued[] = [];
  private made = 0;
  private held = false;

  constructor(
    private readonly send: (q: Queued) => Promise<void>,
    private readonly changed: () => void,
  ) {}

  get all(): readonly Queued[] {
    return this.entries;
  }

  /** Whether the user has to send the next one. */
  get waits(): boolean {
    return this.held && this.entries.length > 0;
  }

  add(text: string, items: ContextItem[], about: string, joins: boolean): void {
    this.entries.push({ id: `q${++this.made}`, text, items, about, joins });
    this.changed();
  }

  /** Takes a prompt out, to be edited, sent or dropped. */
  take(id: string): Queued | undefined {
    const at = this.entries.findIndex((q) => q.id === id);
    const [taken] = at < 0 ? [] : this.entries.splice(at, 1);
    this.changed();
    return taken;
  }

  clear(): void {
    this.entries = [];
    this.held = false;
    this.changed();
  }

  ended(status: string): void {
    this.held = status !== "completed";
    if (!this.held) {
      void this.next();
    }
    this.changed();
  }

  async next(): Promise<void> {
    const q = this.entries.shift();
    this.held = false;
    this.changed();
    if (q) {
      await this.send(q);
    }
  }
}
