// Leaves out of the bundle what the extension does not use of the language client, more than half of it,
// and what costs time at the start.
import { readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";

// The client brings a feature for everything a server can offer; these the redline server
// never offers. Each is bundled as one that does nothing.
const features =
  "callHierarchy|codeLens|colorProvider|completion|declaration|definition|diagnostic|documentHighlight|documentLink|documentSymbol|executeCommand|fileSystemWatcher|foldingRange|formatting|hover|implementation|inlayHint|inlineCompletion|inlineValue|linkedEditingRange|notebook|reference|rename|selectionRange|semanticTokens|signatureHelp|textDocumentContent|typeDefinition|typeHierarchy|workspaceSymbol";
const isFeature = new RegExp(`vscode-languageclient/lib/common/(${features})\\.js$`);
// The messages of those features: the client looks at the method of one of them only.
const isProtocol =
  /vscode-languageserver-protocol\/lib\/common\/protocol\.(notebook|diagnostic|callHierarchy|typeHierarchy|foldingRange|inlineValue|inlayHint|semanticTokens|colorProvider|textDocumentContent|moniker|linkedEditingRange|inlineCompletion|implementation|typeDefinition|selectionRange|declaration)\.js$/;
const isConverter = /vscode-languageclient\/lib\/common\/(protocol|code)Converter\.js$/;

/** A namespace as the compiler writes it: it can go when nobody names it. */
const NAMESPACE = /^(?:export )?var (\w+);\n\(function \(\1\) \{\n[^]*?^\}\)\(\1 \|\| \([^\n]*\n/gm;
/** A function of a converter, between the lines of the function that makes the converter. */
const CONVERT = /^ {4}(?:async )?function (\w+)\([^\n]*\) \{\n[^]*?^ {4}\}\n/gm;

/** A file without what every file of the client's packages has a copy of for its imports. */
function plain(path) {
  const text = readFileSync(path, "utf8");
  const names = (pattern) => new Set([...text.matchAll(pattern)].map((m) => m[1]));
  if (isFeature.test(path)) {
    return `class Off { fillClientCapabilities() {} initialize() {} getState() { return { kind: "static" }; } clear() {} dispose() {} }
${[...names(/^exports\.(\w+) = /gm)].map((n) => `exports.${n} = Off;`).join("\n")}`;
  }
  if (isProtocol.test(path)) {
    return `const off = { type: { method: "" }, method: "" };\n${[...names(/exports\.(\w+) = (?=[A-Za-z{])/g)].map((n) => `exports.${n} = off;`).join("\n")}`;
  }
  return text
    .replace(/^var __createBinding = [^]*?^\}\)\);$/m, "")
    .replace(/^var __setModuleDefault = [^]*?^\}\);$/m, "")
    .replace(/^var __importStar = [^]*?^\}\)\(\);$/m, "const __importStar = (m) => m;")
    .replace(/^var __exportStar = [^]*?^\};$/m, "const __exportStar = (m, e) => { for (const k in m) { if (!(k in e)) { e[k] = m[k]; } } };")
    .replace(/^Object\.defineProperty\(exports, "__esModule".*$/m, (line) => (/^exports\.default =/m.test(text) ? line : ""))
    .replace(/^Object\.defineProperty\(exports, "(\w+)", \{ enumerable: true, get: function \(\) \{ return ([\w.]+); \} \}\);$/gm, "exports.$1 = $2;")
    .replace(/^(exports\.\w+ = )+void 0;$/gm, "")
    .replace(/^ *(\/\*\*[^]*?\*\/|\/\/.*)$/gm, "");
}

/** The files of the client's packages by their paths, without the namespaces and conversions that are not reached. */
function slimmed(root) {
  const dirs = ["vscode-languageclient/lib", "vscode-languageserver-protocol/lib", "vscode-jsonrpc/lib", "vscode-languageserver-types/lib/esm"].map((d) => join(root, "node_modules", d));
  const files = dirs.flatMap((dir) => readdirSync(dir, { recursive: true }).filter((f) => f.endsWith(".js") && !/(^|[\\/])browser[\\/]/.test(f)).map((f) => join(dir, f)));
  const texts = new Map(files.map((f) => [f, plain(f.replaceAll("\\", "/"))]));
  const pattern = (path) => (isConverter.test(path.replaceAll("\\", "/")) ? CONVERT : NAMESPACE);
  const inner = (path) => (pattern(path) === CONVERT ? relative(root, path) + ":" : "");

  // What can go, by name, with the words in it; a converter's functions are named by other files too.
  const nodes = new Map();
  const words = (text) => new Set(text.match(/[A-Za-z_]\w*/g));
  let roots = readdirSync(join(root, "src"), { recursive: true }).filter((f) => f.endsWith(".ts")).map((f) => readFileSync(join(root, "src", f), "utf8")).join("\n");
  for (const [path, text] of texts) {
    roots += text
      .replace(pattern(path), (block, name) => {
        nodes.set(name, [...(nodes.get(name) ?? []), block.replace(new RegExp(`\\b${name}\\b`, "g"), "")]);
        return "";
      })
      .replace(/^exports\.(\w+) = \w+\.\1;$/gm, "") // handed on
      .replace(/\b(code|vscode_1)\.\w+/g, "") // the editor's own of that name
      .replace(inner(path) ? /^ {4}return \{\n( {8}\w+(: \w+)?,?\n)+ {4}\};$/m : /^$/, "");
  }
  const kept = new Set();
  const queue = [...words(roots)];
  for (let name; (name = queue.pop()) !== undefined; ) {
    if (nodes.has(name) && !kept.has(name)) {
      kept.add(name);
      nodes.get(name).forEach((block) => queue.push(...words(block.replace(/\b(code|vscode_1)\.\w+/g, ""))));
    }
  }
  for (const [path, text] of texts) {
    texts.set(
      path,
      text
        .replace(pattern(path), (block, name) => (kept.has(name) ? block : inner(path) ? `var ${name};\n` : ""))
        .replace(/^exports\.(\w+) = \w+\.\1;$/gm, (line, name) => (nodes.has(name) && !kept.has(name) ? "" : line)),
    );
  }
  return texts;
}

/** The plugin for esbuild; root is the extension's folder. */
export const slim = (root) => ({
  name: "slim",
  setup(b) {
    const texts = slimmed(root);
    b.onLoad({ filter: /node_modules[\\/]vscode-(languageclient|languageserver-protocol|languageserver-types|jsonrpc)[\\/]lib[\\/].*\.js$/ }, ({ path }) => {
      const contents = texts.get(path);
      return contents === undefined ? undefined : { contents };
    });
    // A namespace import of what is no ECMAScript module is a copy of it with a getter for each of its
    // names, in each file: the editor's has hundreds, and that was half of the extension's start.
    b.onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replace(/^import \* as (\w+) from ("vscode"|"node:\w+");$/gm, "const $1 = require($2);"),
      loader: "ts",
    }));
    // The client's check of the editor's version and its globs: package.json has the one, and
    // the server's file filters are all "**".
    b.onLoad({ filter: /node_modules[\\/]semver[\\/]functions[\\/]\w+\.js$/ }, () => ({ contents: "module.exports = (version) => version;" }));
    b.onLoad({ filter: /node_modules[\\/]minimatch[\\/]dist[\\/]commonjs[\\/]index\.js$/ }, () => ({
      contents: `exports.Minimatch = class { constructor(glob) { if (glob !== "**") { throw new Error("glob " + glob); } } match() { return true; } };`,
    }));
  },
});
