import assert from "node:assert/strict";
import { test } from "node:test";
import { renderBlocks } from "../src/chat/webview/markdown";

const html = (text: string) => renderBlocks(text).join("");

test("nothing a model writes becomes markup, a script or a request", () => {
  const attacks = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "text <b onclick=alert(1)>bold</b>",
    "<iframe src='https://example.com'></iframe>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\nscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](vbscript:x)",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](command:workbench.action.terminal.new)",
    "![pixel](https://example.com/p.png)",
    "![x](javascript:alert(1))",
    "[a]: javascript:alert(1)\n\n[a]",
    "<https://example.com/\" onmouseover=alert(1)>",
    "[x](https://example.com/\"onmouseover=\"alert(1))",
    "```\"><script>alert(1)</script>\ncode\n```",
    "```js\" onload=alert(1)\n<script>\n```",
    "`<img src=x>`",
    "| a |\n|---|\n| <img src=x onerror=alert(1)> |",
    "<svg/onload=alert(1)>",
    "<a href=\"javascript:alert(1)\">x</a>",
  ];
  const tags = new Set(
    "p a strong em del s code pre figure figcaption span button div table thead tbody tr th td ul ol li h1 h2 h3 h4 h5 h6 blockquote hr br".split(" "),
  );
  const attributes = /^(href="#"|data-href="[^"]*"|title="[^"]*"|class="[\w -]*"|type="button"|data-code="(copy|insert|apply)"|data-info="[^"]*"|aria-label="[^"]*"|tabindex="0"|start="\d+"|style="text-align:(left|right|center)")$/;
  for (const a of attacks) {
    const out = html(a);
    for (const m of out.matchAll(/<\/?([a-zA-Z0-9]+)((?:\s[^<>]*?)?)\/?>/g)) {
      assert.ok(tags.has((m[1] as string).toLowerCase()), `${a} gives <${m[1]}>: ${out}`);
      for (const attr of (m[2] as string).match(/[^\s=]+(?:="[^"]*")?/g) ?? []) {
        assert.match(attr, attributes, `${a} gives ${out}`);
      }
    }
    assert.doesNotMatch(out, /data-href="\s*(javascript|vbscript|data|command):/i, a);
    assert.doesNotMatch(out, /<(img|script|iframe|svg)/i, a);
  }
});

test("what models write is shown", () => {
  assert.match(html("**bold** and `code`"), /<strong>bold<\/strong> and <code>code<\/code>/);
  assert.match(html("```go\nx := 1\n```"), /<figcaption><span class="name">go<\/span>.*"copy".*"insert".*"apply".*<code>x := 1<\/code>/);
  assert.match(html("```go:src/a.go\nx := 1\n```"), /<span class="name">src\/a\.go<\/span>.*Propose it for src\/a\.go/);
  assert.match(html("(see https://go.dev/a_(b)), or https://x.y/z.*"), /"https:\/\/go\.dev\/a_\(b\)".*"https:\/\/x\.y\/z"/);
  assert.match(html("a &amp; b &rarr; c &#64; &nosuch;"), /a &amp; b → c @ &amp;nosuch;/);
  assert.doesNotMatch(html("https:// and http://"), /<a /);
  assert.match(html("[docs](https://go.dev/ref)"), /data-href="https:\/\/go\.dev\/ref"/);
  assert.match(html("[file](cmp/path.go:12)"), /data-href="cmp\/path\.go:12"/);
  assert.match(html("see https://go.dev"), /data-href="https:\/\/go\.dev"/);
  assert.doesNotMatch(html("see main.go and README.md"), /<a /, "file names are no hosts");
  assert.match(html("| a | b |\n|---|---|\n| 1 | 2 |"), /<div class="table"><table>[\s\S]*<\/table><\/div>/);
  assert.match(html("![a chart](https://example.com/x.png)"), /<a href="#" data-href="https:\/\/example\.com\/x\.png">a chart<\/a>/);
});

test("while a text streams, its finished blocks stay the same", () => {
  const text = "# Title\n\nA paragraph with `code`.\n\n- one\n- two\n\n```go\nfunc main() {\n}\n```\n\nThe end.";
  let before: string[] = [];
  for (let n = 1; n <= text.length; n++) {
    const now = renderBlocks(text.slice(0, n));
    for (let i = 0; i < Math.min(before.length - 2, now.length - 1); i++) {
      assert.equal(now[i], before[i], `block ${i} at ${n}`);
    }
    before = now;
  }
  assert.equal(before.length, 5);
});

test("rendering a long answer is quick", () => {
  const text = "A paragraph with **bold** text and `code` in it.\n\n".repeat(400);
  const start = performance.now();
  renderBlocks(text);
  assert.ok(performance.now() - start < 500);
});
