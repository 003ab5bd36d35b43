/**
 * What markdown-it needs of the package "entities", which brings tables of all 2,231
 * names: models write these few, and the numbered ones.
 */
const names: Record<string, string> = {
  amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", copy: "©", reg: "®", trade: "™", hellip: "…",
  mdash: "—", ndash: "–", lsquo: "‘", rsquo: "’", ldquo: "“", rdquo: "”", laquo: "«", raquo: "»", bull: "•", middot: "·",
  deg: "°", plusmn: "±", times: "×", divide: "÷", larr: "←", uarr: "↑", rarr: "→", darr: "↓", harr: "↔", le: "≤", ge: "≥", ne: "≠",
  euro: "€", pound: "£", cent: "¢", sect: "§", para: "¶", micro: "µ", infin: "∞", asymp: "≈", check: "✓", cross: "✗",
};

export function decodeHTMLStrict(text: string): string {
  return text.replace(/&(\w+);/g, (whole, name: string) => names[name] ?? whole);
}
