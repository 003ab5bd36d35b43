// Drives the workbench in headless Chromium for the Go tests: commands as JSON lines on
// stdin, one answer a line on stdout, in order. A command names what to wait for; there
// are no sleeps. usage: driver.mjs PLAYWRIGHT_DIR CHROMIUM
//
//   {"op":"open","url":…,"width":…,"height":…}
//   {"op":"click"|"dblclick"|"hover"|"wait"|"gone"|"text"|"texts"|"count"|"focused","in":"chat"?,"sel":…,"nth"?,"has"?,"timeout"?}
//   {"op":"fill","sel":…,"text":…}  puts a text in place of what a field has
//   {"op":"type","text":…} {"op":"press","key":…} {"op":"shot","path":…} {"op":"eval","in"?,"js":…} {"op":"until","in"?,"js":…}
//   {"op":"drag","sel":…,"to":{"in"?,"sel":…},"key":"Shift"?}  drops one thing on another, holding a key from the middle of the way
//   {"op":"reload"}          as the user does with F5
//   {"op":"window","n":…}    goes to window n, counted from 0; one more than there are opens it, on the same folder
//   {"op":"pages"}           the addresses and texts of all of the browser's pages
//   {"op":"menu","text":…}   runs a command of the palette by its title
//   {"op":"quick","text":…}  opens a file by its name
//   {"op":"goto","file":…,"line":…}  the same, with the cursor at the start of a 1-based line
//   {"op":"compose","sel":…,"text":…}  replaces the text of an editor box and waits until it stands there
//   {"op":"latency","in"?,"text":…}  types it key by key and returns, for each, the ms from the key to the frame that shows it
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [root, executablePath] = process.argv.slice(2);
const { chromium } = createRequire(`${root}/`)("playwright-core");
const browser = await chromium.launch({
  executablePath,
  headless: true,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"],
});
let page;
const pages = [];
// Generous, for machines that do other work too; what is waited for ends the wait.
const patience = 180000;
let timeout = patience;

/** The page, or the frame of our webview: it is inside the frame that every webview has. */
const scope = (c) => (c.in === "chat" ? page.frameLocator(`iframe.webview.ready[src*="extensionId=redline."]`).frameLocator("#active-frame") : page);
const find = (c) => {
  let l = scope(c).locator(c.sel);
  if (c.has) {
    l = l.filter({ hasText: c.has });
  }
  return c.nth === undefined ? l.first() : l.nth(c.nth);
};
const frameOf = async (c) => {
  if (c.in !== "chat") {
    return page;
  }
  const handle = await scope(c).locator("body").elementHandle();
  return handle.ownerFrame();
};

async function drawn() {
  await page.locator(".monaco-workbench").waitFor({ timeout });
  await page.locator(".explorer-folders-view .monaco-list-row, .webview.ready").first().waitFor({ timeout });
}

/** Opens the box at the top with a text; a box that another one's end closes is opened again. */
async function picker(text) {
  const input = page.locator(".quick-input-widget input[type=text]").first();
  for (let i = 0; ; i++) {
    await page.keyboard.press("F1");
    try {
      await input.waitFor({ timeout: 5000 });
      await input.fill(text, { timeout: 5000 });
      return;
    } catch (e) {
      if (i === 5) {
        throw e;
      }
      await page.keyboard.press("Escape");
    }
  }
}

