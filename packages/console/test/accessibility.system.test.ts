/** Tests every page with axe in both themes and on a phone, and uses the product without a pointer. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { someOf } from "../../../tools/testing/rotating.ts";
import { accessibilityViolations } from "./accessibility.ts";
import { buildConsole, chromiumPath, openBrowser, expectShown, type OpenBrowser } from "./browser.ts";
import { places, rowsOf, visit } from "./places.ts";
import { serveConsole, type StaticServer } from "./static-server.ts";

const sidewaysOf = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);

/** Pixels by which the document is higher than the window: 0, because only areas within the page scroll. */
const downwardsOf = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollHeight - window.innerHeight);

const movingNow = (page: Page): Promise<readonly string[]> =>
  page.evaluate(() => document.getAnimations().map(({ id, playState }) => `${id} ${playState}`));

async function openDemo(page: Page, server: StaticServer): Promise<void> {
  await page.goto(`${server.url}/?demo`);
  await expectShown(page.getByRole("heading", { level: 1 }));
}

/** Overlays. Each is opened, checked and closed. */
async function openOneByOne(page: Page, look: (what: string) => Promise<void>): Promise<void> {
  await visit(page, "/workloads?phase=running&search=-", rowsOf(page, "Workloads"));
  await rowsOf(page, "Workloads").getByRole("link").click();
  await expectShown(page.getByRole("region", { name: "Attempts" }));
  await look("a workload that runs");
  await page.getByRole("button", { name: "Stop" }).click();
  await expectShown(page.getByRole("alertdialog"));
  await look("a question");
  await page.keyboard.press("Escape");
  await page.getByRole("alertdialog").waitFor({ state: "detached" });
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search or run a command" }).fill("h100");
  await expectShown(page.getByRole("option", { name: /^h100-01/ }));
  await look("the palette");
  await page.getByRole("option", { name: /^h100-01/ }).click();
  await expectShown(page.getByRole("dialog").getByRole("heading", { name: "h100-01" }));
  await look("a node");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
}

describe.skipIf(chromiumPath === null)("accessibility", () => {
  let server: StaticServer;
  beforeAll(async () => {
    buildConsole();
    server = await serveConsole();
  });
  afterAll(() => server.close());

  const looks = [
    { name: "light", colorScheme: "light", width: 1440, height: 900 },
    { name: "dark", colorScheme: "dark", width: 1440, height: 900 },
    { name: "a dark phone", colorScheme: "dark", width: 390, height: 844 },
    { name: "a light phone", colorScheme: "light", width: 390, height: 844 },
  ] as const;

  it.each(someOf(looks, { suiteParts: looks.length }))(
    "axe has no objection to any page in $name",
    async ({ colorScheme, width, height }) => {
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
        for (const [place, contentOf] of Object.entries(places)) {
          await visit(page, place, contentOf(page));
          await check(place);
          // Nothing is wider than the window, so no page scrolls sideways.
          expect(await sidewaysOf(page), place).toBeLessThanOrEqual(0);
          expect(await downwardsOf(page), place).toBeLessThanOrEqual(0);
        }
        await visit(page, "/queue", rowsOf(page, "Queue"));
        await rowsOf(page, "Queue").getByRole("link").click();
        await expectShown(page.getByRole("region", { name: "Why it waits" }));
        await check("a workload that waits");
        await page.getByRole("button", { name: "What would start it now?" }).click();
        await page.getByText(/^It starts in /).waitFor();
        await page
          .getByRole("region", { name: "Changes that start it now" })
          .getByText(/starts it now/)
          .waitFor();
        await check("when it will start");
        await openOneByOne(page, check);
        expect(found).toEqual({});
      } finally {
        await browser.close();
      }
    },
  );

  /** The names of all animations and transitions that start while every overlay is opened once. */
  const movementsOf = async (browser: OpenBrowser, look: (what: string) => Promise<void>): Promise<Set<string>> => {
    const { page, context } = browser;
    const movements = new Set<string>();
    await context.exposeFunction("tellMovement", (name: string) => movements.add(name));
    await context.addInitScript(() => {
      const { tellMovement } = globalThis as unknown as { tellMovement: (name: string) => void };
      addEventListener("animationstart", ({ animationName }) => tellMovement(animationName), true);
      addEventListener("transitionrun", ({ propertyName }) => tellMovement(propertyName), true);
    });
    await openDemo(page, server);
    await openOneByOne(page, look);
    return movements;
  };

  it("axe has no objection to what fades or slides in, once it has", async () => {
    const browser = await openBrowser({ motion: "no-preference", colorScheme: "dark", width: 390, height: 844 });
    try {
      const found: Record<string, readonly string[]> = {};
      const movements = await movementsOf(browser, async (what) => {
        const violations = await accessibilityViolations(browser.page);
        if (violations.length > 0) found[what] = violations;
      });
      expect(found).toEqual({});
      expect([...movements]).toEqual(expect.arrayContaining(["fade-in", "slide-in"]));
    } finally {
      await browser.close();
    }
  });

  it("nothing moves for those who asked for less motion", async () => {
    const browser = await openBrowser({ motion: "reduce" });
    try {
      const movements = await movementsOf(browser, async () => expect(await movingNow(browser.page)).toEqual([]));
      expect([...movements]).toEqual([]);
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

    /**
     * Presses both keys without a wait, because the page accepts a chord only if its keys follow each other quickly.
     */
    const pressChord = async (first: string, second: string): Promise<void> => {
      await Promise.all([page.keyboard.press(first), page.keyboard.press(second)]);
    };

    const focused = (): Promise<string> =>
      page.evaluate(
        () => document.activeElement?.getAttribute("aria-label") ?? document.activeElement?.textContent ?? "",
      );

    it("skips to the content and goes from place to place by two keys", async () => {
      await page.keyboard.press("Tab");
      expect(await focused()).toBe("Skip to content");
      await page.keyboard.press("Enter");
      await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("main");
      for (const [key, place] of Object.entries({
        q: "Queue",
        w: "Workloads",
        t: "Teams",
        c: "Calendar",
        p: "Policy",
        i: "What if",
        u: "Idle resources",
        e: "Events",
        f: "Fleet",
      })) {
        await pressChord("g", key);
        await expectShown(page.getByRole("heading", { level: 1, name: place }));
        await expect.poll(() => page.title()).toBe(`${place} · Headroom`);
        await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("main");
      }
    });

    it("walks down the queue, opens what waits and stops it", async () => {
      // Work that must still be waiting when the keys of the test reach it.
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Search or run a command" }).fill("pause");
      await page.keyboard.press("Enter");
      await page.getByRole("dialog").waitFor({ state: "detached" });
      await expectShown(page.getByRole("button", { name: "Let simulated time run" }));
      await pressChord("g", "q");
      await expectShown(rowsOf(page, "Queue").getByRole("link"));
      await page.keyboard.press("/");
      await expect.poll(focused).toBe("Name, person or reason");
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
      // The button of the page has the same name until the dialog has the focus.
      await expectShown(page.getByRole("alertdialog").locator(":focus"));
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
      await pressChord("g", "q");
      await page.keyboard.press("Control+k");
      await expectShown(page.getByRole("combobox", { name: "Search or run a command" }));
      await page.keyboard.press("Escape");
      await expectShown(page.getByRole("heading", { level: 1, name: "New workload" }));
    });

    it("keeps the chosen colours", async () => {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Search or run a command" }).fill("dark");
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
