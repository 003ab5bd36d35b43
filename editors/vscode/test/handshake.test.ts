import assert from "node:assert/strict";
import { test } from "node:test";
import { misfit } from "../src/handshake";
import { Restarts } from "../src/restarts";

const hello = (name: string, redline?: object) => ({ serverInfo: { name, version: "9" }, capabilities: { ...(redline ? { experimental: { redline } } : {}) } });

test("servers that fit, are too old, too new, or something else", () => {
  assert.equal(misfit("/p", hello("redline", { version: 1, minVersion: 1 })), undefined);
  assert.equal(misfit("/p", hello("redline", { version: 3, minVersion: 1 })), undefined);
  assert.match(misfit("/p", hello("redline", { version: 3, minVersion: 2 })) ?? "", /\/p \(9\) is too new.*Update the extension/);
  assert.match(misfit("/p", hello("redline")) ?? "", /too old.*go install/);
  assert.match(misfit("/p", hello("redline", { version: "x" })) ?? "", /too old/);
  assert.match(misfit("/p", hello("gopls")) ?? "", /not redline\. It calls itself gopls/);
  assert.match(misfit("/p", { capabilities: {} }) ?? "", /not redline\. Set/);
});

test("restarts come later and later, and end", () => {
  const r = new Restarts();
  assert.deepEqual([0, 1, 2, 3, 4].map((t) => r.died(t * 1000)), [0, 500, 2000, 5000, undefined]);
  // What is longer ago than three minutes does not count.
  assert.equal(r.died(4 * 60_000), 0);
  r.died(4 * 60_000 + 1);
  r.forget();
  assert.equal(r.died(4 * 60_000 + 2), 0);
});
