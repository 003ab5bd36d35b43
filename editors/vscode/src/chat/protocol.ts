import type { Item } from "./transcript";

/** What the extension host tells the webview. */
export type ToWebview =
  | { type: "reset"; items: Item[]; running: boolean }
  | { type: "item"; item: Item }
  | { type: "text"; id: string; text: string }
  | { type: "remove"; id: string }
  | { type: "running"; running: boolean }
  | { type: "server"; text: string }
  | { type: "context"; label: string; title: string }
  | { type: "draft"; text: string }
  | { type: "focus" };

/** What the webview tells the extension host. */
export type FromWebview =
  | { type: "ready" }
  | { type: "prompt"; text: string; withContext: boolean }
  | { type: "cancel" }
  | { type: "open"; uri: string; line: number }
  | { type: "link"; href: string }
  | { type: "copy"; text: string }
  | { type: "decide"; proposalId: string; decision: "accept" | "reject"; fileId?: string }
  | { type: "review"; proposalId: string }
  | { type: "approve"; id: string; optionId: string; text?: string }
  | { type: "action"; action: "key" | "server" | "log" };
