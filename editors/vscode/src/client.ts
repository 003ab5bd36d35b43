import * as vscode from "vscode";
import type {
  ClientCapabilities,
  FeatureState,
  LanguageClient,
  LanguageClientOptions,
  ServerOptions,
  StaticFeature,
} from "vscode-languageclient/node";
import { applyGuarded } from "./applyedit";
import { config } from "./config";
import { misfit } from "./handshake";
import { locateServer } from "./locate";
import { lsp } from "./lsp";
import { Restarts } from "./restarts";
import { TraceChannel } from "./trace";

/** What the server may ask of this editor (WIRE.md §2); only what is implemented is here. */
export const capabilities = {
  version: 1,
  proposals: {},
  approve: {},
  ask: {},
  editor: {
    diagnostics: {},
    definition: {},
    references: {},
    symbols: {},
    hover: {},
    rename: {},
    openBuffers: {},
    save: {},
    format: {},
  },
};

/** How long a program may take to answer initialize, in milliseconds; redline takes about ten. */
const HELLO = 20_000;

class Marker implements StaticFeature {
  fillClientCapabilities(caps: ClientCapabilities): void {
    caps.experimental = { ...(caps.experimental as object | undefined), redline: { ...capabilities, trusted: vscode.workspace.isTrusted } };
  }
  initialize(): void {}
  getState(): FeatureState {
    return { kind: "static" };
  }
  clear(): void {}
}

/**
 * A LanguageClient registers every command of the server as one of the editor.
 * Ours are registered by this extension, which adds what the user sees.
 */
function quietClient(server: ServerOptions, options: LanguageClientOptions): LanguageClient {
  class QuietClient extends lsp().LanguageClient {
    override registerFeature(feature: Parameters<LanguageClient["registerFeature"]>[0]): void {
      const method = (feature as { registrationType?: { method: string } }).registrationType?.method;
      if (method !== "workspace/executeCommand") {
        super.registerFeature(feature);
      }
    }
  }
  return new QuietClient("redline", "Redline", server, options);
}

/** "missing": there is no program; "failed": there is one that does not work. */
export type ServerState = "stopped" | "starting" | "running" | "missing" | "failed";

/** Called for each new connection, before it starts, to install handlers. */
export type Wire = (client: LanguageClient) => void;

/** The variables that a server is started with beside the editor's own; undefined removes one. */
export type ServerEnv = () => Promise<Record<string, string | undefined>>;

/**
 * The server process and the connection to it. It is started on first need, started
 * again when it dies (later and later, and not for ever), and says what to do when
 * there is no program, or one that does not fit.
 */
