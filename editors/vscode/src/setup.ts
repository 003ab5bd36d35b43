import * as fs from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import type { Server } from "./client";
import { config, openSetting, setConfig } from "./config";
import { findProgram } from "./locate";
import type { SignIn } from "./signin";

/**
 * Helps to a server: says what is wrong, and offers to build it from its source (there
 * is no place to download it from), to point at it, or to try again.
 */
export class Setup implements vscode.Disposable {
  private readonly subscriptions: vscode.Disposable;
  /** Whether there is, or was, something to do, or the user looks what. */
  private begun = { server: false, signIn: false };

  constructor(
    private readonly server: Server,
    private readonly signIn: SignIn,
  ) {
    this.subscriptions = vscode.Disposable.from(
      server.onDidChangeState((s) => {
        if (s === "missing" || s === "failed") {
          void this.offer();
        }
        void vscode.commands.executeCommand("setContext", "redline.serverRuns", s === "running");
        this.tick();
      }),
      signIn.onDidChange(() => this.tick()),
      vscode.commands.registerCommand("redline.buildServer", () => this.build()),
      vscode.commands.registerCommand("redline.chooseServer", () => this.choose()),
      vscode.commands.registerCommand("redline.walkthrough", () => this.walkthrough()),
    );
  }

  dispose(): void {
    this.subscriptions.dispose();
  }

  /** Opens the first steps, with what is done already ticked off. */
  private async walkthrough(): Promise<void> {
    await vscode.commands.executeCommand("workbench.action.openWalkthrough", "redline.redline#redline.start");
    this.begun = { server: true, signIn: true };
    this.tick();
  }

  /**
   * Tells how far the first steps are. The editor ticks a step off when its context changes, not when
   * it was so from the start, so nothing is told before there is something to do.
   */
  private tick(): void {
    this.begun.server ||= this.server.state === "missing" || this.server.state === "failed";
    this.begun.signIn ||= this.signIn.status?.signedIn === false;
    if (this.begun.server) {
      void vscode.commands.executeCommand("setContext", "redline.start.server", this.server.state === "running");
    }
    if (this.begun.signIn) {
      void vscode.commands.executeCommand("setContext", "redline.start.signedIn", this.signIn.status?.signedIn === true);
    }
  }

  private async offer(): Promise<void> {
    const missing = this.server.state === "missing";
    const hint = missing && !config.serverPath() && !goProgram() ? " To build it, install Go 1.26 first." : "";
    // A toast has room for three buttons.
    const actions = !missing ? ["Restart", "Open Setting", "Show Log"] : config.serverPath() ? ["Open Setting", "Choose…", "Try Again"] : [goProgram() ? "Build with Go…" : "Open Setting", "Choose…", "Try Again"];
    switch (await vscode.window.showErrorMessage(`Redline: ${this.server.problem}${hint}`, ...actions)) {
      case "Build with Go…":
        await this.build();
        break;
      case "Choose…":
        await this.choose();
        break;
      case "Open Setting":
        await openSetting("server.path");
        break;
      case "Try Again":
      case "Restart":
        await this.server.restart();
        break;
      case "Show Log":
        this.server.showOutput();
        break;
    }
  }

  private async choose(): Promise<void> {
    const picked = await vscode.window.showOpenDialog({ title: "The redline program", openLabel: "Use This Program" });
    if (picked?.[0]) {
      await setConfig("server.path", picked[0].fsPath); // which restarts the server
    }
  }

  /** Builds the server in a terminal that the user sees, and starts it. */
  private async build(): Promise<void> {
    if (!vscode.workspace.isTrusted) {
      const manage = await vscode.window.showWarningMessage("Redline: building runs programs, and this workspace is not trusted. Trust it, or open another one.", "Manage Trust");
      if (manage) {
        await vscode.commands.executeCommand("workbench.trust.manage");
      }
      return;
    }
    const go = goProgram();
    if (!go) {
      const get = await vscode.window.showErrorMessage("Redline: Go was not found in PATH. Install Go 1.26 or newer, then try again.", "Get Go");
      if (get) {
        await vscode.env.openExternal(vscode.Uri.parse("https://go.dev/dl/"));
      }
      return;
    }
    const source = await this.source();
    if (!source) {
      return;
    }
    const task = new vscode.Task(
      { type: "shell", task: "redline-build" },
      vscode.TaskScope.Workspace,
      "Build the redline server",
      "Redline",
      // Its whole path: a shell may have another PATH than the editor.
      new vscode.ShellExecution({ value: go, quoting: vscode.ShellQuoting.Strong }, ["install", "./cmd/redline"], { cwd: source }),
    );
    task.presentationOptions = { reveal: vscode.TaskRevealKind.Always, focus: false };
    const run = await vscode.tasks.executeTask(task);
    const code = await new Promise<number | undefined>((resolve) => {
      const listener = vscode.tasks.onDidEndTaskProcess((e) => {
        if (e.execution === run) {
          listener.dispose();
          resolve(e.exitCode);
        }
      });
    });
    if (code !== 0) {
      void vscode.window.showErrorMessage("Redline: the server could not be built; the terminal says why.");
      return;
    }
    await this.server.restart();
    if (this.server.state === "running") {
      void vscode.window.showInformationMessage(`Redline: the server is built and runs (${this.server.about}).`);
    }
  }

  /** The folder with the server's source: an open one, or one that the user points at. */
  private async source(): Promise<string | undefined> {
    for (const f of vscode.workspace.workspaceFolders ?? []) {
      const dir = sourceAbove(f.uri.fsPath);
      if (dir) {
        return dir;
      }
    }
    const picked = await vscode.window.showOpenDialog({
      title: "The folder with redline's source",
      openLabel: "Build Here",
      canSelectFolders: true,
      canSelectFiles: false,
    });
    const dir = picked?.[0] && sourceAbove(picked[0].fsPath);
    if (picked?.[0] && !dir) {
      const again = await vscode.window.showErrorMessage(`Redline: this is not redline's source, no go.mod in it or above it says "module redline": ${picked[0].fsPath}`, "Choose Another…");
      return again && this.source();
    }
    return dir;
  }
}

function goProgram(): string | undefined {
  return findProgram("go", process.env, process.platform, ["/usr/local/go/bin"]);
}

/** The folder of redline's module that dir is in. */
function sourceAbove(dir: string): string | undefined {
  for (let at = dir; ; at = path.dirname(at)) {
    try {
      if (/^module\s+redline\s*$/m.test(fs.readFileSync(path.join(at, "go.mod"), "utf8"))) {
        return at;
      }
    } catch {
      // not here
    }
    if (path.dirname(at) === at) {
      return undefined;
    }
  }
}
