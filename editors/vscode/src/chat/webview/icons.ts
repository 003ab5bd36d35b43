/** Our own icons, drawn on a grid of 16; they take the colour of the text around them. */
const paths = {
  check: '<path d="M3 8.5l3.2 3.2L13 4.8"/>',
  close: '<path d="M4 4l8 8M12 4l-8 8"/>',
  chevron: '<path d="M6 3.5L10.5 8 6 12.5"/>',
  send: '<path d="M8 13V3.5M3.8 7.5L8 3.3l4.2 4.2"/>',
  stop: '<rect x="4" y="4" width="8" height="8" rx="1.5" fill="currentColor" stroke="none"/>',
  read: '<path d="M4 2.5h5l3 3v8H4zM9 2.5v3h3"/><path d="M6 8.5h4M6 11h4"/>',
  edit: '<path d="M3 13l.7-3L11 2.7l2.3 2.3L6 12.3z"/><path d="M9.7 4l2.3 2.3"/>',
  search: '<circle cx="7" cy="7" r="4"/><path d="M10 10l3.5 3.5"/>',
  execute: '<path d="M3 4.5L6.5 8 3 11.5M8 12h5"/>',
  fetch: '<circle cx="8" cy="8" r="5.5"/><path d="M2.5 8h11M8 2.5c-4 4-4 7 0 11 4-4 4-7 0-11z"/>',
  other: '<circle cx="8" cy="8" r="2"/><path d="M8 2.5v2M8 11.5v2M2.5 8h2M11.5 8h2"/>',
  info: '<circle cx="8" cy="8" r="5.5"/><path d="M8 7.3V11M8 5v.2"/>',
  warning: '<path d="M8 2.8L14 13H2z"/><path d="M8 6.8v3M8 11.3v.2"/>',
  error: '<circle cx="8" cy="8" r="5.5"/><path d="M8 4.8v4M8 11v.2"/>',
  plus: '<path d="M8 3.5v9M3.5 8h9"/>',
  diff: '<path d="M8 2.5v5M5.5 5h5M5.5 11.5h5"/><rect x="2.5" y=".8" width="0" height="0"/>',
  file: '<path d="M4 2.5h5l3 3v8H4zM9 2.5v3h3"/>',
  thought: '<path d="M8 2.5a4 4 0 0 1 2.3 7.3c-.5.4-.8.9-.8 1.4h-3c0-.5-.3-1-.8-1.4A4 4 0 0 1 8 2.5z"/><path d="M6.8 13.5h2.4"/>',
  image: '<rect x="2.5" y="3" width="11" height="10" rx="1"/><circle cx="6" cy="6.5" r="1"/><path d="M3 11.5l3.5-3 2.5 2 2-1.5 2.5 2"/>',
  back: '<path d="M3 3.5V7h3.5M3.4 6.8A5 5 0 1 1 3.6 10.5"/><path d="M8 5.8v2.7l1.8 1.2"/>',
  fork: '<circle cx="4.5" cy="3.5" r="1.5"/><circle cx="11.5" cy="3.5" r="1.5"/><circle cx="8" cy="12.5" r="1.5"/><path d="M4.5 5v1.5c0 1 .5 1.5 1.5 1.5h4c1 0 1.5-.5 1.5-1.5V5M8 8v3"/>',
  circle: '<circle cx="8" cy="8" r="4"/>',
  clock: '<circle cx="8" cy="8" r="5.5"/><path d="M8 5v3.2l2.2 1.3"/>',
} as const;

export type IconName = keyof typeof paths;

export function icon(name: string): SVGSVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", `icon icon-${name}`);
  svg.setAttribute("aria-hidden", "true");
  // From the table above only: never from data.
  svg.innerHTML = paths[name as IconName] ?? paths.other;
  return svg;
}

export function spinner(): HTMLElement {
  const s = document.createElement("span");
  s.className = "spinner";
  s.setAttribute("aria-hidden", "true");
  return s;
}
