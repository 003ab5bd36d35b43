import * as vscode from "vscode";
import type { Server } from "./client";
import { errorText, method } from "./ext";
import { message, type Conversation } from "./session";

/*
 * The editor's own chat runs no participant without a language model to pick, and has
 * none where nobody is signed in to Copilot. So redline's models are offered to it: the
 * one picked is the one that @redline works with. This part of the editor's API is newer than
 * the oldest editor that is supported, which its types here are of.
 */

interface ModelInformation {
  id: string;
  name: string;
  family: string;
  version: string;
  tooltip?: string;
  maxInputTokens: number;
  maxOutputTokens: number;
  capabilities: { imageInput?: boolean; toolCalling?: boolean };
}

interface ModelProvider {
  onDidChangeLanguageModelChatInformation?: vscode.Event<void>;
  provideLanguageModelChatInformation(options: { silent: boolean }, token: vscode.CancellationToken): Promise<ModelInformation[]>;
  provideLanguageModelChatResponse(
    model: ModelInformation,
    messages: readonly { content: readonly unknown[] }[],
    options: unknown,
    progress: vscode.Progress<vscode.LanguageModelTextPart>,
    token: vscode.CancellationToken,
  ): Promise<void>;
  provideTokenCount(model: ModelInformation, text: string | { content: readonly unknown[] }, token: vscode.CancellationToken): Promise<number>;
}

/** The model that the server chooses by itself. */
const DEFAULT = "default";

/** What is said of a model's size when the server does not know, in tokens. */
const LIMITS = { input: 1_000_000, output: 65_536 };

/** Offers redline's models to the editor's own chat, where it has such a thing. */
export function offerModels(server: Server, conversation: Conversation): vscode.Disposable {
  const lm = (vscode as { lm?: { registerLanguageModelChatProvider?: (vendor: string, p: ModelProvider) => vscode.Disposable } }).lm;
  if (!lm?.registerLanguageModelChatProvider) {
    return { dispose: () => undefined };
  }
  const changed = new vscode.EventEmitter<void>();
  const provider: ModelProvider = {
    onDidChangeLanguageModelChatInformation: changed.event,
    provideLanguageModelChatInformation: () => models(server),
    provideLanguageModelChatResponse: (model, messages, _options, progress, token) => answer(server, conversation, model.id, messages, progress, token),
    provideTokenCount: (_model, text) => Promise.resolve(Math.ceil((typeof text === "string" ? text : textOf(text)).length / 4)),
  };
  return vscode.Disposable.from(
    changed,
    server.onDidChangeState((s) => s === "running" && changed.fire()),
    lm.registerLanguageModelChatProvider("redline", provider),
  );
}

/** The name of a model that was picked in the editor's chat, for the server; none for its own choice. */
export function pickedModel(model: { vendor: string; id: string } | undefined): string | undefined {
  return model?.vendor === "redline" && model.id !== DEFAULT ? model.id : undefined;
}

async function models(server: Server): Promise<ModelInformation[]> {
  const one = (id: string, name: string, tooltip: string, input = LIMITS.input, output = LIMITS.output): ModelInformation => ({
    id,
    name,
    family: "gemini",
    version: id,
    tooltip,
    maxInputTokens: input,
    maxOutputTokens: output,
    capabilities: { imageInput: true, toolCalling: true },
  });
  const out = [one(DEFAULT, "Redline", "The model of the redline server's settings")];
  if (server.state === "running") {
    try {
      const { models: known } = await server.request<{ models: { name: string; displayName?: string; inputTokenLimit?: number; outputTokenLimit?: number }[] }>(
        method.modelList,
        {},
      );
      out.push(...known.map((m) => one(m.name, m.displayName || m.name, `${m.name}, by the redline server`, m.inputTokenLimit, m.outputTokenLimit)));
    } catch (e) {
      server.log(`agent/model/list: ${message(e)}`); // without credentials there is no list
    }
  }
  return out;
}

/**
 * Answers for an extension, or a chat without @redline: the agent reads the project and
 * answers in words. It changes nothing: nobody would know what asked for it.
 */
async function answer(
  server: Server,
  conversation: Conversation,
  model: string,
  messages: readonly { content: readonly unknown[] }[],
  progress: vscode.Progress<vscode.LanguageModelTextPart>,
  token: vscode.CancellationToken,
): Promise<void> {
  const { sessionId } = await conversation.create({ mode: "plan", ...(model === DEFAULT ? {} : { model }) });
  let end: (e?: Error) => void = () => undefined;
  const ended = new Promise<void>((resolve, reject) => (end = (e) => (e ? reject(e) : resolve())));
  const listeners = vscode.Disposable.from(
    conversation.onEvent(({ sessionId: id, event: e }) => {
      if (id !== sessionId) {
        return;
      }
      if (e.type === "message/delta") {
        progress.report(new vscode.LanguageModelTextPart(e.text));
      } else if (e.type === "turn/ended") {
        end(e.status === "failed" ? new Error(errorText(e.error) || "The turn failed.") : undefined);
      }
    }),
    server.onDidChangeState((s) => s !== "running" && end(new Error("The redline server ended."))),
    token.onCancellationRequested(() => void server.request(method.cancel, { sessionId })),
  );
  try {
    await server.request(method.prompt, { sessionId, text: messages.map(textOf).join("\n\n") });
    await ended;
  } finally {
    listeners.dispose();
    await server.request(method.sessionDelete, { sessionId }).catch((e: unknown) => server.log(message(e)));
  }
}

function textOf(m: { content: readonly unknown[] }): string {
  return m.content.map((p) => (p instanceof vscode.LanguageModelTextPart ? p.value : "")).join("");
}
