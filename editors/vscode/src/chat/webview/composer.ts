import type { Attachment } from "../attachment";
import { PromptHistory, trigger, type Completion, type Trigger } from "../completion";
import type { QueuedPrompt, SessionLine } from "../protocol";
import { button, el } from "./dom";
import { icon } from "./icons";
import { readImages } from "./images";
import type { Post } from "./items";
import { Popup } from "./popup";

/** What the webview keeps of itself while it is hidden. */
interface Kept {
  draft: string;
  withContext: boolean;
  history?: string[];
  attachments?: Attachment[];
}

export interface Storage {
  get(): Kept | undefined;
  set(kept: Kept): void;
}

/** The box grows with its text by the style sheet alone, which is far cheaper than measuring it with each key. */
const GROWS = CSS.supports("field-sizing", "content");
/** How often, and after how many milliseconds, commands are looked for again while one is typed. */
const LOOKS = 10;
const LOOK_MS = 500;
/** How long after a key a prompt with pictures is kept, in milliseconds: they are megabytes. */
const KEEP_MS = 500;

/** Most of the attachments that is kept while the view is hidden, in UTF-16 units. */
const MAX_KEPT = 8 << 20;

/**
 * The prompt box: Enter sends, Shift+Enter starts a line. What goes along shows over the
 * text, the session's mode, model and usage under it, and prompts that wait on top.
 */
export class Composer {
  private readonly input = el("textarea", { id: "prompt", rows: "1", spellcheck: "false" });
  private readonly chip = el("button", { type: "button", id: "context", class: "chip" });
  private readonly chips = el("div", { id: "attachments", role: "group", "aria-label": "What goes along with the prompt" });
  private readonly queue = el("ol", { id: "queue", "aria-label": "Prompts that wait for their turn", hidden: "" });
  private readonly problemBox = el("div", { id: "problem", role: "alert", hidden: "" });
  private readonly add = button("Add files, symbols, problems, terminal output (@)", "quiet", () => this.type("@"), "@");
  private readonly mode = button("Mode", "quiet", () => this.post({ type: "pick", what: "mode" }));
  private readonly model = button("Model", "quiet", () => this.post({ type: "pick", what: "model" }));
  private readonly usage = button("Usage", "quiet", () => this.post({ type: "pick", what: "usage" }));
  private readonly send = button("Send (Enter)", "round", () => this.submit(false), icon("send"));
  private readonly stop = button("Stop (Escape)", "round stop", () => this.post({ type: "cancel" }), icon("stop"));
  private readonly popup: Popup;
  private readonly history: PromptHistory;
  private attachments: Attachment[] = [];
  private withContext = true;
  private label = "";
  private title = "";
  private busy = false;
  private asked = 0;
  private trigger: Trigger | undefined;
  private suggested = { ask: -1, text: "", times: 0 };
  private keeping: ReturnType<typeof setTimeout> | undefined;

  constructor(
    form: HTMLElement,
    private readonly post: Post,
    private readonly storage: Storage,
  ) {
    this.send.id = "send";
    this.stop.id = "stop";
    [this.mode.id, this.model.id, this.usage.id, this.add.id] = ["mode", "model", "usage", "add"];
    this.popup = new Popup(this.input, (c) => this.complete(c));
    const kept = storage.get();
    this.history = new PromptHistory(kept?.history ?? []);
    form.append(
      this.queue,
      this.problemBox,
      this.popup.element,
      el(
        "div",
        { class: "box" },
        this.chips,
        this.input,
        el("div", { class: "row" }, this.add, this.mode, this.model, this.usage, el("span", { class: "push" }), this.stop, this.send),
      ),
    );
    if (kept) {
      this.input.value = kept.draft;
      this.withContext = kept.withContext;
      this.attachments = kept.attachments ?? [];
    }
    this.listen(form);
    this.drawChips();
    this.running(false);
  }

  focus(): void {
    this.input.focus();
  }

  /** Puts a text into the prompt; with add before what stands there. */
  draft(text: string, add: boolean): void {
    this.input.value = add && this.input.value ? `${text}\n${this.input.value}` : text;
    this.changed();
  }

  running(on: boolean): void {
    this.busy = on;
    this.stop.hidden = !on;
    this.input.placeholder = on ? "Tell the running turn something" : "Ask, or describe a change";
    this.input.setAttribute(
      "aria-label",
      on
        ? "Prompt. Enter tells the running turn, Alt+Enter sends it afterwards, Escape stops the turn"
        : "Prompt. Enter sends, Shift+Enter starts a new line, at sign adds files and more, slash is for commands, arrow up brings earlier prompts",
    );
    this.send.title = on ? "Tell the running turn (Enter); Alt+Enter: send it afterwards" : "Send (Enter)";
    this.send.setAttribute("aria-label", this.send.title);
    this.changed();
  }

  context(label: string, title: string): void {
    this.label = label;
    this.title = title;
    this.drawChips();
  }

