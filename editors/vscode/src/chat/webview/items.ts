import type { FromWebview } from "../protocol";
import type { Item, ProposalFileItem, ProposalItem, ToolItem } from "../transcript";
import { approve } from "./approve";
import { button, el } from "./dom";
import { icon, spinner } from "./icons";
import { renderBlocks } from "./markdown";

/** Draws the items of the transcript. Each has one element, which is filled anew when the item changes. */
export type Post = (m: FromWebview) => void;

export function renderItem(root: HTMLElement, item: Item, post: Post): void {
  root.className = `item ${item.kind}`;
  root.dataset["id"] = item.id;
  switch (item.kind) {
    case "user":
      root.replaceChildren(
        el("div", { class: "bubble" }, item.about ? el("div", { class: "about" }, icon("file"), item.about) : undefined, item.text),
      );
      if (item.turn) {
        const { turn, text } = item;
        root.prepend(button("Change this prompt, in a copy of the session", "mini again", () => post({ type: "fork", turn, text }), icon("fork")));
        root.prepend(button("Go back to before this prompt\u2026", "mini again", () => post({ type: "rewind", turn }), icon("back")));
      }
      root.setAttribute("aria-label", `You: ${item.text.slice(0, 200)}`);
      break;
    case "answer":
      root.setAttribute("aria-label", "Redline");
      root.classList.toggle("live", item.live);
      updateMarkdown(body(root), item.text);
      break;
    case "thought":
      thought(root, item);
      break;
    case "tool":
      tool(root, item, post);
      break;
    case "proposal":
      proposal(root, item, post);
      break;
    case "approve":
      approve(root, item, post);
      break;
    case "plan":
      plan(root, item);
      break;
    case "retry":
      retry(root, item, post);
      break;
    case "notice": {
      const actions = { key: "Set API key…", server: "Open setting", log: "Show log" };
      const { action } = item;
      root.classList.add(item.level);
      root.replaceChildren(
        icon(item.level),
        el(
          "div",
          { class: "text" },
          el("div", {}, item.text),
          action ? button(actions[action], "secondary", () => post({ type: "action", action }), actions[action]) : undefined,
        ),
      );
      break;
    }
  }
}

/** Where the Markdown of an element goes; made on first need. */
function body(root: HTMLElement): HTMLElement {
  const found = root.querySelector<HTMLElement>(":scope > .markdown");
  if (found) {
    return found;
  }
  const made = el("div", { class: "markdown" });
  root.replaceChildren(made);
  return made;
}

const drawn = new WeakMap<Element, string>();

/** Brings an element to the Markdown text, touching only the blocks that changed. */
export function updateMarkdown(root: HTMLElement, text: string): void {
  const blocks = renderBlocks(text);
  blocks.forEach((html, i) => {
    let block = root.children[i];
    if (!block) {
      root.append((block = el("div", { class: "block" })));
    }
    if (drawn.get(block) !== html) {
      block.innerHTML = html; // made by renderBlocks, which escapes
      drawn.set(block, html);
    }
  });
  while (root.children.length > blocks.length) {
    root.lastElementChild?.remove();
  }
}

function thought(root: HTMLElement, item: Extract<Item, { kind: "thought" }>): void {
  let details = root.querySelector("details");
  if (!details) {
    details = el("details", {}, el("summary", {}), el("div", { class: "markdown" }));
    root.replaceChildren(details);
  }
  const label = item.live ? item.subject || "Thinking" : item.subject ? `Thought: ${item.subject}` : "Thought";
  details.querySelector("summary")?.replaceChildren(icon("chevron"), el("span", { class: item.live ? "shimmer" : "" }, label));
  updateMarkdown(details.querySelector(".markdown") as HTMLElement, item.text);
}

const statusWords: Record<ToolItem["status"], string> = {
  pending: "waiting",
  confirming: "waits for your decision",
  running: "running",
  completed: "done",
  failed: "failed",
  rejected: "rejected",
  cancelled: "stopped",
};

