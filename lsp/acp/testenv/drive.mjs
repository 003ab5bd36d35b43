// A small editor on the official SDK's client, for tests: it keeps unsaved text, runs commands in terminals of its
// own, answers questions as it is told to, and prints what it saw as one line of JSON.
//
//   usage: node drive.mjs SDK PLAN
//
// SDK is the module of the SDK, PLAN a JSON object: command (the agent's, a list), cwd, buffers (unsaved text by path),
// types (what is typed while the first question is open: path, line, text), prompts (a list of lists of content blocks), load (a session to load instead of making one), mode, answers (kinds or
// names of options, one a question; the last one for all that follow), forms (what is filled into forms, one after the other;
// without it there are none), servers (of MCP), capabilities.
import { spawn } from "node:child_process";
import { readFile, writeFile, mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { Readable, Writable } from "node:stream";

const acp = await import(process.argv[2]);
const plan = JSON.parse(process.argv[3]);
const { agent: A, client: C } = acp.methods;

const seen = { updates: [], questions: [], forms: [], files: [], terminals: 0, stops: [], errors: [] };
const buffers = new Map(Object.entries(plan.buffers ?? {}));
const terminals = new Map();

const app = acp.client({ name: "redline-test" });
app.onNotification(C.session.update, ({ params }) => void seen.updates.push(params.update));
// typeLine makes text of a line of a file, 1-based, without saving.
async function typeLine({ path, line, text }) {
  const lines = (buffers.get(path) ?? (await readFile(path, "utf8"))).split("\n");
  lines[line - 1] = text;
  buffers.set(path, lines.join("\n"));
}
app.onRequest(C.session.requestPermission, async ({ params }) => {
  if (seen.questions.length === 0) for (const t of plan.types ?? []) await typeLine(t);
  const kind = plan.answers?.[Math.min(seen.questions.length, plan.answers.length - 1)] ?? "allow_once";
  seen.questions.push(params);
  const option = params.options.find((o) => o.optionId === kind) ?? params.options.find((o) => o.kind === kind);
  return { outcome: option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" } };
});
app.onRequest(C.elicitation.create, ({ params }) => {
  seen.forms.push(params);
  return plan.forms?.length ? { action: "accept", content: { answer: plan.forms.shift() } } : { action: "decline" };
});
app.onRequest(C.fs.readTextFile, async ({ params }) => {
  seen.files.push(`read ${params.path}`);
  if (buffers.has(params.path)) return { content: buffers.get(params.path) };
  try {
    return { content: await readFile(params.path, "utf8") };
  } catch {
    throw new acp.RequestError(-32002, `no such file: ${params.path}`);
  }
});
app.onRequest(C.fs.writeTextFile, async ({ params }) => {
  seen.files.push(`write ${params.path}`);
  await mkdir(dirname(params.path), { recursive: true });
  await writeFile(params.path, params.content);
  buffers.delete(params.path);
  return {};
});
app.onRequest(C.terminal.create, ({ params }) => {
  const env = { ...process.env };
  for (const { name, value } of params.env ?? []) env[name] = value;
  const child = spawn(params.command, params.args ?? [], { cwd: params.cwd ?? undefined, env, stdio: ["ignore", "pipe", "pipe"] });
  const term = { output: "", status: null, child };
  term.exited = new Promise((done) => {
    child.on("close", (exitCode, signal) => {
      term.status = { exitCode, signal };
      done(term.status);
    });
  });
  for (const pipe of [child.stdout, child.stderr]) pipe.on("data", (d) => (term.output += d));
  const terminalId = `terminal-${++seen.terminals}`;
  terminals.set(terminalId, term);
  return { terminalId };
});
const term = (params) => terminals.get(params.terminalId) ?? fail(`no terminal ${params.terminalId}`);
const fail = (message) => {
  throw new acp.RequestError(-32602, message);
};
app.onRequest(C.terminal.output, ({ params }) => ({ output: term(params).output, truncated: false, exitStatus: term(params).status }));
app.onRequest(C.terminal.waitForExit, ({ params }) => term(params).exited);
app.onRequest(C.terminal.kill, ({ params }) => (term(params).child.kill("SIGKILL"), {}));
app.onRequest(C.terminal.release, ({ params }) => (term(params).child.kill("SIGKILL"), terminals.delete(params.terminalId), {}));

const [command, ...args] = plan.command;
const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"], argv0: "redline" });
const exited = new Promise((done) => child.on("exit", (code) => done(code)));
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
await app.connectWith(stream, async (agent) => {
  seen.initialized = await agent.request(A.initialize, {
    protocolVersion: 1,
    clientCapabilities: plan.capabilities ?? { fs: { readTextFile: true, writeTextFile: true }, terminal: true, session: { notices: {} }, ...(plan.forms ? { elicitation: { form: {} } } : {}) },
    clientInfo: { name: "redline-test", version: "1.0.0" },
  });
  const folder = { cwd: plan.cwd, mcpServers: plan.servers ?? [] };
  let sessionId = plan.load;
  if (sessionId) seen.opened = await agent.request(A.session.load, { ...folder, sessionId });
  else {
    seen.opened = await agent.request(A.session.new, folder);
    sessionId = seen.opened.sessionId;
  }
  seen.sessionId = sessionId;
  if (plan.mode) await agent.request(A.session.setMode, { sessionId, modeId: plan.mode });
  if (plan.config) seen.config = await agent.request(A.session.setConfigOption, { sessionId, ...plan.config });
  for (const prompt of plan.prompts ?? []) {
    try {
      seen.stops.push((await agent.request(A.session.prompt, { sessionId, prompt })).stopReason);
    } catch (e) {
      seen.errors.push({ code: e.code, message: e.message });
    }
  }
  seen.listed = await agent.request(A.session.list, { cwd: plan.cwd });
  await agent.request(A.session.close, { sessionId });
});
child.stdin.end();
seen.exit = await exited;
console.log(JSON.stringify(seen));
