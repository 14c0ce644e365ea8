/** Tests the layout of every page of the demo by its boxes, at the widths of notebooks, desktops and phones. */
import type { CDPSession, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { someOf } from "../../../tools/testing/rotating.ts";
import { layoutFaults } from "./boxes.ts";
import { buildConsole, chromiumPath, expectShown, openBrowser, type OpenBrowser } from "./browser.ts";
import { places, rowsOf, visit } from "./places.ts";
import { serveConsole, type StaticServer } from "./static-server.ts";

const HEIGHT_PX = 900;
const TEXT_PX = 16;
/** Number of commits in which each page is looked at once, to bound the time of the test. */
const PAGE_PARTS = 3;

interface Size {
  readonly name: string;
  readonly width: number;
  readonly textPx: number;
}

const sizes: readonly Size[] = [
  ...[1440, 1280, 1024, 390].map((width) => ({ name: `${width} px`, width, textPx: TEXT_PX })),
  { name: "1280 px with text of 200%", width: 1280, textPx: 2 * TEXT_PX },
];

describe.skipIf(chromiumPath === null)("the layout of every page", () => {
  let server: StaticServer;
  let browser: OpenBrowser;
  let page: Page;
  let devtools: CDPSession;

  beforeAll(async () => {
    buildConsole();
    server = await serveConsole();
    browser = await openBrowser({ width: sizes[0]!.width, height: HEIGHT_PX });
    ({ page } = browser);
    devtools = await browser.context.newCDPSession(page);
    await page.goto(`${server.url}/?demo`);
    await expectShown(page.getByRole("heading", { level: 1 }));
    await page.getByRole("button", { name: "Pause simulated time" }).click();
  });
  afterAll(async () => {
    await browser.close();
    await server.close();
  });

  const linkIn = async (table: string): Promise<readonly string[]> => {
    const link = rowsOf(page, table).getByRole("link").first();
    return (await link.count()) > 0 ? [(await link.getAttribute("href"))?.replace(/^.*#/, "") ?? ""] : [];
  };

  /** The addresses of the pages, with one of an endpoint, and of a workload that runs, one that waits and one that failed. */
  const addresses = async (): Promise<readonly string[]> => {
    const found = Object.keys(places);
    await visit(page, "/endpoints", rowsOf(page, "Endpoints"));
    found.push(...(await linkIn("Endpoints")));
    for (const phase of ["running", "pending", "failed"]) {
      await visit(page, `/workloads?phase=${phase}`, rowsOf(page, "Workloads").or(page.getByText("No workload")));
      found.push(...(await linkIn("Workloads")));
    }
    return found;
  };

  const resize = async ({ width, textPx }: Size): Promise<void> => {
    await page.setViewportSize({ width, height: HEIGHT_PX });
    await devtools.send("Page.setFontSizes", { fontSizes: { standard: textPx, fixed: Math.round(textPx * 0.8) } });
    await expect
      .poll(() => page.evaluate(() => getComputedStyle(document.documentElement).fontSize))
      .toBe(`${textPx}px`);
    // The first frame measures, the second one shows what depends on the measures.
    await page.evaluate(
      () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(undefined)))),
    );
  };

  it("cuts and overlaps no text at any width, nor with text of twice the size", async () => {
    const faults: Record<string, readonly string[]> = {};
    for (const address of someOf(await addresses(), { parts: PAGE_PARTS })) {
      await resize(sizes[0]!);
      const facts = page.getByRole("region", { name: address.startsWith("/endpoints/") ? "Budget" : "Facts" });
      await visit(page, address, places[address]?.(page) ?? facts);
      for (const size of sizes) {
        await resize(size);
        const found = await layoutFaults(page);
        if (found.length > 0) faults[`${address} at ${size.name}`] = found;
      }
    }
    expect(faults).toEqual({});
  });
});
