// Bundles the extension into dist/: extension.js and languageclient.js (the host), chat.js and chat.css (the webview).
import { build, context } from "esbuild";
import { rmSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { slim } from "./slim.mjs";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const watch = process.argv.includes("--watch");
const common = { bundle: true, minify: !watch, sourcemap: watch, target: "es2022", logLevel: "warning", legalComments: "none", charset: "utf8" };

const host = {
  ...common,
  plugins: [slim(process.cwd())],
  // The client has a bundle of its own: src/lsp.ts says why.
  entryPoints: { extension: "src/extension.ts", languageclient: "vscode-languageclient/node" },
  outdir: "dist",
  platform: "node",
  format: "cjs",
  external: ["vscode", "./languageclient.js"],
  mainFields: ["module", "main"],
};
const web = {
  ...common,
  // Tables of all names of signs and of all kinds of addresses are a third of the view's code.
  alias: { entities: "./src/chat/webview/entities.ts", "linkify-it": "./src/chat/webview/linkify.ts", "punycode.js": "./src/chat/webview/punycode.ts", "uc.micro": "./src/chat/webview/signs.ts" },
  entryPoints: { chat: "src/chat/webview/main.ts" },
  outdir: "dist",
  platform: "browser",
  format: "iife",
};
const css = { ...common, entryPoints: { chat: "src/chat/webview/chat.css" }, outdir: "dist" };

rmSync("dist", { recursive: true, force: true });
if (watch) {
  for (const o of [host, web, css]) {
    await (await context(o)).watch();
  }
} else {
  await Promise.all([host, web, css].map((o) => build(o)));
  for (const f of ["extension.js", "languageclient.js", "chat.js", "chat.css"]) {
    console.log(`dist/${f} ${(statSync(`dist/${f}`).size / 1024).toFixed(0)} KB`);
  }
}