export class Server implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private starting: Promise<LanguageClient | undefined> | undefined;
  private readonly restarts = new Restarts();
  private again: NodeJS.Timeout | undefined;
  private readonly changed = new vscode.EventEmitter<ServerState>();
  private readonly output: vscode.LogOutputChannel;
  private readonly traced: TraceChannel;
  private now: ServerState = "stopped";
  private disposed = false;
  /** Why there is no server, in words for the user. */
  problem = "";
  /** The running server's program and version, for the user. */
  about = "";

  readonly onDidChangeState = this.changed.event;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly env: ServerEnv,
    private readonly wire: Wire,
    /** Called with a web page's address that the editor was to open and did not. */
    private readonly notOpened: (link: string) => void,
  ) {
    this.output = vscode.window.createOutputChannel("Redline", { log: true });
    this.traced = new TraceChannel(this.output);
  }

  get state(): ServerState {
    return this.now;
  }

  showOutput(): void {
    this.output.show(true);
  }

  log(message: string): void {
    this.output.info(message);
  }

  /** The running client, started if need be; undefined when there is none to be had. */
  async get(): Promise<LanguageClient | undefined> {
    if (this.client?.isRunning()) {
      return this.client;
    }
    this.starting ??= this.start().finally(() => (this.starting = undefined));
    return this.starting;
  }

  /** Sends a request to the server, starting it if need be. */
  async request<R>(method: string, params: unknown, token?: vscode.CancellationToken): Promise<R> {
    const client = await this.get();
    if (!client) {
      throw new Error(this.problem);
    }
    return token ? client.sendRequest<R>(method, params, token) : client.sendRequest<R>(method, params);
  }

  async restart(): Promise<void> {
    await this.starting;
    this.restarts.forget();
    await this.stop();
    await this.get();
  }

  dispose(): void {
    this.disposed = true;
    void this.stop();
    this.changed.dispose();
    this.traced.dispose();
    this.output.dispose();
  }

  /** Ends the server; the editor waits for it when it shuts down. */
  async stop(): Promise<void> {
    clearTimeout(this.again);
    const client = this.client;
    this.client = undefined;
    await this.end(client);
    this.set("stopped");
  }

  private async end(client: LanguageClient | undefined): Promise<void> {
    if (client?.needsStop()) {
      await client.stop(2000).catch((e: unknown) => this.log(`stop: ${String(e)}`));
    }
    await client?.dispose().catch(() => undefined);
  }

  private set(state: ServerState, problem = ""): void {
    if (this.disposed) {
      return;
    }
    this.problem = problem;
    if (problem) {
      this.output.error(problem);
    }
    if (this.now !== state) {
      this.now = state;
      this.changed.fire(state);
    }
  }

  private async start(): Promise<LanguageClient | undefined> {
    clearTimeout(this.again);
    const setting = config.serverPath();
    const folder = vscode.workspace.workspaceFolders?.find((f) => f.uri.scheme === "file")?.uri.fsPath;
    const program = locateServer({
      setting,
      extensionDir: this.context.extensionPath,
      workspaceDir: folder,
      env: process.env,
      platform: process.platform,
    });
    if (!program) {
      this.set(
        "missing",
        setting
          ? `There is no program at "${setting}" (setting redline.server.path).`
          : "The redline program was not found: not beside the extension, not in PATH, not where Go installs programs.",
      );
      return undefined;
    }
    await this.client?.dispose().catch(() => undefined);
    this.set("starting");
    const env = Object.fromEntries(Object.entries({ ...process.env, ...(await this.env()) }).filter(([, v]) => v !== undefined));
    const args = ["serve", ...(config.shared() ? ["--remote", "auto"] : []), ...config.serverArgs()];
    const run = { command: program, args, options: { env, ...(folder ? { cwd: folder } : {}) } };
    const client: LanguageClient = quietClient(run, this.options(() => this.died(client)));
    client.registerFeature(new Marker());
    this.wire(client);
    this.client = client;
    this.log(`start ${program} ${args.join(" ")}`);
    try {
      await inTime(client.start(), HELLO, `it did not answer in ${HELLO / 1000} seconds`);
    } catch (e) {
      this.client = undefined;
      void this.end(client);
      this.set("failed", `${program} could not be started as the redline server: ${e instanceof Error ? e.message : String(e)}`);
      return undefined;
    }
    const hello = client.initializeResult;
    const wrong = hello ? misfit(program, hello) : undefined;
    if (wrong) {
      this.client = undefined;
      await this.end(client);
      this.set("failed", wrong);
      return undefined;
    }
    this.about = `${program}, version ${hello?.serverInfo?.version ?? "unknown"}`;
    this.log(`running: ${this.about}`);
    this.set("running");
    return client;
  }

  /** A client that ran is closed though nobody asked for it: its process ended. */
  private died(client: LanguageClient): void {
    if (this.client !== client || client.state !== lsp().State.Running) {
      return; // stopped by us, or it never ran, which start tells
    }
    this.client = undefined;
    const wait = this.restarts.died(Date.now());
    if (wait === undefined) {
      this.set("failed", "The redline server ended five times in three minutes and is not started again. The log says more.");
      return;
    }
    this.log(`the server ended; it is started again${wait ? ` in ${wait / 1000} s` : ""}`);
    this.set("starting");
    this.again = setTimeout(() => {
      void this.end(client);
      void this.get();
    }, wait);
  }

  private options(died: () => void): LanguageClientOptions {
    return {
      // Every document: the agent reads what is in the buffers, saved or not.
      documentSelector: [{ scheme: "file" }, { scheme: "untitled" }],
      middleware: {
        // The server's fix for a problem is ours (actions.ts), with more beside it.
        provideCodeActions: async (document, range, context, token, next) =>
          (await next(document, range, context, token))?.filter((a) => a.command === undefined || (typeof a.command === "object" && a.command.command !== "redline.fix")),
        window: {
          showDocument: async (params, token, next) => {
            const result = await next(params, token);
            if ("success" in result && !result.success && params.external) {
              this.notOpened(params.uri);
              return { success: true };
            }
            return result;
          },
        },
        workspace: {
          handleApplyEdit: (params, next) => applyGuarded(params, (p) => next(p, lsp().CancellationToken.None)),
        },
      },
      outputChannel: this.output,
      traceOutputChannel: this.traced,
      revealOutputChannelOn: lsp().RevealOutputChannelOn.Never,
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: lsp().ErrorAction.Continue, handled: true }),
        closed: () => {
          died();
          return { action: lsp().CloseAction.DoNotRestart, handled: true };
        },
      },
    };
  }
}

async function inTime<T>(work: Promise<T>, ms: number, otherwise: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => (timer = setTimeout(() => reject(new Error(otherwise)), ms)));
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
