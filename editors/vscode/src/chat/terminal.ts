import * as vscode from "vscode";
import { plain } from "./terminaltext";

/** Most output of a command that is kept, in UTF-16 units; its end says most. */
const MAX = 32 * 1024;

/**
 * The last command of each terminal and what it printed, as far as the shell tells the
 * editor (shell integration). Kept from the start on, for the editor gives no output afterwards.
 */
export class Terminals implements vscode.Disposable {
  private readonly last = new Map<vscode.Terminal, { command: string; output: string; exit?: number }>();
  private readonly subscriptions: vscode.Disposable[] = [];

  constructor() {
    this.subscriptions.push(
      vscode.window.onDidStartTerminalShellExecution(async (e) => {
        const kept = { command: e.execution.commandLine.value, output: "" };
        this.last.set(e.terminal, kept);
        for await (const data of e.execution.read()) {
          kept.output = (kept.output + data).slice(-MAX);
        }
      }),
      vscode.window.onDidEndTerminalShellExecution((e) => {
        const kept = this.last.get(e.terminal);
        if (kept && e.exitCode !== undefined) {
          kept.exit = e.exitCode;
        }
      }),
      vscode.window.onDidCloseTerminal((t) => this.last.delete(t)),
    );
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  /** What the user means by "the terminal": what is selected in it, else its last command; undefined: neither is there. */
  async read(): Promise<{ label: string; text: string } | undefined> {
    const terminal = vscode.window.activeTerminal ?? vscode.window.terminals.at(-1);
    if (!terminal) {
      return undefined;
    }
    const selected = await selection();
    if (selected) {
      return { label: "terminal selection", text: selected };
    }
    const kept = this.last.get(terminal) ?? [...this.last.values()].at(-1);
    if (!kept) {
      return undefined;
    }
    const exit = kept.exit === undefined ? "" : `\n[exit code ${kept.exit}]`;
    return { label: `terminal: ${kept.command.slice(0, 40)}`, text: `$ ${kept.command}\n${plain(kept.output)}${exit}` };
  }
}

/** The selected text of the terminal. The editor tells it through the clipboard alone, which is put back. */
async function selection(): Promise<string> {
  const before = await vscode.env.clipboard.readText();
  const mark = "\u0000redline";
  try {
    await vscode.env.clipboard.writeText(mark);
    await vscode.commands.executeCommand("workbench.action.terminal.copySelection");
    const copied = await vscode.env.clipboard.readText();
    return copied === mark || copied === "\uFFFDredline" ? "" : copied.trim();
  } catch {
    return "";
  } finally {
    await vscode.env.clipboard.writeText(before);
  }
}
