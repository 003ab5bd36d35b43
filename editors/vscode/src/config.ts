import * as vscode from "vscode";
import type { Mode } from "./ext";

/** The ways to reach the model that the user can choose; "auto" leaves it to the server. */
export type AuthMethod = "auto" | "gemini-api-key" | "oauth-personal" | "vertex-ai" | "cloud-shell";

/** Settings as the user has them now; every name here is declared in package.json. */
export const config = {
  serverPath: () => get<string>("server.path", "").trim(),
  serverArgs: () => get<string[]>("server.args", []),
  /** Whether the windows of this machine share one server process. */
  shared: () => get<boolean>("server.shared", false),
  model: () => get<string>("model", "").trim(),
  mode: () => get<Mode>("mode", "default"),
  /** When edits are reviewed: "step", "turn", or "" for the server's own setting. */
  reviewAt: () => get<string>("reviewAt", ""),
  restoreSession: () => get<boolean>("restoreSession", true),
  authMethod: () => get<AuthMethod>("auth.method", "auto"),
  vertexProject: () => get<string>("auth.vertexProject", "").trim(),
  vertexLocation: () => get<string>("auth.vertexLocation", "").trim(),
  traced: () => get<string>("trace.server", "off") !== "off",
};

function get<T>(name: string, fallback: T): T {
  return vscode.workspace.getConfiguration("redline").get<T>(name) ?? fallback;
}

/** Changes a setting of the user's. */
export async function setConfig(name: string, value: unknown): Promise<void> {
  await vscode.workspace.getConfiguration("redline").update(name, value, vscode.ConfigurationTarget.Global);
}

/** Opens the settings at redline's of this name, on the machine where the extension runs. */
export async function openSetting(name: string): Promise<void> {
  const query = `@id:redline.${name}`;
  if (vscode.env.remoteName !== undefined) {
    await vscode.commands.executeCommand("workbench.action.openRemoteSettings", { query });
  } else {
    await vscode.commands.executeCommand("workbench.action.openSettings", query);
  }
}
