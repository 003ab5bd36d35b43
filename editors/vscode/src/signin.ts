import * as vscode from "vscode";
import type { Server } from "./client";
import { config, setConfig, type AuthMethod } from "./config";
import { method as wire, type AuthLoginParams, type AuthStatus } from "./ext";
import { lsp } from "./lsp";
import { noLinks } from "./questiontext";
import { askKey, StoredKey } from "./secrets";
import { message } from "./session";
import { signInEnv } from "./signinenv";

/** What the ways to sign in are called. */
export const methodNames: Record<string, string> = {
  "gemini-api-key": "Gemini API key",
  "oauth-personal": "Google account",
  "vertex-ai": "Vertex AI",
  "cloud-shell": "Cloud Shell or a machine of Google Cloud",
};

/** Where a credential is from that is left when the user has signed out. */
const sources: Record<string, string> = {
  environment: "the key is in the environment",
  saved: "the sign-in is kept",
  default: "there are application default credentials",
  machine: "the credentials come with the machine",
};

/**
 * How the model is reached: the keys this editor keeps, the ways to sign in, and what
 * the server says of it.
 */
export class SignIn implements vscode.Disposable {
  private readonly apiKey: StoredKey;
  private readonly expressKey: StoredKey;
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changed.event;
  private subscriptions: vscode.Disposable[] = [];
  private server!: Server;
  /** As the server told last; undefined before. */
  status: AuthStatus | undefined;
  /** Whether a change of settings is this object's own. */
  changing = false;

  constructor(secrets: vscode.SecretStorage) {
    this.apiKey = new StoredKey(secrets, "redline.geminiApiKey");
    this.expressKey = new StoredKey(secrets, "redline.vertexExpressKey");
  }