  session(line: SessionLine): void {
    const set = (b: HTMLElement, text: string, title: string) => {
      b.replaceChildren(el("span", {}, text));
      b.title = title;
      b.setAttribute("aria-label", title);
    };
    set(this.mode, line.mode, `Mode: ${line.mode}. Change…`);
    this.mode.classList.toggle("loose", line.loose);
    set(this.model, line.model, `Model: ${line.modelTitle}. Change…`);
    set(this.usage, line.usage, line.usageTitle);
    this.usage.hidden = line.usage === "";
  }

  queued(prompts: QueuedPrompt[], waits: boolean): void {
    this.queue.hidden = prompts.length === 0;
    const act = (q: QueuedPrompt, action: "drop" | "edit" | "send") => () => this.post({ type: "queued", id: q.id, action });
    this.queue.replaceChildren(
      ...prompts.map((q) =>
        el(
          "li",
          {},
          icon("clock"),
          el("span", { class: "text", title: q.text }, q.text),
          q.now ? button(`${this.busy ? "Tell the running turn now" : "Send now"}: ${q.text}`, "mini", act(q, "send"), icon("send")) : undefined,
          button(`Edit: ${q.text}`, "mini", act(q, "edit"), icon("edit")),
          button(`Remove: ${q.text}`, "mini", act(q, "drop"), icon("close")),
        ),
      ),
      ...(waits ? [el("li", { class: "waits" }, "The turn did not complete, so these wait for you.")] : []),
    );
  }

  /** Suggestions for what is being typed; those for an earlier state are dropped. */
  suggest(ask: number, entries: Completion[]): void {
    const t = this.trigger;
    if (ask !== this.asked || !t || document.activeElement !== this.input) {
      return;
    }
    const text = JSON.stringify(entries);
    if (ask !== this.suggested.ask || text !== this.suggested.text) {
      this.popup.show(entries);
    }
    this.suggested = { ask, text, times: ask === this.suggested.ask ? this.suggested.times + 1 : 1 };
    // Prompts of MCP servers come once these have started, which asking begins.
    if (t.kind === "/" && this.suggested.times < LOOKS) {
      setTimeout(() => ask === this.asked && this.trigger && this.post({ type: "complete", ask, kind: t.kind, query: t.query }), LOOK_MS);
    }
  }

  attach(a: Attachment): void {
    if (!this.attachments.some((x) => JSON.stringify(x.item) === JSON.stringify(a.item))) {
      this.attachments.push(a);
    }
    this.drawChips();
    this.changed();
  }

  /** A sentence over the prompt, until the user goes on. */
  problem(text: string): void {
    this.problemBox.hidden = text === "";
    this.problemBox.replaceChildren(...(text ? [icon("warning"), el("span", {}, text), button("Dismiss", "mini", () => this.problem(""), icon("close"))] : []));
  }

  private listen(form: HTMLElement): void {
    form.addEventListener("submit", (e) => {
      e.preventDefault();
      this.submit(false);
    });
    this.input.addEventListener("keydown", (e) => this.key(e));
    this.input.addEventListener("input", () => {
      this.history.leave();
      this.changed();
    });
    this.input.addEventListener("click", () => this.look());
    this.input.addEventListener("blur", () => this.popup.hide());
    this.chip.addEventListener("click", () => {
      this.withContext = !this.withContext;
      this.drawChips();
      this.changed();
    });
    form.addEventListener("click", (e) => {
      if (e.target instanceof HTMLElement && e.target.closest("button, li, #problem") === null) {
        this.input.focus();
      }
    });
    this.input.addEventListener("paste", (e) => {
      const files = [...(e.clipboardData?.files ?? [])];
      if (files.length > 0) {
        e.preventDefault();
        void this.take(files);
      }
    });
    for (const name of ["dragenter", "dragover"] as const) {
      document.addEventListener(name, (e) => {
        e.preventDefault();
        document.body.classList.add("dropping");
      });
    }
    document.addEventListener("dragleave", (e) => e.relatedTarget === null && document.body.classList.remove("dropping"));
    document.addEventListener("drop", (e) => {
      e.preventDefault();
      document.body.classList.remove("dropping");
      const uris = (e.dataTransfer?.getData("application/vnd.code.uri-list") || e.dataTransfer?.getData("text/uri-list") || "").split(/\r?\n/);
      for (const uri of uris.filter((u) => /^(file|vscode-remote):/.test(u))) {
        this.post({ type: "attach", request: { what: "file", uri } });
      }
      void this.take([...(e.dataTransfer?.files ?? [])]);
      this.input.focus();
    });
  }

  private async take(files: File[]): Promise<void> {
    this.problem("");
    for (const a of await readImages(files, this.attachments, (text) => this.problem(text))) {
      this.attach(a);
    }
  }

