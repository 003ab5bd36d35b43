/** What the status bar is made from. */
export interface Situation {
  server: "stopped" | "starting" | "running" | "missing" | "failed";
  problem: string;
  /** Questions that wait for the user. */
  questions: number;
  /** Hunks that wait for a decision. */
  hunks: number;
  working: boolean;
  failed: boolean;
  /** False when the server says that there are no credentials. */
  signedIn: boolean;
}

export interface StatusText {
  text: string;
  tooltip: string;
  /** Colours of the item's background. */
  alarm?: "error" | "warning";
}

/** The status bar's words, the most urgent first. */
export function statusText(s: Situation): StatusText {
  switch (s.server) {
    case "missing":
      return { text: "$(error) Redline: no server", tooltip: s.problem, alarm: "error" };
    case "failed":
      return { text: "$(error) Redline: server down", tooltip: s.problem, alarm: "error" };
  }
  if (s.questions > 0) {
    return { text: "$(question) Redline: waiting for you", tooltip: `${count(s.questions, "question waits", "questions wait")} for your answer`, alarm: "warning" };
  }
  if (s.hunks > 0) {
    return { text: `$(git-pull-request) Redline: review ${s.hunks}`, tooltip: `${count(s.hunks, "change waits", "changes wait")} for your decision`, alarm: "warning" };
  }
  if (s.working) {
    return { text: "$(loading~spin) Redline: working", tooltip: "The agent is working" };
  }
  if (s.server === "starting") {
    return { text: "$(loading~spin) Redline", tooltip: "The redline server is starting" };
  }
  if (!s.signedIn) {
    return { text: "$(key) Redline: sign in", tooltip: "There are no credentials for the model yet" };
  }
  if (s.failed) {
    return { text: "$(warning) Redline", tooltip: "The last turn failed; the chat says why" };
  }
  return { text: "$(edit) Redline", tooltip: "Redline is idle" };
}

function count(n: number, one: string, many: string): string {
  return `${n} ${n === 1 ? one : many}`;
}
