import * as vscode from "vscode";
import type { Server } from "./client";
import type { QuestionStore } from "./questions";
import type { Reviews } from "./review/reviews";
import type { Conversation } from "./session";
import { methodNames, type SignIn } from "./signin";
import { statusText } from "./statustext";

/** The status bar item: what the agent does now. A click lists what can be done about it. */
export function statusItem(server: Server, conversation: Conversation, reviews: Reviews, questions: QuestionStore, signIn: SignIn): vscode.Disposable {
  const item = vscode.window.createStatusBarItem("redline.status", vscode.StatusBarAlignment.Right, 90);
  item.name = "Redline";
  item.command = "redline.menu";
  const now = () =>
    statusText({
      server: server.state,
      problem: server.problem,
      questions: questions.open.length,
      hunks: reviews.pending,
      working: conversation.isRunning,
      failed: conversation.hasFailed,
      signedIn: signIn.status?.signedIn ?? true,
    });
  const show = () => {
    const { text, tooltip, alarm } = now();
    item.text = text;
    const restricted = vscode.workspace.isTrusted ? "" : "\n\nThe workspace is not trusted: commands, MCP servers and the project's own settings are left out";
    item.tooltip = new vscode.MarkdownString(`${tooltip}${restricted}\n\nClick for what can be done`);
    item.backgroundColor = alarm && new vscode.ThemeColor(`statusBarItem.${alarm}Background`);
    item.accessibilityInformation = { label: `${text.replace(/\$\([^)]*\)\s*/, "")}. ${tooltip}`, role: "button" };
  };
  show();
  item.show();
  return vscode.Disposable.from(
    item,
    server.onDidChangeState(show),
    conversation.onDidChangeState(show),
    reviews.onDidChange(show),
    questions.onDidChange(show),
    signIn.onDidChange(show),
    vscode.workspace.onDidGrantWorkspaceTrust(show),
    vscode.commands.registerCommand("redline.menu", () => menu(now().tooltip, server, conversation, reviews, questions, signIn)),
  );
}

interface Entry extends vscode.QuickPickItem {
  command?: string;
  args?: unknown[];
}

async function menu(
  state: string,
  server: Server,
  conversation: Conversation,
  reviews: Reviews,
  questions: QuestionStore,
  signIn: SignIn,
): Promise<void> {
  const entries: Entry[] = [];
  const add = (label: string, command: string, description = "", ...args: unknown[]) => entries.push({ label, command, description, args });
  const group = (label: string) => entries.push({ label, kind: vscode.QuickPickItemKind.Separator });
  for (const q of questions.open) {
    add(`$(question) ${q.title}`, "redline.answerQuestion", "answer", q.id);
  }
  if (reviews.pending > 0) {
    add("$(arrow-down) Go to the next change", "redline.nextHunk", `${reviews.pending} to decide`);
    add("$(diff-multiple) Review all changes", "redline.reviewAll");
  }
  if (conversation.isRunning) {
    add("$(debug-stop) Stop the running turn", "redline.cancel");
  }
  if (server.state === "missing") {
    add("$(tools) Build the server with Go…", "redline.buildServer");
    add("$(folder-opened) Choose the server's program…", "redline.chooseServer");
  }
  if (signIn.status?.signedIn === false) {
    add("$(key) Sign in…", "redline.signIn", "no credentials yet");
  }
  group("Ask");
  add("$(comment-discussion) Open the chat", "redline.focusChat");
  add("$(sparkle) Ask at the cursor…", "redline.inlineAsk");
  add("$(add) New session", "redline.newSession");
  group("Set up");
  if (signIn.status?.signedIn) {
    const how = methodNames[signIn.status.method ?? ""] ?? signIn.status.method ?? "";
    add("$(account) Sign in another way…", "redline.signIn", [how, signIn.status.account].filter(Boolean).join(", "));
    add("$(sign-out) Sign out", "redline.signOut");
  }
  add("$(settings-gear) Settings", "redline.openSettings");
  add("$(book) Get started", "redline.walkthrough");
  add("$(output) Show the log", "redline.showLog", server.about);
  add("$(debug-restart) Restart the server", "redline.restart");
  const picked = await vscode.window.showQuickPick(entries, { title: `Redline: ${state}`, placeHolder: "What do you want to do?" });
  if (picked?.command) {
    await vscode.commands.executeCommand(picked.command, ...(picked.args ?? []));
  }
}