function tool(root: HTMLElement, item: ToolItem, post: Post): void {
  const wasOpen = root.querySelector("details")?.open ?? false;
  const opened = root.dataset["folded"] === "user";
  const old = root.querySelector<HTMLElement>("pre.output");
  const wasAt = old && old.scrollHeight - old.scrollTop - old.clientHeight > 20 ? old.scrollTop : undefined;
  root.classList.add(item.status);
  const status = () => {
    switch (item.status) {
      case "running":
        return spinner();
      case "completed":
        return icon("check");
      case "failed":
        return icon("error");
      case "rejected":
      case "cancelled":
        return icon("close");
      default:
        return icon("clock");
    }
  };
  const line = el(
    "summary",
    { "aria-label": `${item.title}, ${statusWords[item.status]}` },
    el("span", { class: "state", title: statusWords[item.status] }, status()),
    el("span", { class: "title" }, item.title),
  );
  if (item.status === "failed" || item.status === "rejected" || item.status === "cancelled") {
    line.append(el("span", { class: "word" }, statusWords[item.status]));
  }
  const details = el("details", {}, line);
  // A command that runs shows what it prints; the user's own folding stands.
  details.open = opened ? wasOpen : item.status === "running" && item.output !== "" && item.tool === "run_shell_command";
  details.addEventListener("click", () => (root.dataset["folded"] = "user"));
  const inner = el("div", { class: "detail" });
  if (item.locations.length > 0) {
    inner.append(
      el(
        "div",
        { class: "locations" },
        ...item.locations.map((l) => {
          const b = button(`Open ${l.label}`, "link", () => post({ type: "open", uri: l.uri, line: l.line }), icon("file"), l.label);
          return b;
        }),
      ),
    );
  }
  if (item.display) {
    const md = el("div", { class: "markdown" });
    updateMarkdown(md, item.display);
    inner.append(md);
  } else if (item.output) {
    inner.append(el("pre", { class: "output", tabindex: "0" }, item.output));
  }
  if (inner.childNodes.length === 0) {
    details.classList.add("bare");
  }
  details.append(inner);
  root.replaceChildren(details);
  const output = root.querySelector<HTMLElement>("pre.output");
  if (output) {
    output.scrollTop = wasAt ?? output.scrollHeight;
  }
}

function counts(added: number, removed: number): HTMLElement {
  const c = el("span", { class: "counts", "aria-label": `${added} lines added, ${removed} removed` });
  if (added > 0) {
    c.append(el("span", { class: "added" }, `+${added}`));
  }
  if (removed > 0) {
    c.append(el("span", { class: "removed" }, `−${removed}`));
  }
  return c;
}

function proposal(root: HTMLElement, item: ProposalItem, post: Post): void {
  const open = item.state === "open" || item.state === "applying";
  root.classList.add(open ? "open" : "closed");
  const { proposalId } = item;
  const decide = (decision: "accept" | "reject", fileId?: string) =>
    post({ type: "decide", proposalId, decision, ...(fileId === undefined ? {} : { fileId }) });
  const card = el(
    "section",
    { class: "card", "aria-label": `Proposal: ${item.title}` },
    el(
      "header",
      {},
      icon("edit"),
      el("span", { class: "title" }, item.title),
      counts(item.added, item.removed),
    ),
    el("ul", { class: "files" }, ...item.files.map((f) => file(f, open, post, decide))),
  );
  if (open && item.pending === 0) {
    card.append(
      el(
        "footer",
        { class: "conflict" },
        el("span", {}, "What is left no longer fits what you typed."),
        button("Close the review; your text stays", "secondary push", () => decide("accept"), "Keep my text"),
      ),
    );
  } else if (open) {
    card.append(
      el(
        "footer",
        {},
        button("Accept all changes", "primary", () => decide("accept"), "Accept all"),
        button("Reject all changes", "secondary", () => decide("reject"), "Reject all"),
        button("Review the changes of all files", "secondary push", () => post({ type: "review", proposalId }), "Review"),
      ),
    );
  } else {
    card.append(el("footer", { class: "verdict" }, verdict(item)));
  }
  root.replaceChildren(card);
}

