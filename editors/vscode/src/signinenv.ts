import type { AuthMethod } from "./config";

/** What the user has told this editor about how the model is reached. */
export interface SignInChoice {
  method: AuthMethod;
  /** Of the Gemini API. */
  apiKey?: string | undefined;
  /** Of Vertex AI in express mode. */
  expressKey?: string | undefined;
  project: string;
  location: string;
}

/**
 * The variables by which the server knows the choice; undefined takes one of the
 * editor's own environment away. The server's settings file (security.auth.selectedType)
 * stands above them.
 */
export function signInEnv(c: SignInChoice): Record<string, string | undefined> {
  const none = { GEMINI_API_KEY: undefined, GOOGLE_GENAI_USE_GCA: undefined, GOOGLE_GENAI_USE_VERTEXAI: undefined };
  switch (c.method) {
    case "oauth-personal":
      return { ...none, GOOGLE_GENAI_USE_GCA: "true", ...(c.project ? { GOOGLE_CLOUD_PROJECT: c.project } : {}) };
    case "vertex-ai":
      return {
        ...none,
        GOOGLE_GENAI_USE_VERTEXAI: "true",
        // A project and an express key exclude each other, and of the two the key counts.
        ...(c.project ? { GOOGLE_CLOUD_PROJECT: c.project, GOOGLE_API_KEY: undefined } : {}),
        ...(c.location ? { GOOGLE_CLOUD_LOCATION: c.location } : {}),
        ...(c.expressKey && !c.project ? { GOOGLE_API_KEY: c.expressKey } : {}),
      };
    case "cloud-shell":
      return { ...none, GEMINI_CLI_USE_COMPUTE_ADC: "true" };
    case "gemini-api-key":
      return { GOOGLE_GENAI_USE_GCA: undefined, GOOGLE_GENAI_USE_VERTEXAI: undefined, ...(c.apiKey ? { GEMINI_API_KEY: c.apiKey } : {}) };
    case "auto":
      return c.apiKey ? { GEMINI_API_KEY: c.apiKey } : {};
  }
}
