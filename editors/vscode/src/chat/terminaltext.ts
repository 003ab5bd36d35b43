/** Terminal output as text: without escape sequences, and lines as they stand after overwriting. */
export function plain(output: string): string {
  return output
    .replace(/\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)/g, "")
    .replace(/\x1b\[[0-?]*[ -/]*[@-~]/g, "")
    .replace(/\x1b[@-Z\\-_=>]/g, "")
    .replace(/\r\n/g, "\n")
    .replace(/^.*\r(?!\n)/gm, "")
    .trim();
}
