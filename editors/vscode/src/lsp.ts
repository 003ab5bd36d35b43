import type * as languageclient from "vscode-languageclient/node";

let loaded: typeof languageclient | undefined;

/**
 * The language client. It is most of the extension's code and a bundle of its own, loaded
 * when the server is started: the editor's start does not wait for it.
 */
export function lsp(): typeof languageclient {
  return (loaded ??= require("./languageclient.js") as typeof languageclient);
}
