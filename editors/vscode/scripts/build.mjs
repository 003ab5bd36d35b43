// Bundles the extension into dist/: extension.js and languageclient.js (the host), chat.js and chat.css (the webview).
import { build, context } from "esbuild";
import { readFileSync, rmSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const watch = process.argv.includes("--watch");
const common = { bundle: true, minify: !watch, sourcemap: watch, target: "es2022", logLevel: "warning", legalComments: "none", charset: "utf8" };

// The language client brings a feature for everything a server can offer; these the redline
// server never offers. Each is bundled as one that does nothing, which saves a third
// of the host's code. The client's check of the editor's version and its globs go
// too: package.json has the one, and the server's file filters are all "**".
const unused =
  "callHierarchy|codeLens|colorProvider|completion|declaration|definition|diagnostic|documentHighlight|documentLink|documentSymbol|executeCommand|fileSystemWatcher|foldingRange|formatting|hover|implementation|inlayHint|inlineCompletion|inlineValue|linkedEditingRange|notebook|reference|rename|selectionRange|semanticTokens|signatureHelp|textDocumentContent|typeDefinition|typeHierarchy|workspaceSymbol";
const trimmed = {
  name: "trimmed",
  setup(b) {
    b.onLoad({ filter: new RegExp(`vscode-languageclient[\\\\/]lib[\\\\/]common[\\\\/](${unused})\\.js$`) }, ({ path }) => {
      const names = new Set([...readFileSync(path, "utf8").matchAll(/^exports\.(\w+) = /gm)].map((m) => m[1]));
      return {
        contents: `class Off { fillClientCapabilities() {} initialize() {} getState() { return { kind: "static" }; } clear() {} dispose() {} }
${[...names].map((n) => `exports.${n} = Off;`).join("\n")}`,
      };
    });
    // The messages of those features: the client looks at the method of one of them only.
    b.onLoad({ filter: /vscode-languageserver-protocol[\\/]lib[\\/]common[\\/]protocol\.(notebook|diagnostic|callHierarchy|typeHierarchy|foldingRange|inlineValue|colorProvider|textDocumentContent|moniker|linkedEditingRange|inlineCompletion|implementation|typeDefinition|selectionRange|declaration)\.js$/ }, ({ path }) => {
      const names = new Set([...readFileSync(path, "utf8").matchAll(/exports\.(\w+) = (?=[A-Za-z{])/g)].map((m) => m[1]));
      return { contents: `const off = { type: { method: "" }, method: "" };\n${[...names].map((n) => `exports.${n} = off;`).join("\n")}` };
    });
    // Every file of the client's packages has a copy of what the compiler needs for imports.
    b.onLoad({ filter: /node_modules[\\/]vscode-(languageclient|languageserver-protocol|jsonrpc)[\\/]lib[\\/].*\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8")
        .replace(/^var __createBinding = [^]*?^\}\)\);$/m, "")
        .replace(/^var __setModuleDefault = [^]*?^\}\);$/m, "")
        .replace(/^var __importStar = [^]*?^\}\)\(\);$/m, "const __importStar = (m) => m;")
        .replace(/^var __exportStar = [^]*?^\};$/m, "const __exportStar = (m, e) => { for (const k in m) { if (!(k in e)) { e[k] = m[k]; } } };"),
    }));
    b.onLoad({ filter: /node_modules[\\/]semver[\\/]functions[\\/]\w+\.js$/ }, () => ({ contents: "module.exports = (version) => version;" }));
    b.onLoad({ filter: /node_modules[\\/]minimatch[\\/]dist[\\/]commonjs[\\/]index\.js$/ }, () => ({
      contents: `exports.Minimatch = class { constructor(glob) { if (glob !== "**") { throw new Error("glob " + glob); } } match() { return true; } };`,
    }));
  },
};
const host = {
  ...common,
  plugins: [trimmed],
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
