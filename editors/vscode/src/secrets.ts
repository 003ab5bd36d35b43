import * as vscode from "vscode";

const KEY = "redline.geminiApiKey";

/**
 * The Gemini API key, kept in the editor's secret storage (the system's keyring)
 * and handed to the server in its environment. It is never written to settings.
 */
export class ApiKey {
  constructor(private readonly secrets: vscode.SecretStorage) {}

  /** The server's variables that follow from the stored key. */
  async env(): Promise<Record<string, string>> {
    const key = await this.secrets.get(KEY);
    return key ? { GEMINI_API_KEY: key } : {};
  }

  /** Asks the user for a key. True when it changed; empty text removes it. */
  async ask(): Promise<boolean> {
    const had = (await this.secrets.get(KEY)) !== undefined;
    const typed = await vscode.window.showInputBox({
      title: "Gemini API key",
      prompt: had
        ? "A key is stored. Type a new one, or leave this empty to remove it."
        : "Kept in the system's secret storage and given to the redline server alone.",
      password: true,
      ignoreFocusOut: true,
      validateInput: (v) => (/\s/.test(v.trim()) ? "A key has no spaces in it." : undefined),
    });
    if (typed === undefined || (typed.trim() === "" && !had)) {
      return false;
    }
    if (typed.trim() === "") {
      await this.secrets.delete(KEY);
    } else {
      await this.secrets.store(KEY, typed.trim());
    }
    return true;
  }
}
