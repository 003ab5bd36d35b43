import * as vscode from "vscode";
import { config } from "./config";
import { withoutSecrets } from "./redaction";

/**
 * Where the language client writes its trace: the extension's own output channel, whenever the
 * setting redline.trace.server says so. (The client itself asks for the channel's log
 * level instead, which hides the setting's trace until the user finds that too.)
 */
export class TraceChannel implements vscode.LogOutputChannel {
  private readonly level = new vscode.EventEmitter<vscode.LogLevel>();
  readonly onDidChangeLogLevel = this.level.event;
  private readonly listeners: vscode.Disposable;

  constructor(private readonly output: vscode.LogOutputChannel) {
    const changed = () => this.level.fire(this.logLevel);
    this.listeners = vscode.Disposable.from(
      output.onDidChangeLogLevel(changed),
      vscode.workspace.onDidChangeConfiguration((e) => e.affectsConfiguration("redline.trace.server") && changed()),
    );
  }

  get name(): string {
    return this.output.name;
  }
  get logLevel(): vscode.LogLevel {
    return config.traced() ? vscode.LogLevel.Trace : this.output.logLevel;
  }

  trace(message: string): void {
    const text = withoutSecrets(message);
    if (this.output.logLevel === vscode.LogLevel.Trace) {
      this.output.trace(text);
    } else {
      this.output.info(text);
    }
  }
  debug(message: string): void {
    this.trace(message);
  }
  info(message: string): void {
    this.output.info(withoutSecrets(message));
  }
  warn(message: string): void {
    this.output.warn(withoutSecrets(message));
  }
  error(error: string | Error): void {
    this.output.error(typeof error === "string" ? withoutSecrets(error) : error);
  }
  append(value: string): void {
    this.trace(value);
  }
  appendLine(value: string): void {
    this.trace(value);
  }
  replace(value: string): void {
    this.trace(value);
  }
  clear(): void {
    this.output.clear();
  }
  show(column?: vscode.ViewColumn | boolean, preserveFocus?: boolean): void {
    this.output.show(typeof column === "boolean" ? column : preserveFocus);
  }
  hide(): void {
    this.output.hide();
  }
  dispose(): void {
    this.listeners.dispose();
    this.level.dispose();
  }
}