const ops = {
  async open(c) {
    const context = await browser.newContext({ viewport: { width: c.width ?? 1440, height: c.height ?? 900 }, deviceScaleFactor: c.scale ?? 1 });
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    page = await context.newPage();
    pages.push(page);
    page.on("pageerror", (e) => console.error(`page: ${e}`));
    await page.goto(c.url);
    await drawn();
  },
  async reload() {
    // Text that is not saved asks whether to leave; the workbench keeps it.
    page.once("dialog", (d) => d.accept());
    await page.reload();
    await drawn();
  },
  async window(c) {
    if (c.n < pages.length) {
      page = pages[c.n];
      await page.bringToFront();
      return;
    }
    const url = page.url();
    page = await page.context().newPage();
    pages.push(page);
    await page.goto(url);
    await drawn();
  },
  click: (c) => find(c).click({ timeout, modifiers: c.modifiers, button: c.button }),
  dblclick: (c) => find(c).dblclick({ timeout }),
  hover: (c) => find(c).hover({ timeout }),
  wait: (c) => find(c).waitFor({ timeout }),
  gone: (c) => find(c).waitFor({ state: "hidden", timeout }),
  text: (c) => find(c).innerText({ timeout }),
  texts: (c) => scope(c).locator(c.sel).allInnerTexts(),
  count: (c) => scope(c).locator(c.sel).count(),
  // Long text goes in as by an input method: key by key it would take seconds.
  type: (c) => (c.text.length > 200 ? page.keyboard.insertText(c.text) : page.keyboard.type(c.text)),
  fill: (c) => find(c).fill(c.text, { timeout }),
  press: (c) => page.keyboard.press(c.key),
  async drag(c) {
    const middle = async (l) => {
      const r = await l.boundingBox({ timeout });
      return [r.x + r.width / 2, r.y + r.height / 2];
    };
    const from = await middle(find(c));
    const to = await middle(find({ ...c, ...c.to }));
    await page.mouse.move(...from);
    await page.mouse.down();
    await page.mouse.move(from[0] + 20, from[1] + 5, { steps: 4 });
    if (c.key) {
      await page.keyboard.down(c.key);
    }
    await page.mouse.move(...to, { steps: 8 });
    await page.mouse.up();
    if (c.key) {
      await page.keyboard.up(c.key);
    }
  },
  async compose(c) {
    // A box that is still being set up loses what is typed, and its list of suggestions would
    // take the next Enter for itself.
    const plain = (s) => s.replace(/[\s\u00a0\u200b]/g, "");
    const list = page.locator(".suggest-widget.visible");
    for (const end = Date.now() + timeout; ; ) {
      await find(c).click({ timeout });
      await page.keyboard.press("Control+a");
      await page.keyboard.type(c.text);
      for (let i = 0; i < 20; i++) {
        if (await list.count()) {
          await page.keyboard.press("Escape");
        } else if (plain((await find(c).locator(".view-lines").innerText()) ?? "") === plain(c.text)) {
          return;
        }
        await page.waitForTimeout(50);
      }
      if (Date.now() > end) {
        throw new Error(`the text does not stand in ${c.sel}`);
      }
    }
  },
  async latency(c) {
    const frame = await frameOf(c);
    await frame.evaluate((chat) => {
      const took = (window.latencies = []);
      let at = 0;
      const pressed = () => (at = performance.now());
      const drawn = () => {
        const from = at;
        at = 0;
        if (from) {
          requestAnimationFrame(() => setTimeout(() => took.push(performance.now() - from)));
        }
      };
      const changes = new MutationObserver(drawn);
      addEventListener("keydown", pressed, true);
      if (chat) {
        addEventListener("input", drawn);
      } else {
        changes.observe(document.querySelector(".editor-instance .view-lines"), { subtree: true, childList: true, characterData: true });
      }
      window.stopLatencies = () => {
        removeEventListener("keydown", pressed, true);
        removeEventListener("input", drawn);
        changes.disconnect();
      };
    }, c.in === "chat");
    for (const [n, key] of [...c.text].entries()) {
      await page.keyboard.press(key);
      const end = Date.now() + timeout;
      while ((await frame.evaluate(() => window.latencies.length)) <= n) {
        if (Date.now() > end) {
          throw new Error(`key ${n} is not shown after ${timeout} ms`);
        }
      }
    }
    return frame.evaluate(() => (window.stopLatencies(), window.latencies));
  },
  async shot(c) {
    // What fades in or blinks is brought to its end, so that pictures are the same each time.
    await page.screenshot({ path: c.path, animations: "disabled", caret: "initial" });
  },
  eval: async (c) => (await frameOf(c)).evaluate(c.js),
  until: async (c) => {
    // The page of our webview forbids eval, by which waitForFunction looks again and again.
    const end = Date.now() + timeout;
    while (c.in === "chat" && !(await (await frameOf(c)).evaluate(c.js))) {
      if (Date.now() > end) {
        throw new Error(`not true after ${timeout} ms`);
      }
      await new Promise((again) => setTimeout(again, 50));
    }
    if (c.in !== "chat") {
      await page.waitForFunction(c.js, undefined, { timeout, polling: 50 });
    }
  },
  async pages() {
    return Promise.all(page.context().pages().map(async (p) => ({ url: p.url(), text: (await p.locator("body").innerText({ timeout })).slice(0, 500) })));
  },
  async goto(c) {
    const name = c.file.split("/").pop();
    const there = page.locator(".statusbar-item").filter({ hasText: `Ln ${c.line}, Col 1` }).first();
    for (const end = Date.now() + timeout; ; ) {
      await picker(`${c.file}:${c.line}:1`);
      await page.locator(".quick-input-list .monaco-list-row.focused").filter({ hasText: name }).first().waitFor({ timeout });
      await page.keyboard.press("Enter");
      await page.locator(".quick-input-widget").waitFor({ state: "hidden", timeout });
      try {
        await page.locator(`.tab.active[data-resource-name="${name}"]`).waitFor({ timeout: 10000 });
        // The box gives the focus back a little after it is gone.
        await page.locator(".editor-instance .monaco-editor.focused").first().waitFor({ timeout: 10000 });
        await there.waitFor({ timeout: 10000 });
        return;
      } catch (e) {
        // A decision just made goes on to the next change, or what was clicked before opens now: again.
        if (Date.now() > end) {
          throw e;
        }
      }
    }
  },
  async menu(c) {
    await picker(`>${c.text}`);
    await page.locator(".quick-input-list .monaco-list-row.focused, .quick-input-list .monaco-list-row").filter({ hasText: c.text }).first().click({ timeout });
    // Gone, or taken for a question of the command's own.
    await page.waitForFunction(
      () => {
        const box = document.querySelector(".quick-input-widget");
        const input = box?.querySelector("input");
        return !box || box.getBoundingClientRect().height === 0 || (input && !input.value.startsWith(">") && !input.placeholder.includes("command"));
      },
      undefined,
      { timeout, polling: 50 },
    );
  },
  async quick(c) {
    await picker(c.text);
    await page.locator(".quick-input-list .monaco-list-row").filter({ hasText: c.text.split("/").pop() }).first().click({ timeout });
    await page.locator(`.tab.active[data-resource-name="${c.text.split("/").pop()}"]`).waitFor({ timeout });
    await page.locator(".editor-instance .monaco-editor .view-line").first().waitFor({ timeout });
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const c = JSON.parse(line);
  timeout = c.timeout ?? patience;
  let answer;
  try {
    const run = ops[c.op];
    if (!run) {
      throw new Error(`no such operation: ${c.op}`);
    }
    answer = { value: (await run(c)) ?? null };
  } catch (e) {
    answer = { error: String(e?.message ?? e).slice(0, 2000) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await browser.close();
