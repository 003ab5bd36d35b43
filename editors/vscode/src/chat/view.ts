import * as vscode from "vscode";
import { randomBytes } from "node:crypto";
import type { Server } from "../client";
import { openSetting } from "../config";
import type { AttentionTracker } from "../context";
import type { QuestionStore } from "../questions";
import type { Reviews } from "../review/reviews";
import { message, type Conversation } from "../session";
import { applyCode, insertCode } from "./code";
import type { AttachRequest } from "./completion";
import { Mentions } from "./mentions";
import { pickMode, pickModel, showUsage } from "./picks";
import type { FromWebview, ToWebview } from "./protocol";
import { PromptQueue } from "./queue";
import { Terminals } from "./terminal";
import type { Change } from "./transcript";
import { modeLabel, sessionTitle, usageWords } from "./words";

/**
 * The chat in the side bar. The webview only shows: what there is to show is kept
 * by the conversation, and sent as a whole whenever the view comes up.
 */
export class ChatView implements vscode.WebviewViewProvider, vscode.Disposable {
  static readonly id = "redline.chat";
  private view: vscode.WebviewView | undefined;
  private ready = false;
  /** Sent with the first sight of the webview. */
  private waiting: ToWebview[] = [];
  /** Text on its way to the webview. */
  private streamed: { id: string; text: string } | undefined;
  private timer: NodeJS.Timeout | undefined;
  private readonly subscriptions: vscode.Disposable[];
  private readonly queue: PromptQueue;
  private readonly mentions: Mentions;
  private readonly sight = new vscode.EventEmitter<void>();
  /** Fired when the chat comes into sight or leaves it. */
  readonly onDidChangeSight = this.sight.event;

  constructor(
    private readonly extension: vscode.Uri,
    private readonly conversation: Conversation,
    private readonly attention: AttentionTracker,
    private readonly server: Server,
    private readonly reviews: Reviews,
    private readonly questions: QuestionStore,
  ) {
    const terminals = new Terminals();
    this.mentions = new Mentions(server, attention, terminals);
    this.queue = new PromptQueue(
      (q) => conversation.prompt(q.text, q.items, q.about),
      () => this.postQueue(),
    );
    this.subscriptions = [
      terminals,
      conversation.onEvent((p) => p.sessionId === conversation.sessionId && p.event.type === "turn/ended" && this.queue.ended(p.event.status)),
      vscode.window.registerWebviewViewProvider(ChatView.id, this),
      conversation.onDidChangeItems((c) => this.change(c)),
      conversation.onDidChangeState(() => {
        this.post({ type: "running", running: conversation.isRunning });
        this.postSession();
        this.postQueue();
      }),
      server.onDidChangeState(() => this.postServer()),
      attention.onDidChange(() => this.postContext()),
      reviews.onDidChange(() => this.badge()),
    ];
  }

  get visible(): boolean {
    return this.view?.visible ?? false;
  }

  /** Whether questions of this session can be seen and answered in the chat now. */
  shows(sessionId: string): boolean {
    return this.visible && sessionId === this.conversation.sessionId;
  }

  /** Shows the chat and puts the cursor in its prompt; draft, if any, becomes its text. */
  async focus(draft?: string): Promise<void> {
    await vscode.commands.executeCommand(`${ChatView.id}.focus`);
    if (draft) {
      this.post({ type: "draft", text: draft }, true);
    }
    this.post({ type: "focus" }, true);
  }

  /** Puts something beside the prompt, or says why it cannot go along. */
  async attach(request: AttachRequest): Promise<void> {
    const made = await this.mentions.attach(request);
    this.post(typeof made === "string" ? { type: "problem", text: made } : { type: "attached", attachment: made }, true);
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    this.ready = false;
    const dist = vscode.Uri.joinPath(this.extension, "dist");
    view.webview.options = { enableScripts: true, localResourceRoots: [dist] };
    view.webview.onDidReceiveMessage((m: FromWebview) => void this.receive(m));
    view.onDidChangeVisibility(() => this.sight.fire());
    view.onDidDispose(() => {
      this.view = undefined;
      this.ready = false;
      this.sight.fire();
    });
    this.sight.fire();
    view.webview.html = page(view.webview, dist);
    this.badge();
  }

  dispose(): void {
    clearTimeout(this.timer);
    vscode.Disposable.from(...this.subscriptions, this.sight).dispose();
  }

