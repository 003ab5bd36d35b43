// Bundles the extension into dist/: extension.js (the host, with everything it needs),
// chat.js and chat.css (the webview). Fails when the host's bundle is over its budget.
import { build, context } from "esbuild";
import { rmSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const BUDGET = 500 * 1024;
const watch = process.argv.includes("--watch");
const common = { bundle: true, minify: !watch, sourcemap: watch, target: "es2022", logLevel: "warning", legalComments: "none" };
const host = {
  ...common,
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.js",
  platform: "node",
  format: "cjs",
  external: ["vscode"],
  mainFields: ["module", "main"],
};
const web = { ...common, entryPoints: { chat: "src/chat/webview/main.ts" }, outdir: "dist", platform: "browser", format: "iife" };
const css = { ...common, entryPoints: { chat: "src/chat/webview/chat.css" }, outdir: "dist" };

rmSync("dist", { recursive: true, force: true });
if (watch) {
  for (const o of [host, web, css]) {
    await (await context(o)).watch();
  }
} else {
  await Promise.all([host, web, css].map((o) => build(o)));
  for (const f of ["extension.js", "chat.js", "chat.css"]) {
    console.log(`dist/${f} ${(statSync(`dist/${f}`).size / 1024).toFixed(0)} KB`);
  }
  const size = statSync("dist/extension.js").size;
  if (size > BUDGET) {
    console.error(`dist/extension.js has ${size} bytes, more than ${BUDGET}`);
    process.exit(1);
  }
}
