import type { Post } from "./items";
import { button, el } from "./dom";
import { icon } from "./icons";

/** What the webview keeps of itself while it is hidden. */
interface Kept {
  draft: string;
  withContext: boolean;
}

export interface Storage {
  get(): Kept | undefined;
  set(kept: Kept): void;
}

/** The prompt box: Enter sends, Shift+Enter starts a line, and what it is about shows under the text. */
export class Composer {
  private readonly input = el("textarea", {
    id: "prompt",
    rows: "1",
    "aria-label": "Prompt. Enter sends, Shift+Enter starts a new line",
    placeholder: "Ask, or describe a change",
    spellcheck: "false",
  });
  private readonly chip = el("button", { type: "button", id: "context", class: "chip" });
  private readonly send = button("Send (Enter)", "round", () => this.submit(), icon("send"));
  private readonly stop = button("Stop", "round stop", () => this.post({ type: "cancel" }), icon("stop"));
  private withContext = true;
  private label = "";
  private title = "";

  constructor(
    form: HTMLElement,
    private readonly post: Post,
    private readonly storage: Storage,
  ) {
    this.send.id = "send";
    this.stop.id = "stop";
    form.append(el("div", { class: "box" }, this.input, el("div", { class: "row" }, this.chip, this.stop, this.send)));
    const kept = storage.get();
    if (kept) {
      this.input.value = kept.draft;
      this.withContext = kept.withContext;
    }
    form.addEventListener("submit", (e) => {
      e.preventDefault();
      this.submit();
    });
    this.input.addEventListener("keydown", (e) => {
      // During composition Enter belongs to the input method.
      if (e.key === "Enter" && !e.shiftKey && !e.isComposing) {
        e.preventDefault();
        this.submit();
      }
    });
    this.input.addEventListener("input", () => this.changed());
    this.chip.addEventListener("click", () => {
      this.withContext = !this.withContext;
      this.drawChip();
      this.changed();
    });
    form.addEventListener("click", (e) => {
      if (e.target instanceof HTMLElement && e.target.closest("button") === null) {
        this.input.focus();
      }
    });
    this.drawChip();
    this.running(false);
    this.changed();
  }

  focus(): void {
    this.input.focus();
  }

  draft(text: string): void {
    this.input.value = text;
    this.changed();
  }

  running(on: boolean): void {
    this.stop.hidden = !on;
    this.input.placeholder = on ? "Add something for the running turn" : "Ask, or describe a change";
    this.changed();
  }

  context(label: string, title: string): void {
    this.label = label;
    this.title = title;
    this.drawChip();
  }

  private drawChip(): void {
    this.chip.hidden = this.label === "";
    this.chip.classList.toggle("off", !this.withContext);
    this.chip.setAttribute("aria-pressed", String(this.withContext));
    this.chip.title = `${this.title}: ${this.withContext ? "goes along with the prompt; click to leave it out" : "does not go along; click to add it"}`;
    this.chip.setAttribute("aria-label", `Context: ${this.chip.title}`);
    this.chip.replaceChildren(icon("file"), el("span", {}, this.label));
  }

  private submit(): void {
    const text = this.input.value.trim();
    if (text === "") {
      return;
    }
    this.post({ type: "prompt", text, withContext: this.withContext });
    this.input.value = "";
    this.changed();
  }

  private changed(): void {
    this.send.disabled = this.input.value.trim() === "";
    this.send.hidden = !this.stop.hidden && this.send.disabled;
    this.input.style.height = "auto";
    this.input.style.height = `${Math.min(this.input.scrollHeight, 240)}px`;
    this.storage.set({ draft: this.input.value, withContext: this.withContext });
  }
}
