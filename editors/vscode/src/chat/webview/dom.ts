/** A small way to make elements: attributes that are undefined are left out. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attrs: Record<string, string | undefined> = {},
  ...children: (Node | string | undefined)[]
): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attrs)) {
    if (v !== undefined) {
      e.setAttribute(k, v);
    }
  }
  e.append(...children.filter((c) => c !== undefined));
  return e;
}

/** A button that does not submit; its label is read out even when only its icon shows. */
export function button(label: string, className: string, onClick: () => void, ...children: (Node | string | undefined)[]): HTMLButtonElement {
  const b = el("button", { type: "button", class: className, "aria-label": label, title: label }, ...children);
  b.addEventListener("click", onClick);
  return b;
}
