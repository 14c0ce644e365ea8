/** Every page under axe in both themes and on a phone, and a walk through the product without a pointer. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { accessibilityViolations } from "./accessibility.ts";
import { buildConsole, chromiumPath, openBrowser, expectShown, type OpenBrowser } from "./browser.ts";
import { serveConsole, type StaticServer } from "./static-server.ts";

const places = [
  "/",
  "/?view=table",
  "/?node=h200-05",
  "/queue",
  "/workloads",
  "/workloads/new",
  "/teams",
  "/policy",
  "/events",
];

async function openDemo(page: Page, server: StaticServer): Promise<void> {
  await page.goto(`${server.url}/?demo`);
  await expectShown(page.getByRole("heading", { level: 1 }));
}

/** Within the page, as a link would: the simulation goes on. */
async function visit(page: Page, address: string): Promise<void> {
  await page.evaluate((to) => window.location.assign(`#${to}`), address);
  await page.locator("main [role=status][aria-label^=Loading]").waitFor({ state: "detached" });
  // By its tag: under an open drawer the page has no role that could be asked for.
  await expectShown(page.locator("h1"));
}

describe.skipIf(chromiumPath === null)("accessibility", () => {
  let server: StaticServer;
  beforeAll(async () => {
    buildConsole();
    server = await serveConsole();
  });
  afterAll(() => server.close());

  const looks = [
    { name: "light", colorScheme: "light", width: 1280, height: 800 },
    { name: "dark", colorScheme: "dark", width: 1280, height: 800 },
    { name: "a phone", colorScheme: "dark", width: 390, height: 844 },
  ] as const;

  it.each(looks)("axe has no objection to any page in $name", async ({ colorScheme, width, height }) => {
    const browser = await openBrowser({ colorScheme, width, height });
    try {
      const { page } = browser;
      await openDemo(page, server);
      await page.getByRole("button", { name: "Pause simulated time" }).click();
      const found: Record<string, readonly string[]> = {};
      const check = async (place: string): Promise<void> => {
        const violations = await accessibilityViolations(page);
        if (violations.length > 0) found[place] = violations;
      };
      for (const place of places) {
        await visit(page, place);
        await check(place);
      }
      await visit(page, "/queue");
      await page.locator("[data-row] a").first().click();
      await expectShown(page.getByRole("region", { name: "Why it waits" }));
      await check("a workload that waits");
      await visit(page, "/workloads?phase=running&search=-");
      await page.locator("[data-row] a").first().click();
      await expectShown(page.getByRole("region", { name: "Attempts" }));
      await check("a workload that runs");
      await page.getByRole("button", { name: "Stop" }).click();
      await expectShown(page.getByRole("alertdialog"));
      await check("a question");
      await page.keyboard.press("Escape");
      await page.getByRole("alertdialog").waitFor({ state: "detached" });
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Find or do" }).fill("h100");
      await expectShown(page.getByRole("option", { name: /h100-01/ }));
      await check("the palette");
      expect(found).toEqual({});
      // Nothing is wider than the window: nobody has to scroll sideways to read.
      expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth)).toBeLessThanOrEqual(
        0,
      );
    } finally {
      await browser.close();
    }
  });

  describe("without a pointer", () => {
    let browser: OpenBrowser;
    let page: Page;
    beforeAll(async () => {
      browser = await openBrowser();
      ({ page } = browser);
      await openDemo(page, server);
    });
    afterAll(() => browser.close());

    const focused = (): Promise<string> =>
      page.evaluate(
        () => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent ?? "",
      );

    it("skips to the content and goes from place to place by two keys", async () => {
      await page.keyboard.press("Tab");
      expect(await focused()).toBe("Skip to content");
      await page.keyboard.press("Enter");
      expect(await page.evaluate(() => document.activeElement?.id)).toBe("main");
      for (const [key, place] of Object.entries({
        q: "Queue",
        w: "Workloads",
        t: "Teams",
        p: "Policy",
        e: "Events",
        f: "Fleet",
      })) {
        await page.keyboard.press("g");
        await page.keyboard.press(key);
        await expectShown(page.getByRole("heading", { level: 1, name: place }));
        await expect.poll(() => page.title()).toBe(`${place} · Headroom`);
        await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("main");
      }
    });

    it("walks down the queue, opens what waits and stops it", async () => {
      await page.keyboard.press("g");
      await page.keyboard.press("q");
      await expectShown(page.locator("[data-row] a").first());
      await page.keyboard.press("/");
      expect(await focused()).toBe("Name, person or reason");
      while (!(await page.evaluate(() => document.activeElement?.closest("[data-row]") !== null)))
        await page.keyboard.press("Tab");
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("j");
      await expect
        .poll(() => page.evaluate(() => document.activeElement?.closest("[data-row]")?.getAttribute("data-row")))
        .toBe("2");
      const name = await focused();
      await page.keyboard.press("Enter");
      await expectShown(page.getByRole("heading", { level: 1, name }));
      while ((await focused()) !== "Stop") await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await expectShown(page.getByRole("alertdialog"));
      while ((await focused()) !== "Stop") await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await expectShown(page.getByText("Cancelled", { exact: true }).first());
    });

    it("does not take letters for shortcuts while somebody types, and forgets them when switched off", async () => {
      await page.keyboard.press("n");
      await expectShown(page.getByRole("heading", { level: 1, name: "New workload" }));
      await page.getByLabel("Name").focus();
      await page.keyboard.type("gq");
      expect(await page.getByLabel("Name").inputValue()).toBe("gq");
      await page.getByRole("button", { name: "Submit" }).focus();
      await page.keyboard.press("?");
      await page.getByRole("checkbox", { name: "Single keys act as shortcuts" }).press("Space");
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await page.keyboard.press("g");
      await page.keyboard.press("q");
      await page.keyboard.press("Control+k");
      await expectShown(page.getByRole("combobox", { name: "Find or do" }));
      await page.keyboard.press("Escape");
      await expectShown(page.getByRole("heading", { level: 1, name: "New workload" }));
    });

    it("keeps the chosen colours", async () => {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Find or do" }).fill("dark");
      await page.keyboard.press("Enter");
      const background = (): Promise<string> =>
        page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
      await expect.poll(() => page.evaluate(() => document.documentElement.dataset["theme"])).toBe("dark");
      const dark = await background();
      await page.reload();
      await expectShown(page.getByRole("heading", { level: 1 }));
      expect(await background()).toBe(dark);
      expect(await page.evaluate(() => document.documentElement.dataset["theme"])).toBe("dark");
    });
  });
});
