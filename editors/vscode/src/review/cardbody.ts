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
  const reject = `[$(close) Reject](command:redline.rejectHunk?${args} "Leave the text as it is")`;
  const why = `[$(comment) Reject with reason…](command:redline.rejectHunkWithReason?${args} "Reject and tell the model why")`;
  if (!h.fits) {
    return [
      "$(warning) You changed these lines meanwhile; your text stays. This was proposed for them:",
      code(h.hunk.newText, language, tabSize),
      `${reject}&nbsp;&nbsp;&nbsp;&nbsp;${why}`,
    ].join("\n\n");
  }
  const accept = `[$(check) Accept](command:redline.acceptHunk?${args} "Put this text into the document")`;
  return [
    h.hunk.newText === "" ? "Removes these lines." : code(h.hunk.newText, language, tabSize),
    [accept, reject, why].join("&nbsp;&nbsp;&nbsp;&nbsp;"),
  ].join("\n\n");
}

function code(text: string, language: string, tabSize: number): string {
  const shown = widen(text.replace(/\r\n?/g, "\n").replace(/\n$/, ""), tabSize);
  const fence = "`".repeat(Math.max(3, ...[...shown.matchAll(/`+/g)].map((m) => m[0].length + 1)));
  const green = "background-color:var(--vscode-diffEditor-insertedLineBackground);display:inline-block;border-radius:4px;";
  const id = /^[\w+#.-]+$/.test(language) ? language : "";
  return `<span style="${green}">\n\n${fence}${id}\n${shown}\n${fence}\n\n</span>`;
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
