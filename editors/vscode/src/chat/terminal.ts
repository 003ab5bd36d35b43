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

  /** The last command of the terminal that the user looks at, and what it printed; undefined: none is known. */
  async read(): Promise<{ label: string; text: string } | undefined> {
    const terminal = vscode.window.activeTerminal ?? vscode.window.terminals.at(-1);
    const kept = terminal && this.last.get(terminal);
    if (!kept) {
      return undefined;
    }
    // What a short command prints may be over before anybody listens; the editor has it still.
    const output = plain(kept.output) || plain(await copied("workbench.action.terminal.copyLastCommandOutput"));
    const exit = kept.exit === undefined ? "" : `\n[exit code ${kept.exit}]`;
    return { label: `terminal: ${kept.command.slice(0, 40)}`, text: `$ ${kept.command}\n${output.slice(-MAX)}${exit}` };
  }
}

/** The selected text of the terminal; without any the editor says so by itself, and it is empty. */
export async function terminalSelection(): Promise<{ label: string; text: string }> {
  return { label: "terminal selection", text: (await copied("workbench.action.terminal.copySelection")).trimEnd() };
}

/** What a command of the editor copies. It tells by the clipboard alone, which is put back. */
async function copied(command: string): Promise<string> {
  const before = await vscode.env.clipboard.readText();
  const mark = `redline ${Date.now()}`;
  try {
    await vscode.env.clipboard.writeText(mark);
    await vscode.commands.executeCommand(command);
    const text = await vscode.env.clipboard.readText();
    return text === mark ? "" : text;
  } catch {
    return ""; // an editor without the command
  } finally {
    await vscode.env.clipboard.writeText(before);
  }
}
