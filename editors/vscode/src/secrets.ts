import * as vscode from "vscode";

/**
 * A key in the editor's secret storage (the system's keyring on a desktop). It is handed to
 * the server in its environment or in a request, and never written to settings or logs.
 */
export class StoredKey {
  constructor(
    private readonly secrets: vscode.SecretStorage,
    private readonly name: string,
  ) {}

  async get(): Promise<string | undefined> {
    return (await this.secrets.get(this.name)) || undefined;
  }

  async set(key: string): Promise<void> {
    await this.secrets.store(this.name, key);
  }

  async remove(): Promise<void> {
    await this.secrets.delete(this.name);
  }
}

/** Asks for a key without showing it; undefined when the user goes back. */
export async function askKey(title: string, prompt: string, wrong?: string): Promise<string | undefined> {
  const typed = await vscode.window.showInputBox({
    title,
    prompt: wrong ?? prompt,
    password: true,
    ignoreFocusOut: true,
    validateInput: (v) => (/\s/.test(v.trim()) ? "A key has no spaces in it." : undefined),
  });
  return typed?.trim();
}
