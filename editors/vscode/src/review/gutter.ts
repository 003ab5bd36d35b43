/** The signs that stand beside changed lines, as images; colours that can be seen on light and dark. Pure. */
const SHAPES = {
  added: '<path d="M8 3v10M3 8h10" stroke="#2f9e44" stroke-width="2.2"/>',
  removed: '<path d="M3 8h10" stroke="#e03131" stroke-width="2.2"/>',
  modified: '<path d="M8 2.5v7M4.5 6h7" stroke="#2f9e44" stroke-width="2"/><path d="M4.5 12.5h7" stroke="#e03131" stroke-width="2"/>',
  conflict: '<path d="M8 2.5 14 13.5H2Z" fill="none" stroke="#e8950c" stroke-width="1.6" stroke-linejoin="round"/><path d="M8 6.5v3.2M8 11v1.2" stroke="#e8950c" stroke-width="1.5"/>',
} as const;

export type Sign = keyof typeof SHAPES;

export const SIGNS = Object.keys(SHAPES) as Sign[];

export function signImage(sign: Sign): string {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16">${SHAPES[sign]}</svg>`;
  return `data:image/svg+xml;base64,${Buffer.from(svg).toString("base64")}`;
}

/** The sign of a hunk. */
export function signOf(h: { hunk: { oldText: string; newText: string }; fits: boolean }): Sign {
  return !h.fits ? "conflict" : h.hunk.oldText === "" ? "added" : h.hunk.newText === "" ? "removed" : "modified";
}
