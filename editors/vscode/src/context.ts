import * as vscode from "vscode";
import type { ContextItem } from "./ext";

/** Most text of a selection that is sent along, in UTF-16 units; the agent can read the rest itself. */
const MAX_TEXT = 64 * 1024;

/** What the user looks at, as the prompt's context, and how the chat names it. */
export interface Attention {
  items: ContextItem[];
  label: string;
  title: string;
}

const nothing: Attention = { items: [], label: "", title: "" };

/**
 * Remembers the last real text editor: while the chat has the focus there is no
 * active one, and the prompt is about the file the user came from.
 */
export class AttentionTracker implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changed.event;
  private editor: vscode.TextEditor | undefined;
  private readonly subscriptions: vscode.Disposable[];

  constructor() {
    this.take(vscode.window.activeTextEditor);
    this.subscriptions = [
      vscode.window.onDidChangeActiveTextEditor((e) => {
        this.take(e);
        this.changed.fire();
      }),
      vscode.window.onDidChangeTextEditorSelection((e) => {
        if (e.textEditor === this.editor) {
          this.changed.fire();
        }
      }),
      vscode.window.onDidChangeVisibleTextEditors((all) => {
        if (this.editor && !all.includes(this.editor)) {
          this.editor = all.find((e) => this.isOurs(e));
          this.changed.fire();
        }
      }),
    ];
  }

  now(): Attention {
    return this.editor ? attention(this.editor) : nothing;
  }

  /** The document that the user looks at. */
  document(): vscode.TextDocument | undefined {
    return this.editor?.document;
  }

  /** Gives the focus back to the editor that the user came from, and returns it. */
  async show(): Promise<vscode.TextEditor | undefined> {
    const e = this.editor;
    return e && vscode.window.showTextDocument(e.document, { ...(e.viewColumn ? { viewColumn: e.viewColumn } : {}), selection: e.selection });
  }

  dispose(): void {
    vscode.Disposable.from(...this.subscriptions, this.changed).dispose();
  }

  private take(editor: vscode.TextEditor | undefined): void {
    if (editor && this.isOurs(editor)) {
      this.editor = editor;
    }
  }

  private isOurs(editor: vscode.TextEditor): boolean {
    return editor.document.uri.scheme === "file" || editor.document.uri.scheme === "untitled";
  }
}

function attention(editor: vscode.TextEditor): Attention {
  const doc = editor.document;
  const name = vscode.workspace.asRelativePath(doc.uri);
  const base = name.slice(name.lastIndexOf("/") + 1);
  const item: ContextItem = { kind: "file", uri: doc.uri.toString(), version: doc.version };
  if (editor.selection.isEmpty) {
    return { items: [item], label: base, title: name };
  }
  const { item: selected, label } = selectionItem(doc, editor.selection);
  const text = doc.getText(editor.selection).slice(0, MAX_TEXT);
  return { items: [{ ...selected, text }], label, title: `${name}, line ${label.slice(base.length + 1)}` };
}

/**
 * A range of a document as context, and its name for the user. It has no text: the
 * server reads the lines, whole, from where it points.
 */
export function selectionItem(document: vscode.TextDocument, range: vscode.Range): { item: ContextItem; label: string } {
  const { start, end } = range;
  // A selection that ends at the start of a line does not mean that line.
  const last = end.character === 0 && end.line > start.line ? end.line - 1 : end.line;
  const lines = start.line === last ? `${start.line + 1}` : `${start.line + 1}–${last + 1}`;
  const name = vscode.workspace.asRelativePath(document.uri);
  return {
    item: {
      kind: "selection",
      uri: document.uri.toString(),
      version: document.version,
      range: {
        start: { line: start.line, character: start.character },
        end: { line: end.line, character: end.character },
      },
    },
    label: `${name.slice(name.lastIndexOf("/") + 1)}:${lines}`,
  };
}
