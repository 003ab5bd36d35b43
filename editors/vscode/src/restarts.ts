/** How long deaths of the server count, in milliseconds. */
const WINDOW = 3 * 60_000;
/** The waits before it is started again, in milliseconds; after the last one it is left alone. */
const WAITS = [0, 500, 2_000, 5_000];

/**
 * When a server that died is started again: at once after the first death, later
 * and later after more of them, and not any more when it died too often in three minutes.
 */
export class Restarts {
  private deaths: number[] = [];

  /** Notes a death and returns the wait until the next start in milliseconds; undefined: leave it. */
  died(now: number): number | undefined {
    this.deaths = this.deaths.filter((at) => now - at < WINDOW);
    this.deaths.push(now);
    return WAITS[this.deaths.length - 1];
  }

  /** The user starts it: what was before does not count. */
  forget(): void {
    this.deaths = [];
  }
}
