import type { Item } from "../transcript";
import { button, el } from "./dom";
import { icon } from "./icons";
import { updateMarkdown, type Post } from "./items";

/** Draws a question of the agent: what it is about, the answers, and a line to say why not, or to answer in. */
export function approve(root: HTMLElement, item: Extract<Item, { kind: "approve" }>, post: Post): void {
  const card = el(
    "section",
    { class: "card", "aria-label": item.title },
    el("header", {}, icon("warning"), el("span", { class: "title" }, item.title)),
  );
  root.classList.toggle("answered", item.chosen !== undefined);
  if (item.detail && item.chosen === undefined) {
    const detail = el("div", { class: "markdown detail", tabindex: "0" });
    updateMarkdown(detail, item.detail);
    card.append(detail);
  }
  const footer = el("footer", {});
  if (item.chosen === undefined) {
    item.options.forEach((o, i) =>
      footer.append(
        button(o.label, i === 0 ? "primary" : "secondary", () => post({ type: "approve", id: item.id, optionId: o.optionId }), o.label),
      ),
    );
    const no = item.options.find((o) => o.kind === "reject");
    if (item.options.length === 0) {
      footer.append(reply("Your answer", (text) => post({ type: "approve", id: item.id, text })));
    } else if (no) {
      const label = "Reject and say why…";
      const say: HTMLButtonElement = button(
        label,
        "secondary",
        () => {
          const line = reply("What should be done instead? The model is told.", (text) => post({ type: "approve", id: item.id, optionId: no.optionId, text }), () => {
            line.replaceWith(say);
            say.focus();
          });
          say.replaceWith(line);
          line.querySelector("input")?.focus();
          card.scrollIntoView({ block: "nearest" });
        },
        label,
      );
      footer.append(say);
    }
  } else {
    footer.className = "verdict";
    footer.append(item.chosen);
  }
  card.append(footer);
  root.replaceChildren(card);
}

/** A line of text that Enter sends and Escape, where that is possible, closes. */
function reply(placeholder: string, send: (text: string) => void, close?: () => void): HTMLElement {
  const input = el("input", { type: "text", placeholder, "aria-label": placeholder });
  const done = () => input.value.trim() && send(input.value.trim());
  input.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && !e.isComposing) {
      e.preventDefault();
      done();
    } else if (e.key === "Escape" && close) {
      e.preventDefault();
      e.stopPropagation();
      close();
    }
  });
  return el("div", { class: "reply" }, input, button("Send", "primary", done, "Send"));
}
