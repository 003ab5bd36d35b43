/** The version of the server's extension of LSP that this client speaks (WIRE.md §2). */
export const EXT_VERSION = 1;
/** The oldest one it gets along with. */
const MIN_VERSION = 1;

/** What is read of the answer to initialize. */
export interface Greeting {
  serverInfo?: { name: string; version?: string } | undefined;
  capabilities: { experimental?: unknown };
}

/**
 * Why this server and this client do not fit, in words for the user; undefined when they
 * do. A program of the same name that is something else is told apart too.
 */
export function misfit(program: string, hello: Greeting): string | undefined {
  const ext = (hello.capabilities.experimental as { redline?: { version?: unknown; minVersion?: unknown } } | undefined)?.redline;
  if (hello.serverInfo?.name !== "redline" && !ext) {
    const what = hello.serverInfo?.name ? ` It calls itself ${hello.serverInfo.name}.` : "";
    return `${program} is a language server, but not redline.${what} Set redline.server.path to the redline program.`;
  }
  const says = hello.serverInfo?.version ? ` (${hello.serverInfo.version})` : "";
  const version = typeof ext?.version === "number" ? ext.version : 0;
  const oldest = typeof ext?.minVersion === "number" ? ext.minVersion : version;
  if (version < MIN_VERSION) {
    return `The redline server at ${program}${says} is too old for this extension. Update it: go install ./cmd/redline in a fresh copy of its source.`;
  }
  if (oldest > EXT_VERSION) {
    return `The redline server at ${program}${says} is too new for this extension. Update the extension, or set redline.server.path to an older server.`;
  }
  return undefined;
}
