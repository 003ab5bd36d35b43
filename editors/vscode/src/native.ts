import * as vscode from "vscode";
import type { Server } from "./client";
import { config } from "./config";
import { selectionItem } from "./context";
import { errorText, method, type ContextItem, type EventParams, type Proposal, type SessionInfo } from "./ext";
import { offerModels, pickedModel } from "./models";
import type { Question, QuestionStore } from "./questions";
import { questionText } from "./questiontext";
import { message, type Conversation } from "./session";

/** What a turn of the editor's own chat remembers of ours. */
interface Remembered {
  sessionId: string;
}

/**
 * `@redline` in the editor's own chat. Each of its chats is a session of the server,
 * like those of the side bar, where it is listed and can be gone on with; review and
 * questions are the same everywhere.
 */
export class NativeChat implements vscode.Disposable {
  private readonly subscriptions: vscode.Disposable[] = [];
  /** The sessions that the present server process has open for this chat. */
  private readonly live = new Set<string>();

  constructor(
    private readonly server: Server,
    private readonly conversation: Conversation,
    private readonly questions: QuestionStore,
    icon: vscode.Uri,
  ) {
    // Editors without a chat have no such part of the API, whatever the typings say.
    if ((vscode as { chat?: unknown }).chat) {
      const participant = vscode.chat.createChatParticipant("redline.agent", (request, context, stream, token) => this.answer(request, context, stream, token));
      participant.iconPath = icon;
      this.subscriptions.push(participant, offerModels(server, conversation));
    }
    this.subscriptions.push(server.onDidChangeState((s) => s !== "running" && this.live.clear()));
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private async answer(
    request: vscode.ChatRequest,
    context: vscode.ChatContext,
    stream: vscode.ChatResponseStream,
    token: vscode.CancellationToken,
  ): Promise<vscode.ChatResult> {
    try {
      const sessionId = await this.session(remembered(context), stream);
      const plan = request.command === "plan";
      const model = pickedModel(request.model);
      if (plan || model) {
        await this.server.request(method.sessionConfigure, { sessionId, ...(plan ? { mode: "plan" } : {}), ...(model ? { model } : {}) });
      }
      try {
        return await this.turn(sessionId, request, stream, token);
      } finally {
        if (plan && this.server.state === "running") {
          await this.server.request(method.sessionConfigure, { sessionId, mode: config.mode() });
        }
      }
    } catch (e) {
      if (this.server.state === "missing" || this.server.state === "failed") {
        stream.button({ command: "redline.menu", title: "Set Up…" });
      }
      return { errorDetails: { message: message(e) } };
    }
  }

  /** The session of this chat: that of its earlier turns, if it can be had, else a new one. */
  private async session(known: string | undefined, stream: vscode.ChatResponseStream): Promise<string> {
    if (known && this.live.has(known)) {
      return known;
    }
    await this.server.get();
    if (known) {
      try {
        // What was said is shown already; only what comes is wanted.
        await this.server.request<SessionInfo>(method.sessionResume, { sessionId: known, afterSeq: Number.MAX_SAFE_INTEGER });
        this.live.add(known);
        return known;
      } catch (e) {
        if (this.server.state !== "running") {
          throw e;
        }
        this.server.log(`resume: ${message(e)}`);
        stream.markdown("*The agent no longer remembers what was said above.*\n\n");
      }
    }
    const { sessionId } = await this.conversation.create();
    this.live.add(sessionId);
    return sessionId;
  }

  private turn(sessionId: string, request: vscode.ChatRequest, stream: vscode.ChatResponseStream, token: vscode.CancellationToken): Promise<vscode.ChatResult> {
    const result = (more: vscode.ChatResult = {}): vscode.ChatResult => ({ ...more, metadata: { sessionId } satisfies Remembered });
    return new Promise((resolve, reject) => {
      const shown = new Shown(stream);
      const end = (r: vscode.ChatResult) => {
        vscode.Disposable.from(...listeners).dispose();
        resolve(r);
      };
      const listeners = [
        this.conversation.onEvent((p) => {
          if (p.sessionId !== sessionId) {
            return;
          }
          shown.event(p);
          if (p.event.type === "turn/ended") {
            const failed = p.event.status === "failed";
            if (failed && typeof p.event.error === "object" && p.event.error.kind === "auth") {
              stream.button({ command: "redline.signIn", title: "Sign In…" });
            }
            end(result(failed ? { errorDetails: { message: errorText(p.event.error) || "The turn failed." } } : {}));
          }
        }),
        this.questions.onDidChange((c) => {
          if (c.type === "asked" && c.question.sessionId === sessionId) {
            ask(stream, c.question);
          }
        }),
        this.server.onDidChangeState((s) => {
          if (s !== "running") {
            end(result({ errorDetails: { message: "The redline server ended in the middle of the turn. Ask again to go on." } }));
          }
        }),
        token.onCancellationRequested(() => {
          this.server.request(method.cancel, { sessionId }).catch((e: unknown) => this.server.log(message(e)));
        }),
      ];
      // What is selected the editor names a second time when it was attached as well.
      const context = [...new Map(request.references.flatMap((r) => contextItem(r) ?? []).map((c) => [JSON.stringify(c), c])).values()];
      this.server
        .request(method.prompt, { sessionId, text: words(request), ...(context.length ? { context } : {}) })
        .catch((e: unknown) => {
          vscode.Disposable.from(...listeners).dispose();
          reject(e);
        });
    });
  }
}

/** Writes what happens in a turn into the answer. */
class Shown {
  private readonly tools = new Set<string>();
  private readonly proposals = new Map<string, Proposal["state"]>();
  private subject = "";

