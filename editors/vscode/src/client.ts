import * as vscode from "vscode";
import {
  CancellationToken,
  CloseAction,
  ErrorAction,
  LanguageClient,
  RevealOutputChannelOn,
  State,
  type ClientCapabilities,
  type FeatureState,
  type LanguageClientOptions,
  type ServerOptions,
  type StaticFeature,
} from "vscode-languageclient/node";
import { unseenChange } from "./applyedit";
import { config, openSetting } from "./config";
import { locateServer } from "./locate";
import type { ApiKey } from "./secrets";

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
 * LanguageClient registers every command of the server as one of the editor.
 * Ours are registered by this extension, which adds what the user sees.
 */
class QuietClient extends LanguageClient {
  override registerFeature(feature: Parameters<LanguageClient["registerFeature"]>[0]): void {
    const method = (feature as { registrationType?: { method: string } }).registrationType?.method;
    if (method !== "workspace/executeCommand") {
      super.registerFeature(feature);
    }
  }
}

export type ServerState = "stopped" | "starting" | "running" | "missing" | "failed";

/** Called for each new connection, before it starts, to install handlers. */
export type Wire = (client: LanguageClient) => void;

/**
 * The server process and the connection to it. It is started on first need,
 * started again when it dies (not more than four times in three minutes), and
 * says what to do when there is no program to start.
 */
export class Server implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private starting: Promise<LanguageClient | undefined> | undefined;
  private readonly deaths: number[] = [];
  private readonly changed = new vscode.EventEmitter<ServerState>();
  private readonly output: vscode.LogOutputChannel;
  private now: ServerState = "stopped";
  /** Why there is no server, in words for the user. */
  problem = "";

  readonly onDidChangeState = this.changed.event;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly key: ApiKey,
    private readonly wire: Wire,
  ) {
    this.output = vscode.window.createOutputChannel("Redline", { log: true });
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
    if (this.client?.state === State.Starting && !this.starting) {
      // It died and is being started again by the client itself.
      const client = this.client;
      return client.start().then(
        () => client,
        () => undefined,
      );
    }
    this.starting ??= this.start().finally(() => (this.starting = undefined));
    return this.starting;
  }

  /** Sends a request to the server, starting it if need be. */
  async request<R>(method: string, params: unknown): Promise<R> {
    const client = await this.get();
    if (!client) {
      throw new Error(this.problem);
    }
    return client.sendRequest<R>(method, params);
  }

  async restart(): Promise<void> {
    await this.starting;
    this.deaths.length = 0;
    await this.stop();
    await this.get();
  }

  dispose(): void {
    void this.stop();
    this.changed.dispose();
    this.output.dispose();
  }

  /** Ends the server; the editor waits for it when it shuts down. */
  async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    if (client?.needsStop()) {
      await client.stop(2000).catch((e: unknown) => this.log(`stop: ${String(e)}`));
    }
    await client?.dispose().catch(() => undefined);
    this.set("stopped");
  }

  private set(state: ServerState, problem = ""): void {
    this.problem = problem;
    if (this.now !== state) {
      this.now = state;
      this.changed.fire(state);
    }
  }

  private async start(): Promise<LanguageClient | undefined> {
    const setting = config.serverPath();
    const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
    const program = locateServer({
      setting,
      extensionDir: this.context.extensionPath,
      workspaceDir: folder,
      env: process.env,
      platform: process.platform,
    });
    if (!program) {
      this.reportMissing(setting);
      return undefined;
    }
    await this.client?.dispose().catch(() => undefined);
    this.set("starting");
    const options = { env: { ...process.env, ...(await this.key.env()) }, ...(folder ? { cwd: folder } : {}) };
    const run = { command: program, args: ["serve", ...config.serverArgs()], options };
    const client = new QuietClient("redline", "Redline", run satisfies ServerOptions, this.options());
    client.registerFeature(new Marker());
    this.wire(client);
    client.onDidChangeState((e) => {
      if (this.client === client && e.newState === State.Running) {
        this.set("running");
      } else if (this.client === client && e.newState === State.Starting) {
        this.set("starting");
      }
    });
    this.client = client;
    this.log(`start ${program} ${run.args.join(" ")}`);
    try {
      await client.start();
    } catch (e) {
      this.set("failed", `The redline server could not be started: ${e instanceof Error ? e.message : String(e)}`);
      this.log(this.problem);
      return undefined;
    }
    this.set("running");
    return client;
  }

  private options(): LanguageClientOptions {
    return {
      // Every document: the agent reads what is in the buffers, saved or not.
      documentSelector: [{ scheme: "file" }, { scheme: "untitled" }],
      middleware: {
        workspace: {
          handleApplyEdit: (params, next) => {
            const failureReason = unseenChange(params);
            return failureReason ? { applied: false, failureReason } : next(params, CancellationToken.None);
          },
        },
      },
      outputChannel: this.output,
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationFailedHandler: () => false,
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue }),
        closed: () => {
          const now = Date.now();
          this.deaths.push(now);
          while (this.deaths[0] !== undefined && now - this.deaths[0] > 3 * 60_000) {
            this.deaths.shift();
          }
          if (this.deaths.length <= 4) {
            return { action: CloseAction.Restart, handled: true };
          }
          this.set("failed", "The redline server ended five times in three minutes and is not started again.");
          void this.offer(this.problem, ["Restart", "Show Log"]);
          return { action: CloseAction.DoNotRestart, handled: true };
        },
      },
    };
  }

  private reportMissing(setting: string): void {
    const first = this.now !== "missing";
    this.set(
      "missing",
      setting
        ? `There is no program at "${setting}" (setting redline.server.path).`
        : "The redline program was not found: not in PATH, not where `go install` puts it. Set its path, or install it.",
    );
    this.log(this.problem);
    if (first) {
      void this.offer(this.problem, ["Open Setting", "Try Again"]);
    }
  }

  private async offer(message: string, actions: string[]): Promise<void> {
    switch (await vscode.window.showErrorMessage(message, ...actions)) {
      case "Open Setting":
        await openSetting("server.path");
        break;
      case "Try Again":
      case "Restart":
        await this.restart();
        break;
      case "Show Log":
        this.showOutput();
        break;
    }
  }
}
