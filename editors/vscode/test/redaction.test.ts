import assert from "node:assert/strict";
import { test } from "node:test";
import { withoutSecrets } from "../src/redaction";

test("a key is taken out of a traced message, whatever it holds", () => {
  const params = (apiKey: string) => `[Trace] Sending request 'agent/auth/login - (3)'.\nParams: ${JSON.stringify({ method: "gemini-api-key", apiKey, next: "stays" }, undefined, 4)}`;
  for (const key of ["AIza-0123", 'with "quotes" and \\ in it', "", "two\nlines"]) {
    const text = withoutSecrets(params(key));
    assert.ok(key === "" || !text.includes(JSON.stringify(key).slice(1, -1)), text);
    assert.match(text, /"apiKey": "…"/);
    assert.match(text, /"next": "stays"/);
  }
  const twice = withoutSecrets('{"apiKey":"one"} {"apiKey" : "two"}');
  assert.equal(twice, '{"apiKey":"…"} {"apiKey" : "…"}');
});

test("the code of a sign-in is taken out, and codes of anything else stay", () => {
  assert.equal(withoutSecrets(`Sending request 'agent/auth/complete': {"code": "4/0Ab\\"c"}`), `Sending request 'agent/auth/complete': {"code": "…"}`);
  const error = `Received response 'agent/prompt': {"code": "E42", "message": "no"}`;
  assert.equal(withoutSecrets(error), error);
});
