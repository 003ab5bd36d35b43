import * as vscode from "vscode";

/** Settings as the user has them now; every name here is declared in package.json. */
export const config = {
  serverPath: () => get<string>("server.path", "").trim(),
  serverArgs: () => get<string[]>("server.args", []),
  model: () => get<string>("model", "").trim(),
};

function get<T>(name: string, fallback: T): T {
  return vscode.workspace.getConfiguration("redline").get<T>(name) ?? fallback;
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