  private post(message: ToWebview, keep = false): void {
    if (this.ready && this.view) {
      void this.view.webview.postMessage(message);
    } else if (keep) {
      this.waiting.push(message);
    }
  }

  private change(c: Change): void {
    if (c.type === "text") {
      // A model streams faster than a screen is drawn.
      if (this.streamed && this.streamed.id !== c.id) {
        this.flush();
      }
      this.streamed = { id: c.id, text: (this.streamed?.text ?? "") + c.text };
      this.timer ??= setTimeout(() => this.flush(), 16);
      return;
    }
    this.flush();
    if (c.type === "reset") {
      this.queue.clear(); // they were for the other session
      this.post({ type: "reset", items: [], running: this.conversation.isRunning });
    } else {
      this.post(c);
    }
  }

  private flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.streamed) {
      this.post({ type: "text", ...this.streamed });
      this.streamed = undefined;
    }
  }

  private postContext(): void {
    const { label, title } = this.attention.now();
    this.post({ type: "context", label, title });
  }

  private postServer(): void {
    const bad = this.server.state === "missing" || this.server.state === "failed";
    this.post({ type: "server", text: bad ? this.server.problem : "" });
  }

  private postSession(): void {
    const { mode, model, session, usage } = this.conversation;
    const words = usageWords(usage);
    if (this.view) {
      this.view.description = session && session.turns > 0 ? sessionTitle(session) : "";
    }
    this.post({
      type: "session",
      line: {
        title: session ? sessionTitle(session) : "",
        mode: modeLabel(mode),
        loose: mode === "yolo" || mode === "autoEdit",
        model: model.replace(/^(models\/)?(gemini-)?/, "") || "default model",
        modelTitle: model || "the server's choice",
        usage: words.short,
        usageTitle: words.long,
      },
    });
  }

  private postQueue(): void {
    this.post({ type: "queue", prompts: this.queue.all.map(({ id, text, about, joins }) => ({ id, text, about, now: joins || !this.conversation.isRunning })), waits: this.queue.waits });
  }

  private badge(): void {
    if (this.view) {
      const value = this.reviews.pending;
      this.view.badge = value > 0 ? { value, tooltip: `${value} to review` } : undefined;
    }
  }

  private async receive(m: FromWebview): Promise<void> {
    try {
      await this.handle(m);
    } catch (e) {
      this.post({ type: "problem", text: message(e) });
    }
  }

  private async handle(m: FromWebview): Promise<void> {
    switch (m.type) {
      case "ready":
        this.streamed = undefined; // the items have it
        this.ready = true;
        this.post({ type: "reset", items: this.conversation.transcript.items, running: this.conversation.isRunning });
        this.postContext();
        this.postServer();
        this.postSession();
        this.postQueue();
        for (const w of this.waiting.splice(0)) {
          this.post(w);
        }
        break;
      case "prompt":
        await this.send(m);
        break;
      case "complete":
        this.post({ type: "completions", ask: m.ask, entries: await this.mentions.complete(m.kind, m.query) });
        break;
      case "attach":
        await this.attach(m.request);
        break;
      case "queued":
        await this.queued(m.id, m.action);
        break;
      case "cancel":
        await this.conversation.cancel();
        break;
      case "pick":
        await this.pick(m.what);
        break;
      case "fork":
        await this.conversation.forkBefore(m.turn);
        this.post({ type: "draft", text: m.text });
        this.post({ type: "focus" });
        break;
      case "rewind":
        await vscode.commands.executeCommand("redline.restoreCheckpoint", { turnId: m.turn });
        break;
      case "open":
        await openFile(m.uri, m.line);
        break;
      case "link":
        await this.follow(m.href);
        break;
      case "copy":
        await vscode.env.clipboard.writeText(m.text);
        break;
      case "code":
        await (m.action === "insert" ? insertCode(m, this.attention) : applyCode(m, this.attention, this.server, this.conversation));
        break;
      case "decide":
        await this.reviews.decide(m.proposalId, [
          { target: m.fileId === undefined ? "all" : { fileId: m.fileId }, decision: m.decision },
        ]);
        break;
      case "review":
        await vscode.commands.executeCommand("redline.reviewAll");
        break;
      case "approve":
        this.questions.answer(m.id, { ...(m.optionId === undefined ? {} : { optionId: m.optionId }), ...(m.text ? { text: m.text } : {}) });
        break;
      case "action":
        await this.act(m.action);
        break;
    }
  }

  private async send(m: Extract<FromWebview, { type: "prompt" }>): Promise<void> {
    const seen = m.withContext ? { ...this.attention.now() } : { items: [], label: "" };
    const command = m.text.trim().startsWith("/"); // which begins a turn
    if (this.conversation.isRunning && !m.queue && !command && seen.items[0]?.kind === "file") {
      // The turn has its file already; what is selected or attached meanwhile is meant.
      [seen.items, seen.label] = [[], ""];
    }
    if (seen.items.some((x) => m.items.some((y) => x.kind === y.kind && x.uri === y.uri && x.kind === "file"))) {
      [seen.items, seen.label] = [[], ""]; // attached as well
    }
    const items = [...seen.items, ...m.items];
    const about = [seen.label, ...m.about].filter(Boolean).join(", ");
    if (this.conversation.isRunning && (m.queue || command)) {
      this.queue.add(m.text, items, about, !command);
    } else {
      await this.conversation.prompt(m.text, items, about);
    }
  }

  private async queued(id: string, action: "drop" | "edit" | "send"): Promise<void> {
    const q = this.queue.take(id);
    if (!q) {
      return;
    }
    if (action === "edit") {
      this.post({ type: "draft", text: q.text, add: true });
      this.post({ type: "focus" });
    } else if (action === "send") {
      await this.conversation.prompt(q.text, q.items, q.about);
    }
  }

  private async pick(what: "mode" | "model" | "usage" | "sessions"): Promise<void> {
    switch (what) {
      case "mode":
        return pickMode(this.conversation);
      case "model":
        return pickModel(this.conversation, this.server);
      case "usage":
        return this.conversation.usage && showUsage(this.conversation.usage);
      case "sessions":
        await vscode.commands.executeCommand("redline.sessions");
    }
  }

  private async act(action: "key" | "server" | "log"): Promise<void> {
    switch (action) {
      case "key":
        await vscode.commands.executeCommand("redline.setApiKey");
        break;
      case "server":
        await openSetting("server.path");
        break;
      case "log":
        this.server.showOutput();
        break;
    }
  }

  /** A link in an answer: to the web through the editor's own question, to a file of the workspace directly. */
  private async follow(href: string): Promise<void> {
    if (/^https?:\/\//i.test(href)) {
      await vscode.env.openExternal(vscode.Uri.parse(href));
      return;
    }
    const folder = vscode.workspace.workspaceFolders?.[0];
    const m = /^(?:file:\/\/)?([^#:]+)(?:[#:]L?(\d+))?/.exec(href);
    if (folder && m?.[1]) {
      const path = decodeURIComponent(m[1]);
      const uri = path.startsWith("/") ? folder.uri.with({ path }) : vscode.Uri.joinPath(folder.uri, path);
      if (vscode.workspace.getWorkspaceFolder(uri)) {
        await openFile(uri.toString(), Math.max(0, Number(m[2] ?? 1) - 1));
      }
    }
  }
}

async function openFile(uri: string, line: number): Promise<void> {
  const at = new vscode.Position(line, 0);
  try {
    await vscode.window.showTextDocument(vscode.Uri.parse(uri), { selection: new vscode.Range(at, at) });
  } catch {
    void vscode.window.showInformationMessage(`Redline: ${vscode.workspace.asRelativePath(vscode.Uri.parse(uri))} cannot be opened; it may not exist yet.`);
  }
}

function page(webview: vscode.Webview, dist: vscode.Uri): string {
  const nonce = randomBytes(18).toString("base64");
  const script = webview.asWebviewUri(vscode.Uri.joinPath(dist, "chat.js")).toString();
  const style = webview.asWebviewUri(vscode.Uri.joinPath(dist, "chat.css")).toString();
  const csp = `default-src 'none'; img-src data:; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${csp}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="${style}">
<title>Redline</title>
</head>
<body>
<main id="log" role="log" aria-live="polite" aria-label="Conversation with Redline" tabindex="0"></main>
<div id="status" class="sr-only" role="status" aria-live="polite"></div>
<form id="composer" aria-label="Prompt"></form>
<script nonce="${nonce}" src="${script}"></script>
</body>
</html>`;
}