  /** Begins to work with the server, which was made with env. */
  attach(server: Server): void {
    this.server = server;
    this.subscriptions = [
      server.onDidChangeState((s) => s === "running" && void this.refresh()),
      vscode.commands.registerCommand("redline.signIn", (method?: unknown) => this.signIn(typeof method === "string" ? (method as AuthMethod) : undefined)),
      vscode.commands.registerCommand("redline.signOut", () => this.signOut()),
      vscode.commands.registerCommand("redline.setApiKey", () => this.withKey()),
      vscode.commands.registerCommand("redline.signInCode", () => this.pasteCode()),
    ];
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions, this.changed).dispose();
  }

  /** The server's variables. */
  async env(): Promise<Record<string, string | undefined>> {
    return signInEnv({
      method: config.authMethod(),
      apiKey: await this.apiKey.get(),
      expressKey: await this.expressKey.get(),
      project: config.vertexProject(),
      location: config.vertexLocation(),
    });
  }

  /** Asks the server anew how the model is reached; nothing goes over the network for it. */
  async refresh(): Promise<void> {
    try {
      this.take(await this.server.request<AuthStatus>(wire.authStatus, {}));
    } catch (e) {
      this.server.log(`${wire.authStatus}: ${message(e)}`);
    }
  }

  private take(status: AuthStatus): void {
    this.status = status;
    void vscode.commands.executeCommand("setContext", "redline.signedIn", status.signedIn);
    this.changed.fire();
  }

  private async signIn(chosen?: AuthMethod): Promise<void> {
    if (!(await this.server.get())) {
      void vscode.window.showErrorMessage(`Redline: ${this.server.problem}`);
      return;
    }
    const now = this.status?.signedIn ? this.status.method : undefined;
    const item = (id: AuthMethod, description: string) => ({
      id,
      label: methodNames[id] ?? id,
      description: id === now ? "in use" : "",
      detail: description,
    });
    const method =
      chosen ??
      (
        await vscode.window.showQuickPick(
          [
            item("gemini-api-key", "A key from Google AI Studio; kept in this editor's secret storage."),
            item("oauth-personal", "In the browser, for Code Assist. Needs an OAuth client of your own."),
            item("vertex-ai", "A Google Cloud project, or an express key."),
            item("cloud-shell", "Where credentials come with the machine."),
          ],
          { ignoreFocusOut: true, title: "Sign in to Redline", placeHolder: "How is the model reached?", matchOnDetail: true },
        )
      )?.id;
    switch (method) {
      case "gemini-api-key":
        return this.withKey();
      case "vertex-ai":
        return this.withVertex();
      case "oauth-personal":
      case "cloud-shell":
        return this.withMethod(method);
    }
  }

  /** Asks for a key until one is good, and keeps that one. */
  private async withKey(): Promise<void> {
    const had = await this.apiKey.get();
    const prompt = had
      ? "A key is stored. Type a new one, or leave this empty to remove it."
      : "Get one at aistudio.google.com/apikey. It is kept in the editor's secret storage.";
    let wrong: string | undefined;
    for (;;) {
      const key = await askKey("Gemini API key", prompt, wrong);
      if (key === undefined || (key === "" && !had)) {
        return;
      }
      if (key === "") {
        await this.apiKey.remove();
        await this.server.restart();
        void vscode.window.showInformationMessage("Redline: the key was removed.");
        return;
      }
      try {
        // The server tries the key out; it does not keep it, this editor does.
        const status = await this.login({ method: "gemini-api-key", apiKey: key, keep: "memory" });
        if (!status) {
          return;
        }
        await this.apiKey.set(key);
        await this.choose("gemini-api-key");
        this.welcome(status);
        return;
      } catch (e) {
        wrong = message(e);
      }
    }
  }

  private async withVertex(): Promise<void> {
    const how = await vscode.window.showQuickPick(
      [
        { id: "project", label: "Project and location", detail: "With application default credentials: gcloud auth application-default login" },
        { id: "express", label: "Express key", detail: "A key of Vertex AI's express mode; kept in this editor's secret storage." },
      ],
      { title: "Vertex AI", ignoreFocusOut: true },
    );
    if (how?.id === "project") {
      const project = await vscode.window.showInputBox({
        title: "Google Cloud project",
        prompt: "Its id, for example my-project-123",
        value: config.vertexProject(),
        ignoreFocusOut: true,
        validateInput: (v) => (/^[a-z0-9:.-]+$/.test(v.trim()) ? undefined : "A project's id has lower-case letters, digits and hyphens."),
      });
      if (project === undefined) {
        return;
      }
      const location = await vscode.window.showInputBox({
        title: "Location",
        prompt: "For example us-central1 or global",
        value: config.vertexLocation() || "us-central1",
        ignoreFocusOut: true,
        validateInput: (v) => (/^[a-z0-9-]+$/.test(v.trim()) ? undefined : "A location is a word such as europe-west4."),
      });
      if (location === undefined) {
        return;
      }
      const undo = await this.remember();
      await this.write("auth.vertexProject", project.trim());
      await this.write("auth.vertexLocation", location.trim());
      await this.withMethod("vertex-ai", undo);
    } else if (how?.id === "express") {
      await this.withExpressKey();
    }
  }

  private async withExpressKey(): Promise<void> {
    for (let wrong: string | undefined; ; ) {
      const key = await askKey("Vertex AI express key", "It is kept in the editor's secret storage.", wrong);
      if (!key) {
        return;
      }
      const undo = await this.remember();
      await this.expressKey.set(key);
      await this.write("auth.vertexProject", undefined);
      wrong = await this.attempt("vertex-ai", undo);
      if (wrong === undefined) {
        return;
      }
    }
  }

  /** Signs in by a method, and says what was wrong. */
  private async withMethod(method: AuthMethod, undo?: () => Promise<void>): Promise<void> {
    const wrong = await this.attempt(method, undo ?? (await this.remember()));
    if (wrong !== undefined) {
      void vscode.window.showErrorMessage(`Redline: ${noLinks(wrong)}`, "Sign In Another Way").then((again) => again && this.signIn());
    }
  }

  /**
   * Signs in by a method for which the server needs other variables than it has; when it fails, or
   * is stopped, undo is called: what worked before goes on working. Returns why it failed.
   */
  private async attempt(method: AuthMethod, undo: () => Promise<void>): Promise<string | undefined> {
    await this.choose(method);
    await this.server.restart();
    let wrong: string | undefined;
    try {
      const status = await this.login({ method });
      if (status) {
        this.welcome(status);
        return undefined;
      }
    } catch (e) {
      wrong = message(e);
    }
    await undo();
    await this.server.restart();
    return wrong;
  }

  /** Returns what puts the present choice back. */
  private async remember(): Promise<() => Promise<void>> {
    const [method, project, location, key] = [config.authMethod(), config.vertexProject(), config.vertexLocation(), await this.expressKey.get()];
    return async () => {
      await this.write("auth.method", method === "auto" ? undefined : method);
      await this.write("auth.vertexProject", project || undefined);
      await this.write("auth.vertexLocation", location || undefined);
      await (key === undefined ? this.expressKey.remove() : this.expressKey.set(key));
    };
  }

  private async choose(method: AuthMethod): Promise<void> {
    // "auto" takes a stored key too; a setting is written only where it is needed.
    const plain = method === "gemini-api-key" && ["auto", "gemini-api-key"].includes(config.authMethod());
    if (!plain && config.authMethod() !== method) {
      await this.write("auth.method", method);
    }
  }

  private async write(setting: string, value: string | undefined): Promise<void> {
    const now = vscode.workspace.getConfiguration("redline");
    if ((value ?? now.inspect(setting)?.defaultValue) === now.get(setting)) {
      return;
    }
    this.changing = true; // the server is restarted once, when all is written
    try {
      await setConfig(setting, value);
    } finally {
      this.changing = false;
    }
  }

  /** Has the server sign in, with its progress shown; undefined when the user stopped it. */
  private async login(params: AuthLoginParams): Promise<AuthStatus | undefined> {
    const client = await this.server.get();
    if (!client) {
      throw new Error(this.server.problem);
    }
    const token = `redline.signin.${Date.now()}`;
    const title = `Redline: signing in with ${methodNames[params.method ?? ""] ?? "your account"}`;
    return vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, cancellable: true, title }, async (progress, cancelled) => {
      const far = vscode.env.remoteName !== undefined || vscode.env.uiKind === vscode.UIKind.Web;
      const hint = far ? ". If it ends at a page that does not load, copy the address of that page" : "";
      const paste = params.method === "oauth-personal" ? " — [Paste the code…](command:redline.signInCode)" : "";
      const workDone = new (lsp().ProgressType)<{ kind: string; message?: string }>();
      const listener = client.onProgress(workDone, token, (p) => {
        if (p.message) {
          progress.report({ message: noLinks(p.message) + (p.message.startsWith("Waiting") ? hint : "") + (/^(Signed in|Code Assist)/.test(p.message) ? "" : paste) });
        }
      });
      try {
        const status = await this.server.request<AuthStatus>(wire.authLogin, { ...params, workDoneToken: token }, cancelled);
        this.take(status);
        return status;
      } catch (e) {
        if (cancelled.isCancellationRequested) {
          return undefined;
        }
        throw e;
      } finally {
        listener.dispose();
      }
    });
  }

  private welcome(status: AuthStatus): void {
    const who = [methodNames[status.method ?? ""] ?? status.method, status.account, status.project].filter(Boolean).join(", ");
    const text = `Redline: signed in (${who}).${status.message && !/^(Trying|Signed in)/.test(status.message) ? ` ${status.message}` : ""}`;
    void vscode.window.showInformationMessage(text, "Ask").then((ask) => ask && vscode.commands.executeCommand("redline.ask"));
  }

  /** Says what to do when the editor did not open the page to sign in: the user said no, or there is no browser. */
  notOpened(link: string): void {
    void vscode.window.showInformationMessage("Redline: the page to sign in was not opened. Open it in any browser.", "Open", "Copy Link").then((choice) => {
      if (choice === "Open") {
        void vscode.env.openExternal(vscode.Uri.parse(link)).then((opened) => opened || this.notOpened(link));
      } else if (choice) {
        void vscode.env.clipboard.writeText(link).then(() => this.notOpened(link));
      }
    });
  }

  /** For a browser that cannot reach this machine: its last address has the code. */
  private async pasteCode(): Promise<void> {
    const code = await vscode.window.showInputBox({
      title: "Sign in with Google",
      prompt: "Paste the address that the browser ended at, or the code in it.",
      password: true,
      ignoreFocusOut: true,
    });
    if (code?.trim()) {
      await this.server.request(wire.authComplete, { code: code.trim() }).catch((e: unknown) => vscode.window.showErrorMessage(`Redline: ${message(e)}`));
    }
  }

  /** Forgets every key and sign-in on this machine. */
  private async signOut(): Promise<void> {
    const yes = await vscode.window.showWarningMessage(
      "Sign out of Redline?",
      { modal: true, detail: "The keys kept in this editor and the sign-ins kept by the redline server are removed. Keys in your environment stay." },
      "Sign Out",
    );
    if (yes !== "Sign Out") {
      return;
    }
    await this.apiKey.remove();
    await this.expressKey.remove();
    await this.write("auth.method", undefined);
    let told: string | undefined;
    try {
      await this.server.request(wire.authLogout, {});
    } catch (e) {
      told = message(e);
    }
    await this.server.restart();
    await this.refresh();
    const left = this.status?.signedIn && this.status.method ? ` ${methodNames[this.status.method] ?? this.status.method} can still be used: ${sources[this.status.source ?? ""] ?? "it was found"}.` : "";
    if (told !== undefined) {
      void vscode.window.showWarningMessage(`Redline: ${noLinks(told)}${left}`);
    } else {
      void vscode.window.showInformationMessage(`Redline: you are signed out.${left}`);
    }
  }
}
