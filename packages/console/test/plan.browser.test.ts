/** Tests the page Plan in the demo: what a new user must be able to read there. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildConsole, chromiumPath, expectShown, openBrowser, type OpenBrowser } from "./browser.ts";
import { serveConsole, type StaticServer } from "./static-server.ts";

/** The demo first simulates several days, which takes time on a busy machine. */
const STARTED_MS = 100_000;

describe.skipIf(chromiumPath === null)("the page Plan", () => {
  let server: StaticServer;
  let browser: OpenBrowser;
  beforeAll(async () => {
    buildConsole();
    server = await serveConsole();
    browser = await openBrowser();
    await browser.page.goto(`${server.url}/?demo#/plan`);
    await browser.page.getByRole("table", { name: "Orders" }).waitFor({ timeout: STARTED_MS });
  });
  afterAll(async () => {
    await browser.close();
    await server.close();
  });

  it("says what runs out first, what to order by when, and what it costs to be late", async () => {
    const { page, complaints } = browser;
    const short = page.getByRole("region", { name: "In short" });
    await expectShown(short.getByText("accelerators of h100, Jul 2026"));
    await expectShown(short.getByText("32 × h200 by 26 Feb 2026"));
    await expectShown(short.getByText("in 51 days"));
    await expectShown(short.getByText("$32,492"));
    await expectShown(short.getByText("+$232,333"));
    const rows = page.getByRole("table", { name: "Orders" }).getByRole("row");
    expect(await rows.count()).toBeGreaterThan(3);
    const axes = page.getByRole("group", { name: "Axes that run out" });
    await expectShown(axes.getByRole("row", { name: /^power 860 kW .*Jun 2025 overdue$/ }));
    await expectShown(page.getByRole("group", { name: "Variants" }).getByText("deliveries take 50% longer"));
    expect(complaints).toEqual([]);
  });
});
