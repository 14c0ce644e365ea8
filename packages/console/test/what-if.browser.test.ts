/** The page What if: in the demo the engine plays in the page's own worker, on a control plane it is asked over the API. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { accessibilityViolations } from "./accessibility.ts";
import { buildConsole, chromiumPath, expectShown, openBrowser, type OpenBrowser } from "./browser.ts";
import { newHome, removeHome, startControlPlane, type ControlPlane } from "./control-plane.ts";
import { serveConsole, type StaticServer } from "./static-server.ts";

/** The demo simulates its first days before it shows anything, and a busy machine plays the next hours slowly. */
const PATIENCE_MS = 100_000;

const answered = (page: Page, text: RegExp): Promise<void> => page.getByText(text).waitFor({ timeout: PATIENCE_MS });

describe.skipIf(chromiumPath === null)("what if, in the demo", () => {
  let server: StaticServer;
  let browser: OpenBrowser;
  let page: Page;
  beforeAll(async () => {
    buildConsole();
    server = await serveConsole();
    browser = await openBrowser();
    ({ page } = browser);
    await page.goto(`${server.url}/?demo`);
    await page.getByRole("heading", { level: 1, name: "Fleet" }).waitFor({ timeout: PATIENCE_MS });
    await page.getByRole("button", { name: "Pause simulated time" }).click();
    await page.evaluate(() => window.location.assign("#/what-if"));
    await expectShown(page.getByRole("button", { name: "Play" }));
  });
  afterAll(async () => {
    await browser.close();
    await server.close();
  });

  it("plays nothing before something is otherwise", async () => {
    expect(await page.getByRole("button", { name: "Play" }).isDisabled()).toBe(true);
    await expectShown(page.getByText("Nothing is otherwise yet"));
  });

  it("shows the next hours beside each other, and whose start moves", async () => {
    await page.getByRole("spinbutton", { name: /^h100/ }).fill("-40");
    await page.getByRole("button", { name: "Play" }).click();
    await answered(page, /In the next 12 h, if nobody submits anything more: .* and [1-9]\d* later/);
    const [use] = await page.getByRole("img", { name: /^Accelerators in use/ }).all();
    expect(await use?.getAttribute("aria-label")).toMatch(/as things are: .*; with the change: /);
    await expectShown(
      page
        .getByRole("region", { name: "Starts" })
        .getByText(/later$/)
        .first(),
    );
    expect(await accessibilityViolations(page)).toEqual([]);
  });

  it("takes other figures of teams and another policy", async () => {
    await page.getByRole("spinbutton", { name: /^h100/ }).fill("0");
    await page.getByRole("combobox", { name: "Policy" }).selectOption("fifo");
    await page.getByRole("combobox", { name: "Teams with other figures" }).selectOption("research");
    const figures = page.getByRole("group", { name: "research" });
    await figures.getByRole("spinbutton", { name: "Limit of H100-SXM" }).fill("8");
    await page.getByText("6 h", { exact: true }).click();
    await page.getByRole("button", { name: "Play" }).click();
    await answered(page, /In the next 6 h/);
    const row = page.getByRole("region", { name: "Accelerators by team" }).getByRole("row", { name: /^research / });
    expect(await row.getByRole("cell").last().textContent()).toMatch(/^-\d/);
    expect(await accessibilityViolations(page)).toEqual([]);
    await figures.getByRole("button", { name: "Leave research as it is" }).click();
    await figures.waitFor({ state: "detached" });
  });

  it("says that the demo keeps nothing to replay", async () => {
    await page.getByText("What was recorded").first().click();
    await page.getByRole("button", { name: "Replay" }).click();
    await expectShown(page.getByRole("alert").getByText(/keeps no journal/));
    expect(browser.complaints).toEqual([]);
  });
});

describe.skipIf(chromiumPath === null)("what if, on a control plane", () => {
  const home = newHome();
  let plane: ControlPlane;
  let browser: OpenBrowser;
  let page: Page;
  beforeAll(async () => {
    buildConsole();
    plane = await startControlPlane(home);
    const gang = { accelerators: 3, coresMilli: 0, memoryMib: 0 };
    await plane.apply(["a", "b", "c"].map((name) => ({ kind: "train", name, run: "sleep 600", gang })));
    browser = await openBrowser();
    ({ page } = browser);
    await page.goto(plane.loginUrl);
    await page
      .getByRole("navigation", { name: "Main" })
      .getByRole("link", { name: /^What if/ })
      .first()
      .click();
    await expectShown(page.getByRole("button", { name: "Play" }));
  });
  afterAll(async () => {
    await browser.close();
    await plane.stopWork();
    await plane.stop();
    removeHome(home);
  });

  it("plays more nodes: what waits starts at once", async () => {
    await page.getByRole("spinbutton").first().fill("2");
    await page.getByRole("button", { name: "Play" }).click();
    await answered(page, /2 waiting workloads would start earlier and 0 later/);
    await expectShown(page.getByRole("cell", { name: /^in 0 s, earlier/ }).first());
  });

  it("replays what was recorded under another policy", async () => {
    await page.getByText("What was recorded").first().click();
    await page.getByRole("combobox", { name: "Policy" }).selectOption("fifo");
    await page.getByRole("button", { name: "Replay" }).click();
    await answered(page, /3 workloads would have waited/);
    await expectShown(page.getByRole("region", { name: "Waits by team" }).getByRole("rowheader", { name: "default" }));
    await expectShown(page.getByText(/the replay itself is off/));
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(browser.complaints).toEqual([]);
  });
});
