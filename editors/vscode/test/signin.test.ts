import assert from "node:assert/strict";
import { test } from "node:test";
import { signInEnv } from "../src/signinenv";

const base = { project: "", location: "" };

test("each way to sign in is told by the environment, and takes the others away", () => {
  assert.deepEqual(signInEnv({ ...base, method: "auto" }), {});
  assert.deepEqual(signInEnv({ ...base, method: "auto", apiKey: "k" }), { GEMINI_API_KEY: "k" });
  const google = signInEnv({ ...base, method: "oauth-personal", apiKey: "k" });
  assert.equal(google["GOOGLE_GENAI_USE_GCA"], "true");
  assert.ok("GEMINI_API_KEY" in google && google["GEMINI_API_KEY"] === undefined);
  const vertex = signInEnv({ method: "vertex-ai", apiKey: "k", expressKey: "e", project: "p", location: "l" });
  assert.deepEqual([vertex["GOOGLE_CLOUD_PROJECT"], vertex["GOOGLE_CLOUD_LOCATION"], vertex["GOOGLE_API_KEY"], vertex["GEMINI_API_KEY"]], ["p", "l", undefined, undefined]);
  assert.equal(signInEnv({ ...base, method: "vertex-ai", expressKey: "e" })["GOOGLE_API_KEY"], "e");
  assert.equal(signInEnv({ ...base, method: "cloud-shell" })["GEMINI_CLI_USE_COMPUTE_ADC"], "true");
  assert.equal(signInEnv({ ...base, method: "gemini-api-key", apiKey: "k" })["GEMINI_API_KEY"], "k");
});
