import * as vscode from "vscode";
import type { Server } from "../client";
import { method, type ModelList, type UsageInfo } from "../ext";
import type { Conversation } from "../session";
import { dollars, modes, tokens } from "./words";

/** Asks for the mode of the session of this window. */
export async function pickMode(conversation: Conversation): Promise<void> {
  const now = conversation.mode;
  const picked = await vscode.window.showQuickPick(
    modes.map((m) => ({ label: `$(${m.icon}) ${m.label}`, description: m.mode === now ? "now" : "", detail: m.detail, mode: m.mode })),
    { title: "Mode of this session", placeHolder: "How far the agent may go without asking", matchOnDetail: true },
  );
  if (picked) {
    await conversation.configure({ mode: picked.mode });
  }
}

/** Asks for the model of the session of this window. */
export async function pickModel(conversation: Conversation, server: Server): Promise<void> {
  const list = await server.request<ModelList>(method.modelList, {});
  const now = conversation.model || list.current;
  const aliases = Object.entries(list.aliases ?? {});
  const entries = list.models.map((m) => ({
    label: m.displayName ?? m.name,
    description: [m.name === now ? "now" : "", m.displayName ? m.name : "", ...aliases.filter(([, to]) => to === m.name).map(([a]) => a)].filter(Boolean).join(" · "),
    detail: [
      m.inputTokenLimit ? `${tokens(m.inputTokenLimit)} tokens` : "",
      m.thinking ? "thinks" : "",
      m.price ? `$${m.price.input} in, $${m.price.output} out for a million tokens` : "",
    ]
      .filter(Boolean)
      .join(" · "),
    name: m.name,
  }));
  const other = { label: "$(edit) Another one…", description: "", detail: "Type its name", name: "" };
  const picked = await vscode.window.showQuickPick([...entries, other], {
    title: list.message ? `Models that are known without asking: ${list.message}` : "Model of this session",
    placeHolder: `Now ${now}`,
    matchOnDescription: true,
  });
  const name = picked && (picked.name || (await vscode.window.showInputBox({ title: "Name of the model", value: now }))?.trim());
  if (name) {
    await conversation.configure({ model: name });
  }
}

/** Shows what the session has used, by model. */
export async function showUsage(usage: UsageInfo): Promise<void> {
  const row = (label: string, u: UsageInfo | UsageInfo["models"][number]) => ({
    label,
    description: u.costUsd === undefined ? "" : `about ${dollars(u.costUsd)}`,
    detail: `${tokens(u.inputTokens ?? 0)} tokens in (${tokens(u.cachedTokens ?? 0)} from the cache), ${tokens(u.outputTokens ?? 0)} out, ${tokens(u.thoughtTokens ?? 0)} thought, ${u.requests ?? 0} requests`,
  });
  const compress = { label: "$(fold) Compress the conversation", detail: "A summary takes the place of its older part", description: "" };
  const window = usage.contextWindow > 0 ? `${tokens(usage.contextTokens)} of ${tokens(usage.contextWindow)} tokens in the conversation` : "";
  const picked = await vscode.window.showQuickPick([row("This session", usage), ...usage.models.map((m) => row(m.model, m)), compress], {
    title: "Usage",
    placeHolder: [window, usage.pricesOf ? `prices of ${usage.pricesOf}` : ""].filter(Boolean).join(" · "),
  });
  if (picked === compress) {
    await vscode.commands.executeCommand("redline.compress");
  }
}
