import assert from "node:assert/strict";
import { test } from "node:test";
import { locateServer, type Places } from "../src/locate";

const places = (more: Partial<Places>): Places => ({
  setting: "",
  extensionDir: "/ext",
  workspaceDir: "/ws",
  env: { PATH: "/usr/bin:relative:/opt/bin", HOME: "/home/me" },
  platform: "linux",
  ...more,
});

test("where the server is looked for", () => {
  const cases: [name: string, p: Partial<Places>, there: string[], want: string | undefined][] = [
    ["the setting", { setting: "/x/redline" }, ["/x/redline", "/usr/bin/redline"], "/x/redline"],
    ["a wrong setting is not replaced", { setting: "/x/redline" }, ["/usr/bin/redline"], undefined],
    ["home in the setting", { setting: "~/bin/redline" }, ["/home/me/bin/redline"], "/home/me/bin/redline"],
    ["the workspace in the setting", { setting: "${workspaceFolder}/redline" }, ["/ws/redline"], "/ws/redline"],
    ["a relative setting", { setting: "bin/redline" }, ["/ws/bin/redline"], "/ws/bin/redline"],
    ["beside the extension first", {}, ["/ext/bin/redline", "/usr/bin/redline"], "/ext/bin/redline"],
    ["PATH, no relative folders", {}, ["relative/redline", "/opt/bin/redline"], "/opt/bin/redline"],
    ["go install", {}, ["/home/me/go/bin/redline"], "/home/me/go/bin/redline"],
    ["GOPATH", { env: { PATH: "", HOME: "/home/me", GOPATH: "/gp:/gp2" } }, ["/gp/bin/redline"], "/gp/bin/redline"],
    ["nowhere", {}, [], undefined],
  ];
  for (const [name, p, there, want] of cases) {
    assert.equal(locateServer(places(p), (f) => there.includes(f)), want, name);
  }
});
