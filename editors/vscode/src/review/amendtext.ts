/** The text of an amendment, as the person's editor has it, brought to the form of its hunk. Pure. */

/**
 * edited with the line ends of the hunk, and with a line end behind its last line where
 * the hunk has one: without it the line below would be joined to it.
 */
export function amended(edited: string, hunk: { oldText: string; newText: string }): string {
  const like = hunk.newText || hunk.oldText;
  const eol = like.includes("\r\n") ? "\r\n" : /\r/.test(like) ? "\r" : "\n";
  const text = edited.replace(/\r\n|\r|\n/g, eol);
  const whole = /[\r\n]$/.test(hunk.oldText === "" ? hunk.newText : hunk.oldText);
  return text !== "" && whole && !/[\r\n]$/.test(text) ? text + eol : text;
}
