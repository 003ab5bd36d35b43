import * as vscode from "vscode";
import { ChatView } from "./chat/view";
import { Server } from "./client";
import { AttentionTracker } from "./context";
import { editorRequests } from "./editorrequests";
import { method, type Range } from "./ext";
import { QuestionNotices } from "./notices";
import { QuestionStore } from "./questions";
import { questionRequests } from "./requests";
import { InlineReview } from "./review/inline";
import { ReviewLenses } from "./review/lenses";
import { ProposedDocuments } from "./review/proposed";
import { Reviews } from "./review/reviews";
import { reviewCommands, reviewContext } from "./review/commands";
import { ApiKey } from "./secrets";
import { Conversation } from "./session";
import { statusItem } from "./status";

let server: Server | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const key = new ApiKey(context.secrets);
  // The parts listen to the server's requests, and it needs to know of them before it starts.
  const own: Server = (server = new Server(context, key, (client) => {
    conversation.wire(client);
    reviews.wire(client);
    questionRequests(client, questions);
    editorRequests(client);
  }));
  const questions = new QuestionStore();
  const conversation = new Conversation(own);
  const reviews = new Reviews(own);
  const attention = new AttentionTracker();
  const proposed = new ProposedDocuments(reviews);
  const inline = new InlineReview(reviews);
  const chat = new ChatView(context.extensionUri, conversation, attention, own, reviews, proposed, questions);
  const notices = new QuestionNotices(questions, chat);

  const command = (id: string, run: (...args: never[]) => unknown) => vscode.commands.registerCommand(`redline.${id}`, run);
  context.subscriptions.push(
    own,
    conversation,
    reviews,
    attention,
    proposed,
    inline,
    chat,
    notices,
    // The chat keeps the questions of its own session only; others are asked by notification.
    questions.onDidChange((c) => c.question.sessionId === conversation.sessionId && conversation.transcript.question(c)),
    own.onDidChangeState((s) => s !== "running" && questions.withdrawAll()),
    conversation.onProposal((p) => reviews.update(p)),
    vscode.languages.registerCodeLensProvider([{ scheme: "file" }, { scheme: "untitled" }], new ReviewLenses(reviews)),
    reviewCommands(reviews, inline, proposed),
    reviewContext(reviews),
    statusItem(own, conversation, reviews),
    command("ask", (arg?: { text?: string }) => chat.focus(typeof arg?.text === "string" ? arg.text : undefined)),
    command("focusChat", () => chat.focus()),
    command("newSession", async () => {
      await conversation.reset();
      await chat.focus();
    }),
    command("cancel", () => conversation.cancel()),
    command("fix", (arg?: { uri?: string; range?: Range; text?: string }) => fix(conversation, arg)),
    command("restart", () => own.restart()),
    command("showLog", () => own.showOutput()),
    command("setApiKey", async () => {
      if (await key.ask()) {
        await own.restart();
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      if (own.state === "running") {
        own.request(method.trustSet, { trusted: true }).catch((e: unknown) => own.log(`workspace trust: ${String(e)}`));
      }
    }),
    vscode.workspace.onDidChangeConfiguration((e) => {
      if (e.affectsConfiguration("redline.server.path") || e.affectsConfiguration("redline.server.args")) {
        void own.restart();
      }
    }),
  );
  void own.get();
}

export async function deactivate(): Promise<void> {
  await server?.stop();
}

/** The server's quick fix for a problem: a prompt about the place it is at. */
async function fix(conversation: Conversation, arg: { uri?: string; range?: Range; text?: string } | undefined): Promise<void> {
  if (!arg?.uri || !arg.range) {
    return;
  }
  const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(arg.uri));
  const { start, end } = arg.range;
  const whole = document.validateRange(new vscode.Range(start.line, 0, end.line, Number.MAX_SAFE_INTEGER));
  await vscode.commands.executeCommand(`${ChatView.id}.focus`);
  await conversation.prompt(
    arg.text ? `Fix this problem: ${arg.text}` : "Fix the problem in the selected lines.",
    [{ kind: "selection", uri: arg.uri, version: document.version, range: arg.range, text: document.getText(whole) }],
    `${vscode.workspace.asRelativePath(document.uri)}:${start.line + 1}`,
  );
}