  constructor(private readonly stream: vscode.ChatResponseStream) {}

  event({ event: e }: EventParams): void {
    switch (e.type) {
      case "message/delta":
        this.stream.markdown(e.text);
        break;
      case "thought/delta":
        if (e.subject && e.subject !== this.subject) {
          this.subject = e.subject;
          this.stream.progress(e.subject);
        }
        break;
      case "tool/updated":
        if (["running", "completed"].includes(e.status) && !this.tools.has(e.callId)) {
          this.tools.add(e.callId);
          this.stream.progress(e.title || e.name);
          for (const l of e.locations ?? []) {
            this.stream.reference(vscode.Uri.parse(l.uri));
          }
        }
        break;
      case "proposal/updated":
        this.proposal(e.proposal);
        break;
      case "retry":
        this.stream.progress(`Trying again in ${Math.ceil(e.delayMs / 1000)} s: ${e.reason}`);
        break;
      case "model/changed":
        this.stream.progress(`Model is now ${e.model}: ${e.reason}`);
        break;
      case "notice":
        if (e.level !== "info") {
          this.stream.markdown(`\n\n*${e.text}*\n\n`);
        }
        break;
    }
  }

  private proposal(p: Proposal): void {
    const before = this.proposals.get(p.proposalId);
    this.proposals.set(p.proposalId, p.state);
    const hunks = p.files.flatMap((f) => f.hunks);
    if (p.state === "open" && before === undefined) {
      this.stream.markdown(`\n\n**${hunks.length === 1 ? "1 change waits" : `${hunks.length} changes wait`} for your decision** in `);
      p.files.forEach((f, i) => {
        if (i > 0) {
          this.stream.markdown(", ");
        }
        const line = f.hunks[0]?.range.start.line ?? 0;
        this.stream.anchor(new vscode.Location(vscode.Uri.parse(f.newUri ?? f.uri), new vscode.Position(line, 0)), vscode.workspace.asRelativePath(vscode.Uri.parse(f.uri)));
      });
      this.stream.markdown("\n\n");
      this.stream.button({ command: "redline.reviewAll", title: "Review All" });
      this.stream.button({ command: "redline.decideProposal", title: "Accept All", arguments: [p.proposalId, "accept"] });
      this.stream.button({ command: "redline.decideProposal", title: "Reject All", arguments: [p.proposalId, "reject"] });
    } else if (before && before !== p.state && !["open", "applying"].includes(p.state)) {
      const n = (...states: string[]) => hunks.filter((h) => states.includes(h.state)).length;
      const parts = [`${n("accepted", "amended")} accepted`, `${n("rejected")} rejected`, ...(n("conflict") ? [`${n("conflict")} in conflict with your text`] : [])];
      this.stream.markdown(`\n\n*${parts.join(", ")}.*\n\n`);
    }
  }
}

/** Writes a question with its plainest answers; the others are behind the last button. */
function ask(stream: vscode.ChatResponseStream, q: Question): void {
  const { text, whole } = questionText(q);
  const command = q.subject?.type === "command" ? q.subject["command"] : undefined;
  const words = new vscode.MarkdownString();
  if (typeof command === "string") {
    words.appendMarkdown("Run this command?").appendCodeblock(command, "sh");
  } else {
    words.appendText(text);
  }
  stream.markdown(words);
  for (const kind of whole ? ["once", "reject"] : ["reject"]) {
    for (const o of q.options.filter((o) => o.kind === kind)) {
      stream.button({ command: "redline.answer", title: o.label, arguments: [q.id, o.optionId] });
    }
  }
  stream.button({ command: "redline.answerQuestion", title: whole ? "More…" : "Read and Answer…", arguments: [q.id] });
}

function remembered(context: vscode.ChatContext): string | undefined {
  for (const turn of [...context.history].reverse()) {
    const metadata = turn instanceof vscode.ChatResponseTurn ? (turn.result.metadata as Partial<Remembered> | undefined) : undefined;
    if (metadata?.sessionId) {
      return metadata.sessionId;
    }
  }
  return undefined;
}

/** The prompt, with what our commands stand for; the server knows others by itself. */
function words(request: vscode.ChatRequest): string {
  const text = request.prompt.trim();
  switch (request.command) {
    case "fix":
      return text ? `Fix this: ${text}` : "Fix the problems in what is attached.";
    case "explain":
      return text ? `Explain: ${text}` : "Explain what is attached.";
    case "compress":
      return "/compress";
    default:
      return text;
  }
}

function contextItem(r: vscode.ChatPromptReference): ContextItem | undefined {
  if (r.value instanceof vscode.Location) {
    const { uri, range } = r.value;
    const open = vscode.workspace.textDocuments.find((d) => d.uri.toString() === uri.toString());
    if (open) {
      return selectionItem(open, range).item;
    }
    const { start, end } = range;
    return {
      kind: "selection",
      uri: uri.toString(),
      range: { start: { line: start.line, character: start.character }, end: { line: end.line, character: end.character } },
    };
  }
  if (r.value instanceof vscode.Uri) {
    return ["file", "untitled"].includes(r.value.scheme) ? { kind: "file", uri: r.value.toString() } : undefined;
  }
  return typeof r.value === "string" && r.value ? { kind: "text", text: r.value } : undefined;
}
