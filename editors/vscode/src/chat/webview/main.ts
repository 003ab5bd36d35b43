import type { FromWebview, ToWebview } from "../protocol";
import type { Item } from "../transcript";
import { Composer, type Storage } from "./composer";
import { el } from "./dom";
import { icon } from "./icons";
import { renderItem } from "./items";

interface VsCodeApi {
  postMessage(m: FromWebview): void;
  getState(): unknown;
  setState(s: unknown): void;
}
declare function acquireVsCodeApi(): VsCodeApi;

const api = acquireVsCodeApi();
const post = (m: FromWebview) => api.postMessage(m);
const log = document.getElementById("log") as HTMLElement;
const status = document.getElementById("status") as HTMLElement;
const composer = new Composer(document.getElementById("composer") as HTMLElement, post, {
  get: () => api.getState() as ReturnType<Storage["get"]>,
  set: (kept) => api.setState(kept),
});

const items = new Map<string, { item: Item; element: HTMLElement }>();
const serverProblem = el("div", { id: "server", class: "item notice error", hidden: "" });
const welcome = el(
  "div",
  { class: "welcome" },
  el("div", { class: "mark" }, icon("edit")),
  el("h2", {}, "Ask for a change"),
  el("p", {}, "Redline reads your project, unsaved text included, and proposes edits. Nothing changes before you accept it, hunk by hunk if you like."),
);
log.append(welcome, serverProblem);

/** True while the user is at the end of the log; then it follows what comes. */
let following = true;
log.addEventListener("scroll", () => {
  following = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
});

// What is below grows and other views open: the end stays in sight.
new ResizeObserver(() => settle()).observe(log);

/** Items whose text grew since the last frame: however many pieces came, each is drawn once. */
const grown = new Set<string>();
let frame = 0;
function draw(id: string): void {
  grown.add(id);
  frame ||= requestAnimationFrame(() => {
    frame = 0;
    for (const g of grown) {
      const x = items.get(g);
      if (x) {
        renderItem(x.element, x.item, post);
      }
    }
    grown.clear();
    settle();
  });
}

function settle(): void {
  welcome.hidden = items.size > 0;
  if (following) {
    log.scrollTop = log.scrollHeight;
  }
}

function put(item: Item): void {
  const old = items.get(item.id);
  if (old) {
    old.item = item;
  } else {
    const element = el("div", { tabindex: "-1" });
    items.set(item.id, { item, element });
    log.insertBefore(element, serverProblem);
    if (item.kind === "user") {
      following = true;
    }
  }
  draw(item.id);
}

window.addEventListener("message", (e: MessageEvent<ToWebview>) => {
  const m = e.data;
  switch (m.type) {
    case "reset":
      for (const x of items.values()) {
        x.element.remove();
      }
      items.clear();
      m.items.forEach(put);
      following = true;
      running(m.running);
      settle();
      break;
    case "item":
      put(m.item);
      break;
    case "text": {
      const x = items.get(m.id);
      if (x && (x.item.kind === "answer" || x.item.kind === "thought")) {
        x.item.text += m.text;
        draw(m.id);
      }
      break;
    }
    case "remove":
      items.get(m.id)?.element.remove();
      items.delete(m.id);
      break;
    case "running":
      running(m.running);
      break;
    case "server":
      serverProblem.hidden = m.text === "";
      if (m.text) {
        renderItem(serverProblem, { kind: "notice", id: "server", level: "error", text: m.text, action: "server" }, post);
      }
      settle();
      break;
    case "context":
      composer.context(m.label, m.title);
      break;
    case "draft":
      composer.draft(m.text, m.add ?? false);
      break;
    case "session":
      composer.session(m.line);
      break;
    case "queue":
      composer.queued(m.prompts, m.waits);
      break;
    case "completions":
      composer.suggest(m.ask, m.entries);
      break;
    case "attached":
      composer.attach(m.attachment);
      break;
    case "problem":
      composer.problem(m.text);
      break;
    case "focus":
      composer.focus();
      break;
  }
});

let was = false;
function running(on: boolean): void {
  // A reader hears the answer once, when it is complete, and not every piece of it.
  log.setAttribute("aria-busy", String(on));
  document.body.classList.toggle("running", on);
  if (on !== was) {
    status.textContent = on ? "Redline is working" : "Redline is done";
    was = on;
  }
  composer.running(on);
}

document.addEventListener("click", (e) => {
  const target = e.target instanceof Element ? e.target : undefined;
  const link = target?.closest<HTMLElement>("[data-href]");
  if (link) {
    e.preventDefault();
    post({ type: "link", href: link.dataset["href"] ?? "" });
    return;
  }
  const act = target?.closest<HTMLElement>("[data-code]");
  if (act) {
    const figure = act.closest<HTMLElement>("figure");
    const text = figure?.querySelector("code")?.textContent ?? "";
    const action = act.dataset["code"];
    if (action === "copy") {
      post({ type: "copy", text });
      act.textContent = "Copied";
      status.textContent = "Copied";
      setTimeout(() => (act.textContent = "Copy"), 1500);
    } else if (action === "insert" || action === "apply") {
      post({ type: "code", action, text, info: figure?.dataset["info"] ?? "" });
    }
  }
});

// From the prompt up into the conversation and back, item by item.
log.addEventListener("keydown", (e) => {
  const all = [...log.querySelectorAll<HTMLElement>(":scope > .item:not([hidden])")];
  const at = all.findIndex((x) => x.contains(document.activeElement));
  const onItem = document.activeElement === log || all[at] === document.activeElement;
  const step = onItem ? { ArrowUp: at < 0 ? all.length - 1 : at - 1, ArrowDown: at + 1, Home: 0, End: all.length - 1 }[e.key] : undefined;
  if (e.key === "Escape" && !document.body.classList.contains("running")) {
    composer.focus();
  } else if (step !== undefined && step >= all.length) {
    composer.focus();
  } else if (step !== undefined && step >= 0) {
    all[step]?.focus();
  } else {
    return;
  }
  e.preventDefault();
  e.stopPropagation();
});

post({ type: "ready" });
