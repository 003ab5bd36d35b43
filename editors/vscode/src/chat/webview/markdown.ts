import MarkdownIt from "markdown-it";
import { fileOf, languageOf } from "../codeblock";

/**
 * Markdown of a model to HTML that is safe to show: HTML in it is text, pictures
 * become links (nothing is ever loaded), and links are inert: they carry their
 * address in data-href, and the extension decides what to do with a click.
 */
const md = new MarkdownIt({ html: false, linkify: true, breaks: false });

// "main.go" is no host, whatever the top-level domains say.
md.linkify.set({ fuzzyLink: false, fuzzyEmail: false });

// The web, and files of the workspace with or without a line.
const allowed = /^(https?:\/\/|mailto:|file:\/\/\/|[^:]*(:\d+)?$)/i;
md.validateLink = (url) => allowed.test(url.trim()) && !/^\s*(javascript|vbscript|data|command):/i.test(url);

md.renderer.rules["link_open"] = (tokens, i) => {
  const href = String(tokens[i]?.attrGet("href") ?? "");
  return `<a href="#" data-href="${md.utils.escapeHtml(href)}" title="${md.utils.escapeHtml(href)}">`;
};

md.renderer.rules["image"] = (tokens, i) => {
  const token = tokens[i];
  const src = String(token?.attrGet("src") ?? "");
  const alt = token?.content || src;
  return `<a href="#" data-href="${md.utils.escapeHtml(src)}">${md.utils.escapeHtml(alt)}</a>`;
};

function codeBlock(text: string, info: string): string {
  const esc = md.utils.escapeHtml;
  const file = fileOf(info, text);
  const name = file || languageOf(info);
  const action = (what: string, word: string, title: string) =>
    `<button type="button" class="act ${what}" data-code="${what}" title="${title}" aria-label="${esc(`${word} code${name ? `, ${name}` : ""}`)}">${word}</button>`;
  return (
    `<figure class="code" data-info="${esc(info)}" aria-label="${esc(`Code${name ? `, ${name}` : ""}`)}"><figcaption><span class="name">${esc(name)}</span>` +
    action("copy", "Copy", "Copy") +
    action("insert", "Insert", "Insert at the cursor") +
    action("apply", "Apply", esc(file ? `Propose it for ${file}; you review it before anything changes` : "Propose it for the file you look at; you review it before anything changes")) +
    `</figcaption><pre tabindex="0"><code>${md.utils.escapeHtml(text.replace(/\n$/, ""))}</code></pre></figure>`
  );
}

md.renderer.rules["fence"] = (tokens, i) => {
  const token = tokens[i];
  return codeBlock(token?.content ?? "", (token?.info ?? "").trim());
};
md.renderer.rules["code_block"] = (tokens, i) => codeBlock(tokens[i]?.content ?? "", "");

md.renderer.rules["table_open"] = () => `<div class="table"><table>`;
md.renderer.rules["table_close"] = () => `</table></div>`;

/**
 * The top-level blocks of a text as HTML, one string each. While a text streams,
 * only its last blocks change, and the others need not be touched.
 */
export function renderBlocks(text: string): string[] {
  const env = {};
  const tokens = md.parse(text, env);
  const blocks: string[] = [];
  let start = 0;
  let depth = 0;
  tokens.forEach((t, i) => {
    depth += t.nesting;
    if (depth === 0) {
      blocks.push(md.renderer.render(tokens.slice(start, i + 1), md.options, env));
      start = i + 1;
    }
  });
  return blocks;
}
