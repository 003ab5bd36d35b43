import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";

/** Where to look for the server, and what is the case there. */
export interface Places {
  setting: string;
  extensionDir: string;
  workspaceDir?: string | undefined;
  env: NodeJS.ProcessEnv;
  platform: NodeJS.Platform;
}

/**
 * The server's program: the setting if there is one, else a copy inside the
 * extension, else PATH, else where `go install` puts it. A setting that points
 * nowhere is not replaced by something else: the user would never find out.
 */
export function locateServer(p: Places, isProgram = executable): string | undefined {
  if (p.setting) {
    const full = expand(p.setting, p);
    return isProgram(full) ? full : undefined;
  }
  const name = p.platform === "win32" ? "redline.exe" : "redline";
  const beside = path.join(p.extensionDir, "bin", name);
  if (isProgram(beside)) {
    return beside;
  }
  const home = p.env["HOME"] ?? os.homedir();
  const gopath = p.env["GOPATH"]?.split(path.delimiter)[0] || path.join(home, "go");
  const installed = [...(p.env["GOBIN"] ? [p.env["GOBIN"]] : []), path.join(gopath, "bin"), path.join(home, ".local", "bin")];
  return findProgram("redline", p.env, p.platform, installed, isProgram);
}

/** A program by its name: in PATH, else in one of more folders. */
export function findProgram(name: string, env: NodeJS.ProcessEnv, platform: NodeJS.Platform, more: string[], isProgram = executable): string | undefined {
  const file = platform === "win32" ? `${name}.exe` : name;
  const inPath = (env["PATH"] ?? "").split(path.delimiter).filter((dir) => path.isAbsolute(dir));
  return [...inPath, ...more].map((dir) => path.join(dir, file)).find((f) => isProgram(f));
}

function expand(setting: string, p: Places): string {
  const home = p.env["HOME"] ?? os.homedir();
  let full = setting.replace(/^~(?=$|[\\/])/, home);
  if (p.workspaceDir) {
    full = full.replaceAll("${workspaceFolder}", p.workspaceDir);
  }
  return path.isAbsolute(full) || !p.workspaceDir ? full : path.join(p.workspaceDir, full);
}

function executable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}
