import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { method, type ApproveParams, type ApproveResult, type AskParams } from "./ext";
import type { QuestionStore } from "./questions";

/**
 * Answers the server's questions: what the user says, in whatever place, is the
 * answer. None at all is a refusal, by the server's deadline or ours.
 */
export function questionRequests(client: LanguageClient, store: QuestionStore): void {
  client.onRequest(method.approve, async (p: ApproveParams, token: vscode.CancellationToken): Promise<ApproveResult> => {
    const asked = store.approve(p);
    const listener = token.onCancellationRequested(() => store.withdraw(`approve:${p.callId}`));
    const answer = await asked;
    listener.dispose();
    const option = p.options.find((o) => o.optionId === answer?.optionId) ?? p.options.find((o) => o.kind === "reject");
    return { optionId: option?.optionId ?? "reject", ...(answer?.text ? { feedback: answer.text } : {}) };
  });
  client.onRequest(method.ask, async (p: AskParams, token: vscode.CancellationToken): Promise<{ answer: string }> => {
    const asked = store.ask(p);
    const id = store.open.at(-1)?.id ?? "";
    const listener = token.onCancellationRequested(() => store.withdraw(id));
    const answer = await asked;
    listener.dispose();
    return { answer: answer?.optionId ?? answer?.text ?? "" };
  });
}
