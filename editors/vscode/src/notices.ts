import * as vscode from "vscode";
import type { Question, QuestionStore } from "./questions";
import { commandLink, noLinks, questionText } from "./questiontext";
import type { Conversation } from "./session";

/** Where the chat stands, for what is asked there already. */
export interface ChatSight {
  /** Whether the chat is in sight and shows this session's questions. */
  shows(sessionId: string): boolean;
  readonly onDidChangeSight: vscode.Event<void>;
  focus(): Promise<void>;
}

/**
 * Shows the open questions that the chat does not show as notifications. They are
 * progress notifications with links for answers: those alone stay until they are
 * answered (a warning with buttons hides after twelve seconds) and can be closed when
 * the answer was given elsewhere. They take no focus.
 */
export class QuestionNotices implements vscode.Disposable {
  /** By the question's id: what closes its notification. */
  private readonly shown = new Map<string, () => void>();
  private readonly subscriptions: vscode.Disposable;

  constructor(
    private readonly store: QuestionStore,
    private readonly chat: ChatSight,
  ) {
    this.subscriptions = vscode.Disposable.from(
      store.onDidChange(() => this.update()),
      chat.onDidChangeSight(() => this.update()),
      vscode.commands.registerCommand("redline.answer", (id: unknown, optionId: unknown) => this.answer(id, optionId)),
      vscode.commands.registerCommand("redline.answerQuestion", (id?: unknown) => this.pick(typeof id === "string" ? id : undefined)),
    );
  }

  dispose(): void {
    this.subscriptions.dispose();
    for (const close of this.shown.values()) {
      close();
    }
  }

  private update(): void {
    const open = this.store.open.filter((q) => !this.chat.shows(q.sessionId));
    for (const [id, close] of [...this.shown]) {
      if (!open.some((q) => q.id === id)) {
        this.shown.delete(id);
        close();
      }
    }
    for (const q of open) {
      if (!this.shown.has(q.id)) {
        this.show(q);
      }
    }
  }

  private show(q: Question): void {
    const closed = new Promise<void>((resolve) => this.shown.set(q.id, resolve));
    const { text, whole } = questionText(q);
    const options = q.options.filter((o) => whole || o.kind === "reject");
    const links = options.map((o) => commandLink(o.label, "redline.answer", [q.id, o.optionId]));
    if (!whole || options.length === 0) {
      links.unshift(commandLink(whole ? "Answer…" : "Read and answer…", "redline.answerQuestion", [q.id]));
    } else if (q.kind === "approve") {
      links.push(commandLink("Reject and say why…", "redline.answer", [q.id, null]));
    }
    // What can be cancelled is shown in full, not in one line; to cancel is to refuse.
    const options_ = { location: vscode.ProgressLocation.Notification, cancellable: true, title: `Redline: ${noLinks(text)} ${links.join(" · ")}` };
    void vscode.window.withProgress(options_, (_progress, token) => {
      token.onCancellationRequested(() => this.store.answer(q.id, { optionId: q.options.find((o) => o.kind === "reject")?.optionId ?? "" }) || this.store.withdraw(q.id));
      return closed;
    });
  }

  /** An answer by a link: an option, or null for a refusal with a reason. */
  private async answer(id: unknown, optionId: unknown): Promise<void> {
    const q = this.store.open.find((o) => o.id === id);
    if (!q) {
      return; // answered elsewhere meanwhile
    }
    if (typeof optionId === "string") {
      this.store.answer(q.id, { optionId });
    } else {
      await this.refuse(q);
    }
  }

  /** Refuses with a reason, which the model is told. */
  private async refuse(q: Question): Promise<void> {
    const text = await this.input({ title: `Reject: ${q.title}`, prompt: "What should be done instead? The model is told." }, q.id);
    const no = q.options.find((o) => o.kind === "reject");
    if (text !== undefined && no) {
      this.store.answer(q.id, { optionId: no.optionId, text: text.trim() });
    }
  }

  /** The way by keyboard: lists what is open and then the answers. */
  private async pick(id?: string): Promise<void> {
    const open = this.store.open;
    if (open.length === 0) {
      void vscode.window.showInformationMessage("Redline: there is no question to answer.");
      return;
    }
    let q = open.find((o) => o.id === id) ?? (open.length === 1 ? open[0] : undefined);
    if (!q) {
      const picked = await vscode.window.showQuickPick(
        open.map((o) => ({ label: o.title, detail: questionText(o).text, question: o })),
        { title: "Redline: questions that wait", matchOnDetail: true },
      );
      q = picked?.question;
    }
    if (q && this.store.open.includes(q)) {
      await this.choose(q);
    }
  }

  /** Asks in full, over the window: the user wanted to. Leaving it open leaves the question open. */
  private async choose(q: Question): Promise<void> {
    if (q.options.length === 0) {
      const text = await this.input({ title: "Redline asks", prompt: q.title }, q.id);
      if (text !== undefined) {
        this.store.answer(q.id, { text });
      }
      return;
    }
    const why = q.kind === "approve" ? [{ title: "Reject and Say Why…", optionId: "" }] : [];
    const detail = q.detail.replace(/^```.*\n?/gm, "").trim();
    const picked = await vscode.window.showWarningMessage(q.title, { modal: true, detail }, ...q.options.map((o) => ({ title: o.label, optionId: o.optionId })), ...why);
    if (picked?.optionId === "") {
      await this.refuse(q);
    } else if (picked) {
      this.store.answer(q.id, { optionId: picked.optionId });
    }
  }

  private async input(options: vscode.InputBoxOptions, id: string): Promise<string | undefined> {
    const source = this.untilClosed(id);
    const text = await vscode.window.showInputBox({ ...options, ignoreFocusOut: true }, source.token);
    source.dispose();
    return text;
  }

  /** Is cancelled when the question is closed elsewhere. */
  private untilClosed(id: string): { token: vscode.CancellationToken; dispose(): void } {
    const source = new vscode.CancellationTokenSource();
    const listener = this.store.onDidChange((c) => {
      if (c.type === "closed" && c.question.id === id) {
        source.cancel();
      }
    });
    return {
      token: source.token,
      dispose: () => {
        listener.dispose();
        source.dispose();
      },
    };
  }
}

/** Tells of turns that failed while the chat, which says it too, is out of sight. */
export function failureNotices(conversation: Conversation, chat: ChatSight): vscode.Disposable {
  return conversation.onFailure(async ({ text, auth }) => {
    if (chat.shows(conversation.sessionId ?? "")) {
      return;
    }
    const actions = auth ? ["Sign In…", "Open Chat"] : ["Open Chat"];
    switch (await vscode.window.showErrorMessage(`Redline: ${noLinks(text)}`, ...actions)) {
      case "Sign In…":
        await vscode.commands.executeCommand("redline.signIn");
        break;
      case "Open Chat":
        await chat.focus();
        break;
    }
  });
}
