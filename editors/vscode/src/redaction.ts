/** Takes what signs a user in out of a traced message. */
export function withoutSecrets(text: string): string {
  const keyless = text.replace(/("apiKey"\s*:\s*)"(?:[^"\\]|\\.)*"/g, '$1"…"');
  return keyless.includes("agent/auth/complete") ? keyless.replace(/("code"\s*:\s*)"(?:[^"\\]|\\.)*"/g, '$1"…"') : keyless;
}
