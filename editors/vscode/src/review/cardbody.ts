import type { Hunk, ProposalFile } from "../ext";
import { lineCount } from "../chat/transcript";
import { nameOf } from "./panelmodel";

/**
 * The Markdown of a card: the proposed text as code in its language, on the colour
 * of inserted lines; beside a comparison, which shows it, without it. Pure. The code goes in a fence longer than any in it, so that
 * nothing the model wrote can become Markdown.
 */
export function cardBody(
  h: { hunk: Hunk; fits: boolean; proposal: { proposalId: string }; file: Pick<ProposalFile, "op" | "newUri" | "fileId"> },
  language: string,
  tabSize: number,
  beside = false,
): string {
  const args = encodeURIComponent(JSON.stringify([{ proposalId: h.proposal.proposalId, hunkId: h.hunk.hunkId }]));
  const accept = action("Accept", "acceptHunk", args, "Put this text into the document", "primary");
  const reject = action("Reject", "rejectHunk", args, "Leave the document as it is", "secondary");
  const reason = `[Reject with reason…](command:redline.rejectHunkWithReason?${args} "Reject, and tell the model why")`;
  const amend = action("Amend", "amendHunk", args, "Change the proposed text, and put that in", "secondary");
  const { whole, newText } = h.hunk;
  const text = (t: string) => {
    const head = firstLines(t, MAX_ROWS);
    const file = encodeURIComponent(JSON.stringify([{ kind: "file", proposalId: h.proposal.proposalId, fileId: h.file.fileId }]));
    const more = head === t ? "" : `\n\n[… and ${lineCount(t) - MAX_ROWS} more lines](command:redline.openDiff?${file} "Compare with the proposed file")`;
    return code(head, language, tabSize) + more;
  };
  const file = whole && h.file.op !== "create";
  const says = !file
    ? newText === ""
      ? "These lines are removed."
      : text(newText)
    : h.file.op === "delete"
      ? "**This file is deleted.**"
      : `**This file gets the name** ${code(nameOf(h.file.newUri ?? ""), "", tabSize)}`;
  const keep = action("Keep mine", "acceptHunk", args, "Your text stays; the model is told that you changed it", "primary");
  const blocks = h.fits
    ? [...(beside && !file ? [] : [says]), file ? [accept, reject, reason] : [accept, reject, amend, reason]]
    : file
      ? [`$(warning) You changed this file meanwhile, and it stays as it is. It was proposed to ${h.file.op} it.`, [keep, reason]]
      : [
          newText === ""
            ? "$(warning) You changed these lines meanwhile, and your text stays. It was proposed to remove them."
            : "$(warning) You changed these lines meanwhile, and your text stays. This was proposed for them:",
          ...(newText === "" ? [] : [text(newText)]),
          [
            keep,
            action("Take theirs", "takeProposed", args, "Put the proposed text in place of yours; undo brings yours back", "secondary"),
            action("Compare", "openConflict", args, "Show both sides", "secondary"),
            reason,
          ],
        ];
  return blocks.map((b) => (typeof b === "string" ? b : b.join("&nbsp;&nbsp;"))).join("\n\n");
}

/** Longer texts are shown in part: a card grows with its text, and the editor draws all of it. */
const MAX_ROWS = 60;

/** The first n lines of text. */
function firstLines(text: string, n: number): string {
  let at = 0;
  for (const m of text.matchAll(/\r\n|\r|\n/g)) {
    at = m.index + m[0].length;
    if (--n === 0) {
      return text.slice(0, at);
    }
  }
  return text;
}

/** A link that looks like a button of the theme. */
function action(label: string, command: string, args: string, tip: string, look: "primary" | "secondary"): string {
  const [fg, bg] = look === "primary" ? ["button-foreground", "button-background"] : ["foreground", "toolbar-hoverBackground"];
  const style = `color:var(--vscode-${fg});background-color:var(--vscode-${bg});border-radius:4px;`;
  return `[<span style="${style}">&nbsp;&nbsp;${label}&nbsp;&nbsp;</span>](command:redline.${command}?${args} "${tip}")`;
}

/**
 * Text as code in its language on green. The table is there for its parsing: line
 * ends between its tags are not shown, and the code is moved out in front of it.
 * Anywhere else the blank lines that Markdown needs around a fence would be seen.
 */
function code(text: string, language: string, tabSize: number): string {
  const rows = widen(text.replace(/\r\n?/g, "\n").replace(/\n$/, ""), tabSize).split("\n");
  const width = Math.min(120, Math.max(...rows.map((r) => r.length)));
  const shown = rows.map((r) => ` ${r.padEnd(width)} `).join("\n");
  const fence = "`".repeat(Math.max(3, ...[...shown.matchAll(/`+/g)].map((m) => m[0].length + 1)));
  const green = "background-color:var(--vscode-diffEditor-insertedLineBackground);display:inline-block;border-radius:3px;";
  const id = /^[\w+#.-]+$/.test(language) ? language : "";
  return `<div><span style="${green}"><table>\n\n${fence}${id}\n${shown}\n${fence}\n\n</table></span></div>`;
}

/** Tabs as spaces: in a card a tab would be eight wide, whatever the editor's setting. */
function widen(text: string, tabSize: number): string {
  return text
    .split("\n")
    .map((line) => {
      let out = "";
      for (const ch of line) {
        out += ch === "\t" ? " ".repeat(tabSize - (out.length % tabSize)) : ch;
      }
      return out;
    })
    .join("\n");
}
