import type { Completion } from "../completion";
import { el } from "./dom";
import { icon } from "./icons";

/**
 * The list of completions over the prompt. The prompt keeps the focus; screen readers
 * follow aria-activedescendant.
 */
export class Popup {
  readonly element = el("ul", { id: "completions", role: "listbox", "aria-label": "Suggestions", hidden: "" });
  private entries: Completion[] = [];
  private at = 0;

  constructor(
    private readonly input: HTMLTextAreaElement,
    private readonly choose: (c: Completion) => void,
  ) {
    input.setAttribute("role", "combobox");
    input.setAttribute("aria-autocomplete", "list");
    input.setAttribute("aria-controls", "completions");
    input.setAttribute("aria-expanded", "false");
  }

  get open(): boolean {
    return !this.element.hidden;
  }

  show(entries: Completion[]): void {
    this.entries = entries;
    this.at = 0;
    this.element.hidden = entries.length === 0;
    this.input.setAttribute("aria-expanded", String(this.open));
    this.element.replaceChildren(
      ...entries.map((c, i) => {
        const row = el(
          "li",
          { role: "option", id: `completion-${i}`, class: "completion", "aria-label": `${c.label}${c.detail ? `, ${c.detail}` : ""}` },
          icon(c.icon),
          el("span", { class: "label" }, c.label),
          el("span", { class: "detail" }, c.detail),
        );
        // The prompt must not lose the focus.
        row.addEventListener("mousedown", (e) => e.preventDefault());
        row.addEventListener("click", () => this.choose(c));
        return row;
      }),
    );
    this.mark();
  }

  hide(): void {
    this.show([]);
  }

  /** Handles a key of the prompt; true: it was for the list. */
  key(e: KeyboardEvent): boolean {
    if (!this.open) {
      return false;
    }
    const n = this.entries.length;
    switch (e.key) {
      case "ArrowDown":
        this.at = (this.at + 1) % n;
        break;
      case "ArrowUp":
        this.at = (this.at + n - 1) % n;
        break;
      case "PageDown":
        this.at = Math.min(this.at + 6, n - 1);
        break;
      case "PageUp":
        this.at = Math.max(this.at - 6, 0);
        break;
      case "Tab":
      case "Enter": {
        const c = this.entries[this.at];
        if (e.shiftKey || !c) {
          return false;
        }
        this.choose(c);
        return true;
      }
      case "Escape":
        this.hide();
        return true;
      default:
        return false;
    }
    this.mark();
    return true;
  }

  private mark(): void {
    [...this.element.children].forEach((row, i) => row.setAttribute("aria-selected", String(i === this.at)));
    if (this.open) {
      this.input.setAttribute("aria-activedescendant", `completion-${this.at}`);
      this.element.children[this.at]?.scrollIntoView({ block: "nearest" });
    } else {
      this.input.removeAttribute("aria-activedescendant");
    }
  }
}
