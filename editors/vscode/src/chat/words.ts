import type { Mode, SessionInfo, UsageInfo } from "../ext";

/** Words and figures of the chat that depend on data alone. */

export const modes: { mode: Mode; label: string; icon: string; detail: string }[] = [
  { mode: "default", label: "Review", icon: "eye", detail: "Edits are reviewed, commands are asked for." },
  { mode: "autoEdit", label: "Auto-edit", icon: "edit", detail: "Edits are applied at once and can be taken back; commands are asked for." },
  { mode: "plan", label: "Plan", icon: "list-ordered", detail: "Nothing is changed: the agent reads and makes a plan." },
  { mode: "yolo", label: "Yolo", icon: "warning", detail: "Nothing is asked for, but what a rule or a sensitive file asks for." },
];

export function modeLabel(mode: Mode): string {
  return modes.find((m) => m.mode === mode)?.label ?? mode;
}

/** How long ago a time is, for a list: "now", "5 min", "3 h", "2 d", else the date. */
export function age(iso: string, now: number): string {
  const then = Date.parse(iso);
  if (Number.isNaN(then)) {
    return "";
  }
  const minutes = Math.floor((now - then) / 60_000);
  if (minutes < 1) {
    return "now";
  }
  if (minutes < 60) {
    return `${minutes} min`;
  }
  if (minutes < 24 * 60) {
    return `${Math.floor(minutes / 60)} h`;
  }
  return minutes < 7 * 24 * 60 ? `${Math.floor(minutes / (24 * 60))} d` : iso.slice(0, 10);
}

export function sessionTitle(s: SessionInfo): string {
  return s.title || "New session";
}

/** Time, size and state of a session in one line. */
export function sessionDetail(s: SessionInfo, now: number): string {
  const turns = s.turns === 1 ? "1 prompt" : `${s.turns} prompts`;
  return [s.running ? "working" : "", age(s.updatedAt, now), turns, s.mode === "default" ? "" : modeLabel(s.mode)].filter(Boolean).join(" · ");
}

/** The sessions that a search leaves, newest first; each of its words must be there. */
export function findSessions(all: readonly SessionInfo[], query: string): SessionInfo[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return all
    .filter((s) => words.every((w) => `${sessionTitle(s)} ${s.mode} ${s.model} ${s.updatedAt.slice(0, 10)}`.toLowerCase().includes(w)))
    .sort((a, b) => Date.parse(b.updatedAt) - Date.parse(a.updatedAt));
}

export function tokens(n: number): string {
  return n < 1000 ? `${n}` : n < 100_000 ? `${(n / 1000).toFixed(1).replace(/\.0$/, "")}k` : n < 1_000_000 ? `${Math.round(n / 1000)}k` : `${(n / 1_000_000).toFixed(1)}M`;
}

export function dollars(n: number): string {
  return n === 0 ? "$0" : n < 0.01 ? "< $0.01" : `$${n.toFixed(2)}`;
}

/** What a session has used: short for the button, long for its tooltip and screen readers. */
export function usageWords(u: UsageInfo | undefined): { short: string; long: string } {
  if (!u || !u.requests) {
    return { short: "", long: "" };
  }
  const share = u.contextWindow > 0 && u.contextTokens > 0 ? Math.max(1, Math.round((100 * u.contextTokens) / u.contextWindow)) : undefined;
  const short = [share === undefined ? `${tokens(u.totalTokens ?? 0)} tokens` : `${share}%`, u.costUsd === undefined ? "" : dollars(u.costUsd)];
  const long = [
    share === undefined ? "" : `The conversation fills ${share}% of the model's window (${tokens(u.contextTokens)} of ${tokens(u.contextWindow)} tokens).`,
    `Used so far: ${tokens(u.inputTokens ?? 0)} tokens in, ${tokens(u.outputTokens ?? 0)} out, in ${u.requests} request${u.requests === 1 ? "" : "s"}.`,
    u.costUsd === undefined ? "" : `About ${dollars(u.costUsd)} by list prices.`,
  ];
  return { short: short.filter(Boolean).join(" · "), long: long.filter(Boolean).join(" ") };
}