  private key(e: KeyboardEvent): void {
    // During composition the keys belong to the input method.
    if (e.isComposing) {
      return;
    }
    let mine = this.popup.key(e);
    if (!mine && e.key === "Enter" && !e.shiftKey) {
      this.submit(e.altKey);
      mine = true;
    } else if (!mine && (e.key === "ArrowUp" || e.key === "ArrowDown") && !e.shiftKey && !e.altKey && !e.ctrlKey && !e.metaKey) {
      mine = this.remember(e.key === "ArrowUp" ? "older" : "newer");
    } else if (!mine && e.key === "Backspace" && this.input.selectionEnd === 0 && this.attachments.length > 0) {
      this.attachments.pop();
      this.drawChips();
      this.changed();
      mine = true;
    }
    if (mine) {
      e.preventDefault();
      e.stopPropagation(); // or the workbench would hear it too, and Escape stops the turn there
    }
  }

  /** Goes through earlier prompts, from the first line upwards and from the last one downwards. */
  private remember(direction: "older" | "newer"): boolean {
    const { value, selectionStart, selectionEnd } = this.input;
    const inside = direction === "older" ? value.slice(0, selectionStart).includes("\n") : value.slice(selectionEnd).includes("\n");
    const text = inside || selectionStart !== selectionEnd ? undefined : this.history.step(direction, value);
    if (text === undefined) {
      return false;
    }
    this.input.value = text;
    this.changed(false);
    const caret = direction === "older" ? 0 : text.length;
    this.input.setSelectionRange(caret, caret);
    return true;
  }

  private type(sign: string): void {
    this.input.focus();
    const at = this.input.selectionStart;
    const blank = at > 0 && !/\s$/.test(this.input.value.slice(0, at)) ? " " : "";
    this.input.setRangeText(blank + sign, at, this.input.selectionEnd, "end");
    this.changed();
  }

  private complete(c: Completion): void {
    const t = this.trigger;
    if (!t) {
      return;
    }
    this.input.setRangeText(c.insert, t.start, this.input.selectionStart, "end");
    if (c.attach) {
      this.post({ type: "attach", request: c.attach });
    }
    this.popup.hide();
    this.trigger = undefined;
    this.asked++;
    this.changed(false);
  }

  /** Asks for suggestions for what stands at the caret. */
  private look(): void {
    const { value, selectionStart, selectionEnd } = this.input;
    this.trigger = selectionStart === selectionEnd ? trigger(value, selectionStart) : undefined;
    this.asked++;
    if (this.trigger) {
      this.post({ type: "complete", ask: this.asked, kind: this.trigger.kind, query: this.trigger.query });
    } else {
      this.popup.hide();
    }
  }

  private drawChips(): void {
    this.chip.classList.toggle("off", !this.withContext);
    this.chip.setAttribute("aria-pressed", String(this.withContext));
    this.chip.title = `${this.title}: ${this.withContext ? "goes along with the prompt; click to leave it out" : "does not go along; click to add it"}`;
    this.chip.setAttribute("aria-label", `Context: ${this.chip.title}`);
    this.chip.replaceChildren(icon("file"), el("span", {}, this.label));
    const drop = (a: Attachment) => () => {
      this.attachments = this.attachments.filter((x) => x !== a);
      this.drawChips();
      this.changed();
      this.input.focus();
    };
    this.chips.replaceChildren(
      ...(this.label === "" ? [] : [this.chip]),
      ...this.attachments.map((a) => {
        const picture = a.item.kind === "image" && a.item.data ? el("img", { alt: "", src: `data:${a.item.mimeType};base64,${a.item.data}` }) : icon(a.icon);
        return el("span", { class: "chip attachment", title: a.title }, picture, el("span", {}, a.label), button(`Remove ${a.title}`, "mini", drop(a), icon("close")));
      }),
    );
    this.chips.hidden = this.chips.childNodes.length === 0;
  }

  private submit(queue: boolean): void {
    const text = this.input.value.trim();
    if (text === "") {
      return;
    }
    this.post({
      type: "prompt",
      text,
      withContext: this.withContext,
      items: this.attachments.map((a) => a.item),
      about: this.attachments.map((a) => a.label),
      queue,
    });
    this.history.add(text);
    this.input.value = "";
    this.attachments = [];
    this.problem("");
    this.drawChips();
    this.changed();
  }

  private changed(look = true): void {
    this.send.disabled = this.input.value.trim() === "";
    this.send.hidden = this.busy && this.send.disabled;
    if (!GROWS) {
      this.input.style.height = "auto";
      this.input.style.height = `${Math.min(this.input.scrollHeight, 240)}px`;
    }
    clearTimeout(this.keeping);
    if (this.attachments.some((a) => a.item.data)) {
      this.keeping = setTimeout(() => this.keep(), KEEP_MS);
    } else {
      this.keep();
    }
    if (look && document.activeElement === this.input) {
      this.look();
    }
  }

  private keep(): void {
    const small = this.attachments.reduce((n, a) => n + (a.item.data?.length ?? 0), 0) < MAX_KEPT;
    this.storage.set({ draft: this.input.value, withContext: this.withContext, history: [...this.history.all], attachments: small ? this.attachments : [] });
  }
}