function file(f: ProposalFileItem, open: boolean, post: Post, decide: (d: "accept" | "reject", fileId: string) => void): HTMLElement {
  const li = el("li", {});
  const done = open && f.pending === 0 && f.hunks > 0;
  const to = f.to === undefined ? "" : ` → ${f.to}`;
  const name = button(
    `Open ${f.dir ? `${f.dir}/` : ""}${f.name}${to}`,
    "file",
    () => (f.op === "create" && open ? post({ type: "review", proposalId: "" }) : post({ type: "open", uri: f.uri, line: f.line })),
    icon("file"),
    el("span", { class: "name" }, f.name + to),
    done ? undefined : el("span", { class: "dir" }, f.dir),
  );
  li.append(name);
  if (f.op !== "edit" && f.op !== "rename") {
    li.append(el("span", { class: `op op-${f.op}` }, { create: "new", delete: "deleted" }[f.op] ?? f.op));
  }
  if (done) {
    li.append(el("span", { class: "done" }, fileVerdict(f)));
  } else {
    li.append(counts(f.added, f.removed));
  }
  if (open && f.pending > 0) {
    li.append(
      el(
        "span",
        { class: "actions" },
        button(`Accept ${f.name}`, "mini accept", () => decide("accept", f.fileId), icon("check")),
        button(`Reject ${f.name}`, "mini reject", () => decide("reject", f.fileId), icon("close")),
      ),
    );
  } else if (!open) {
    li.append(mark(f));
  }
  return li;
}

function mark(f: ProposalFileItem): HTMLElement {
  const kind = f.conflict ? "conflict" : f.accepted === f.hunks ? "accepted" : f.accepted === 0 ? "rejected" : "partly";
  const glyph = { conflict: "warning", accepted: "check", rejected: "close", partly: "check" }[kind];
  return el("span", { class: `mark ${kind}`, title: fileVerdict(f) }, icon(glyph));
}

function fileVerdict(f: ProposalFileItem): string {
  if (f.accepted === f.hunks) {
    return "accepted";
  }
  if (f.rejected === f.hunks) {
    return "rejected";
  }
  return [
    f.accepted ? `${f.accepted} accepted` : "",
    f.rejected ? `${f.rejected} rejected` : "",
    f.conflict ? `${f.conflict} in conflict` : "",
  ]
    .filter(Boolean)
    .join(", ");
}

function verdict(item: ProposalItem): string {
  const total = (k: "accepted" | "rejected" | "conflict") => item.files.reduce((n, f) => n + f[k], 0);
  const [a, r, c] = [total("accepted"), total("rejected"), total("conflict")];
  if (item.state === "withdrawn") {
    return "Withdrawn";
  }
  if (item.state === "reverted") {
    return "Reverted";
  }
  if (r === 0 && c === 0) {
    return a === 1 ? "Accepted" : `All ${a} changes accepted`;
  }
  if (a === 0 && c === 0) {
    return r === 1 ? "Rejected" : `All ${r} changes rejected`;
  }
  return [a ? `${a} accepted` : "", r ? `${r} rejected` : "", c ? `${c} in conflict: your text stays` : ""].filter(Boolean).join(", ");
}

const planWords: Record<string, [string, string]> = {
  completed: ["check", "done"],
  in_progress: ["chevron", "now"],
  cancelled: ["close", "dropped"],
  pending: ["circle", "to do"],
};

function plan(root: HTMLElement, item: Extract<Item, { kind: "plan" }>): void {
  const done = item.entries.filter((e) => e.status === "completed").length;
  const wasOpen = root.querySelector("details")?.open ?? true;
  const details = el(
    "details",
    {},
    el("summary", {}, icon("chevron"), el("span", { class: "caption" }, "Plan"), el("span", {}, `${done} of ${item.entries.length}`)),
    el(
      "ul",
      { class: "plan" },
      ...item.entries.map((e) => {
        const [glyph, word] = planWords[e.status] ?? ["circle", e.status];
        return el("li", { class: `entry-${e.status}` }, icon(glyph), el("span", {}, e.text), el("span", { class: "sr-only" }, `, ${word}`));
      }),
    ),
  );
  details.open = wasOpen;
  root.replaceChildren(details);
}

function retry(root: HTMLElement, item: Extract<Item, { kind: "retry" }>, post: Post): void {
  const left = el("span", {});
  const show = () => {
    const s = Math.max(0, Math.ceil((item.until - Date.now()) / 1000));
    left.textContent = s > 0 ? `Trying again in ${s} s` : "Trying again";
  };
  show();
  root.replaceChildren(
    icon("clock"),
    el("div", { class: "text" }, el("div", {}, left, ` (attempt ${item.attempt + 1})`), el("div", { class: "reason" }, item.reason)),
    button("Stop waiting, and the turn with it", "secondary", () => post({ type: "cancel" }), "Stop"),
  );
  const timer = setInterval(() => {
    if (!left.isConnected) {
      clearInterval(timer);
    } else {
      show();
    }
  }, 250);
}
