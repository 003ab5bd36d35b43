import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { method, type ApproveParams, type ApproveResult, type AskParams } from "./ext";
import type { Transcript } from "./chat/transcript";

/**
 * Answers the server's questions to the user. A question shows in the chat; when
 * the chat is not in sight also as a notification, never as a modal dialogue. The
 * first answer counts; none at all is a refusal, by the server's deadline or ours.
 */
export class Questions {
  private readonly open = new Map<string, (optionId: string) => void>();

  constructor(
    private readonly transcript: Transcript,
    private readonly chatVisible: () => boolean,
  ) {}

  wire(client: LanguageClient): void {
    client.onRequest(method.approve, (p: ApproveParams, token: vscode.CancellationToken) => this.approve(p, token));
    client.onRequest(method.ask, (p: AskParams, token: vscode.CancellationToken) => ask(p, token));
  }

  /** An answer given in the chat, to the item with this id. */
  answer(id: string, optionId: string): void {
    this.open.get(id)?.(optionId);
  }

  private async approve(p: ApproveParams, token: vscode.CancellationToken): Promise<ApproveResult> {
    const id = `approve:${p.callId}`;
    this.transcript.approve(p);
    const answers = [
      new Promise<string | undefined>((resolve) => this.open.set(id, resolve)),
      new Promise<undefined>((resolve) => token.onCancellationRequested(() => resolve(undefined))),
    ];
    if (!this.chatVisible()) {
      answers.push(this.notify(p));
    }
    const chosen = await Promise.race(answers);
    this.open.delete(id);
    const option = p.options.find((o) => o.optionId === chosen) ?? p.options.find((o) => o.kind === "reject");
    this.transcript.approved(p.callId, option?.label ?? "Not answered");
    return { optionId: option?.optionId ?? "reject" };
  }

  private async notify(p: ApproveParams): Promise<string | undefined> {
    const text = p.detail ? `${p.title}${/\p{P}$/u.test(p.title) ? "" : ":"} ${p.detail}` : p.title;
    const picked = await vscode.window.showWarningMessage(
      text.length > 300 ? `${text.slice(0, 300)}…` : text,
      ...p.options.map((o) => ({ title: o.label, optionId: o.optionId })),
    );
    return picked?.optionId;
  }
}

async function ask(p: AskParams, token: vscode.CancellationToken): Promise<{ answer: string }> {
  const options = (p.options ?? []).map((o) => (typeof o === "string" ? { label: o } : { label: o.label, detail: o.detail ?? "" }));
  if (options.length > 0) {
    const picked = await vscode.window.showQuickPick(options, { title: "Redline asks", placeHolder: p.question, ignoreFocusOut: true }, token);
    return { answer: picked?.label ?? "" };
  }
  const typed = await vscode.window.showInputBox({ title: "Redline asks", prompt: p.question, ignoreFocusOut: true }, token);
  return { answer: typed ?? "" };
}
