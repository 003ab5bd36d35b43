import type { Hunk } from "../ext";

/**
 * The Markdown of a card: the proposed text as code in its language, on the colour
 * of inserted lines. Pure. The code goes in a fence longer than any in it, so that
 * nothing the model wrote can become Markdown.
 */
export function cardBody(
  h: { hunk: Hunk; fits: boolean; proposal: { proposalId: string } },
  language: string,
  tabSize: number,
): string {
  const args = encodeURIComponent(JSON.stringify([{ proposalId: h.proposal.proposalId, hunkId: h.hunk.hunkId }]));
  const accept = action("Accept", "acceptHunk", args, "Put this text into the document", "primary");
  const reject = action("Reject", "rejectHunk", args, "Leave the document as it is", "secondary");
  const reason = `[Reject with reason…](command:redline.rejectHunkWithReason?${args} "Reject, and tell the model why")`;
  const blocks = h.fits
    ? [h.hunk.newText === "" ? "These lines are removed." : code(h.hunk.newText, language, tabSize), [accept, reject, reason]]
    : [
        "$(warning) You changed these lines meanwhile, and your text stays. This was proposed for them:",
        code(h.hunk.newText, language, tabSize),
        [action("Keep mine", "acceptHunk", args, "Your text stays; the model is told that you changed it", "secondary"), reason],
      ];
  return blocks.map((b) => (typeof b === "string" ? b : b.join("&nbsp;&nbsp;"))).join("\n\n");
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
