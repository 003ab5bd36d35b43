// Bundles test/*.test.ts into out/ and runs them with Node's own test runner.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const entryPoints = readdirSync("test").filter((f) => f.endsWith(".test.ts")).map((f) => `test/${f}`);
rmSync("out", { recursive: true, force: true });
await build({
  entryPoints,
  outdir: "out",
  outExtension: { ".js": ".mjs" },
  bundle: true,
  alias: { entities: "./src/chat/webview/entities.ts", "linkify-it": "./src/chat/webview/linkify.ts", "punycode.js": "./src/chat/webview/punycode.ts", "uc.micro": "./src/chat/webview/signs.ts" }, // as in build.mjs
  platform: "node",
  format: "esm",
  target: "node20",
  sourcemap: "inline",
  logLevel: "warning",
});
const files = entryPoints.map((f) => f.replace(/^test/, "out").replace(/ts$/, "mjs"));
const run = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...process.argv.slice(2), ...files], { stdio: "inherit" });
process.exit(run.status ?? 1);
