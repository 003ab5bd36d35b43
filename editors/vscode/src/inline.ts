import * as vscode from "vscode";
import { selectionItem } from "./context";
import type { EventParams } from "./ext";
import type { Conversation } from "./session";

/** How long the editor may take to ask where comments can be, in milliseconds. */
const ASKED = 2000;
/** When it has drawn what it was told of that, in milliseconds. */
const DRAWN = 100;

/**
 * The prompt at the cursor: a key opens an input under the line, what is typed goes to
 * the agent with the lines around, and the answer comes there: as hunks, which then
 * take its place, or as text. It is a comment thread, the only input that an extension
 * can put between the lines.
 */
export class InlinePrompt implements vscode.Disposable {
  private readonly controller = vscode.comments.createCommentController("redline.prompt", "Redline");
  private open: { thread: vscode.CommentThread; asked: boolean; answer: string } | undefined;
  private readonly subscriptions: vscode.Disposable;

  constructor(private readonly conversation: Conversation) {
    this.controller.options = { prompt: "Ask Redline", placeHolder: "What should change here? Enter sends, Shift+Enter makes a new line" };
    this.subscriptions = vscode.Disposable.from(
      this.controller,
      conversation.onEvent((p) => this.follow(p)),
      vscode.commands.registerCommand("redline.inlineAsk", (about?: { uri: string; range: vscode.Range }) => this.show(about?.range)),
      vscode.commands.registerCommand("redline.inlineSend", (reply: vscode.CommentReply) => this.send(reply)),
      vscode.commands.registerCommand("redline.inlineClose", (thread?: vscode.CommentThread) => this.close(thread)),
    );
  }

  dispose(): void {
    this.close();
    this.subscriptions.dispose();
  }

  /**
   * Opens the input under the selection, or the lines that an action is about. Only the editor's own
   * command puts the cursor into it, and that works where comments can be: in these
   * lines, for this moment.
   */
  private async show(range?: vscode.Range): Promise<void> {
    const editor = vscode.window.activeTextEditor;
    if (!editor || !["file", "untitled"].includes(editor.document.uri.scheme)) {
      await vscode.commands.executeCommand("redline.ask"); // there are no lines to ask about
      return;
    }
    this.close();
    const at = range ?? editor.selection;
    let timer: NodeJS.Timeout | undefined;
    let over = false;
    await new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ASKED);
      this.controller.commentingRangeProvider = {
        provideCommentingRanges: (document) => {
          if (over || document !== editor.document) {
            return []; // when it asks again for a reason of its own
          }
          resolve();
          return [new vscode.Range(at.start.line, 0, at.end.line, 0)];
        },
      };
    });
    clearTimeout(timer);
    await new Promise((resolve) => setTimeout(resolve, DRAWN)); // the answer is on its way
    const lines = { startLineNumber: at.start.line + 1, startColumn: 1, endLineNumber: at.end.line + 1, endColumn: 1 };
    await vscode.commands.executeCommand("workbench.action.addComment", { range: lines });
    // To take the provider away would draw everything anew, and the cursor would be lost.
    over = true;
  }

  private close(thread?: vscode.CommentThread): void {
    thread?.dispose();
    this.open?.thread.dispose();
    this.open = undefined;
    void vscode.commands.executeCommand("setContext", "redline.inlineOpen", false);
  }

  private async send({ thread, text }: vscode.CommentReply): Promise<void> {
    const words = text.trim();
    if (!words) {
      return;
    }
    if (this.open?.thread !== thread) {
      this.close();
      this.open = { thread, asked: true, answer: "" };
    }
    const document = await vscode.workspace.openTextDocument(thread.uri);
    const { item, label } = selectionItem(document, thread.range ?? new vscode.Range(0, 0, 0, 0));
    thread.comments = [...thread.comments, comment("You", words)];
    thread.label = "Redline is working…";
    thread.canReply = false;
    Object.assign(this.open, { asked: true, answer: "" });
    // The input is gone; whoever asked goes on in the text, where Escape closes the thread.
    void vscode.commands.executeCommand("setContext", "redline.inlineOpen", true);
    void vscode.commands.executeCommand("workbench.action.focusActiveEditorGroup");
    await this.conversation.prompt(words, [item], label);
    if (!this.conversation.isRunning && this.open?.thread === thread && this.open.asked) {
      this.close(); // it could not be sent; the chat or a notification says why
    }
  }

  private follow({ event, sessionId }: EventParams): void {
    const open = this.open;
    if (!open?.asked || sessionId !== this.conversation.sessionId) {
      return;
    }
    if (event.type === "message/delta") {
      open.answer += event.text;
    } else if (event.type === "proposal/updated" && event.proposal.state === "open") {
      this.close(); // the hunks are there to see
    } else if (event.type === "turn/ended") {
      open.asked = false;
      if (open.answer.trim() && event.status === "completed") {
        open.thread.comments = [...open.thread.comments, comment("Redline", open.answer.trim())];
        open.thread.label = "Redline";
        open.thread.canReply = true; // ask on
      } else {
        this.close();
      }
    }
  }
}

function comment(name: string, text: string): vscode.Comment {
  const body = new vscode.MarkdownString(text);
  body.supportHtml = false;
  return { author: { name }, body, mode: vscode.CommentMode.Preview };
}
