// Leaves out of the bundle what vscode-languageclient brings along and this extension has
// no use for: it takes every feature of LSP for itself, and a version check that the
// manifest's "engines" makes already. A module that is left out keeps its shape.
const absent = {
  // Diagnostics that the client has to pull: redline publishes its own.
  "vscode-languageclient/lib/common/diagnostic.js": `
    const { feature } = require("redline:absent");
    exports.DiagnosticFeature = feature("textDocument/diagnostic");
    exports.DiagnosticPullMode = {};
    exports.vsdiag = {};`,
  // Sync of notebooks by their cells: a notebook is a file to redline.
  "vscode-languageclient/lib/common/notebook.js": `
    const { feature } = require("redline:absent");
    exports.NotebookDocumentSyncFeature = feature("notebookDocument/sync");
    exports.NotebookDocumentSyncFeature.CellScheme = "vscode-notebook-cell";`,
  "semver/functions/parse.js": `module.exports = (version) => ({ version, prerelease: [] });`,
  "semver/functions/satisfies.js": `module.exports = () => true;`,
};

const feature = `
  exports.feature = (method) => class {
    registrationType = { method };
    fillClientCapabilities() {}
    preInitialize() {}
    initialize() {}
    register() {}
    unregister() {}
    clear() {}
    handles() { return false; } // of notebooks: documents are synced as documents
    getState() { return { kind: "workspace", id: method, registrations: false }; }
  };`;

/** The plugin; it fails the build when a module it is to leave out is not there. */
export const slim = {
  name: "slim",
  setup(build) {
    const used = new Set();
    build.onResolve({ filter: /^redline:absent$/ }, () => ({ path: "feature", namespace: "absent" }));
    build.onLoad({ filter: /.*/, namespace: "absent" }, () => ({ contents: feature, loader: "js" }));
    build.onLoad({ filter: /node_modules/ }, ({ path }) => {
      const name = path.replaceAll("\\", "/").split("/node_modules/").pop();
      const contents = name && absent[name];
      if (contents) {
        used.add(name);
        return { contents, loader: "js" };
      }
      return undefined;
    });
    build.onEnd(() => {
      const missing = Object.keys(absent).filter((name) => !used.has(name));
      return missing.length > 0 ? { errors: [{ text: `scripts/slim.mjs names modules that are not there: ${missing.join(", ")}` }] } : undefined;
    });
  },
};
