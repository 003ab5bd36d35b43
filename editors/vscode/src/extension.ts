import * as vscode from "vscode";
import { actionCommands, AskActions } from "./actions";
import { chatCommands } from "./chat/commands";
import { ChatView } from "./chat/view";
import { Server } from "./client";
import { AttentionTracker } from "./context";
import { editorRequests } from "./editorrequests";
import { method } from "./ext";
import { InlinePrompt } from "./inline";
import { NativeChat } from "./native";
import { failureNotices, QuestionNotices } from "./notices";
import { QuestionStore } from "./questions";
import { questionRequests } from "./requests";
import { registerReview } from "./review/register";
import { Reviews } from "./review/reviews";
import { Conversation } from "./session";
import { Setup } from "./setup";
import { tellChanges } from "./settingschange";
import { SignIn } from "./signin";
import { statusItem } from "./status";

let server: Server | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const signIn = new SignIn(context.secrets);
  // The parts listen to the server's requests, and it needs to know of them before it starts.
  const own: Server = (server = new Server(context, () => signIn.env(), (client) => {
    conversation.wire(client);
    reviews.wire(client);
    questionRequests(client, questions);
    editorRequests(client);
  }, (link) => signIn.notOpened(link)));
  const questions = new QuestionStore();
  const conversation = new Conversation(own, context.workspaceState);
  const reviews = new Reviews(own);
  const attention = new AttentionTracker();
  registerReview(context, own, conversation, reviews);
  const chat = new ChatView(context.extensionUri, conversation, attention, own, reviews, questions);
  const notices = new QuestionNotices(questions, chat);

  const documents = [{ scheme: "file" }, { scheme: "untitled" }];
  signIn.attach(own);

  const command = (id: string, run: (...args: never[]) => unknown) => vscode.commands.registerCommand(`redline.${id}`, run);
  context.subscriptions.push(
    own,
    conversation,
    attention,
    chat,
    chatCommands(chat, conversation, own),
    notices,
    failureNotices(conversation, chat),
    // The chat keeps the questions of its own session only; others are asked by notification.
    questions.onDidChange((c) => c.question.sessionId === conversation.sessionId && conversation.transcript.question(c)),
    own.onDidChangeState((s) => s !== "running" && questions.withdrawAll()),
    conversation.onProposal((p) => reviews.update(p)),
    conversation.onDidLeave((sessionId) => reviews.drop(sessionId)),
    signIn,
    tellChanges(conversation),
    new Setup(own, signIn),
    statusItem(own, conversation, reviews, questions, signIn),
    vscode.languages.registerCodeActionsProvider(documents, new AskActions(), { providedCodeActionKinds: AskActions.kinds }),
    actionCommands(conversation, (draft) => chat.focus(draft)),
    new InlinePrompt(conversation),
    new NativeChat(own, conversation, questions, vscode.Uri.joinPath(context.extensionUri, "media", "icon.svg")),
    command("decideProposal", (id: string, decision: "accept" | "reject") => reviews.decide(id, [{ target: "all", decision }])),
    command("openSettings", () => vscode.commands.executeCommand("workbench.action.openSettings", "@ext:redline.redline")),
    command("focusChat", () => chat.focus()),
    command("newSession", async () => {
      await conversation.reset();
      await chat.focus();
    }),
    command("cancel", () => conversation.cancel()),
    command("restart", () => own.restart()),
    command("showLog", () => own.showOutput()),
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      if (own.state === "running") {
        own.request(method.trustSet, { trusted: true }).catch((e: unknown) => own.log(`workspace trust: ${String(e)}`));
      }
    }),
    vscode.workspace.onDidChangeConfiguration((e) => {
      if (e.affectsConfiguration("redline.server") || (e.affectsConfiguration("redline.auth") && !signIn.changing)) {
        void own.restart();
      }
    }),
  );
  // Not in the way of what else starts now: nobody waits for the server yet.
  const start = setTimeout(() => void own.get(), 0);
  context.subscriptions.push({ dispose: () => clearTimeout(start) });
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}
