/** Tests the page Cost in the demo: amounts that add up, groups, and the CSV file. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildConsole, chromiumPath, expectShown, openBrowser, type OpenBrowser } from "./browser.ts";
import { serveConsole, type StaticServer } from "./static-server.ts";

/** The demo first simulates several days, which takes time on a busy machine. */
const STARTED_MS = 100_000;
const DOWNLOAD_MS = 10_000;

describe.skipIf(chromiumPath === null)("the page Cost", () => {
  let server: StaticServer;
  let browser: OpenBrowser;
  beforeAll(async () => {
    buildConsole();
    server = await serveConsole();
    browser = await openBrowser();
    await browser.page.goto(`${server.url}/?demo#/cost`);
    await browser.page.getByRole("group", { name: "Cost by group" }).waitFor({ timeout: STARTED_MS });
  });
  afterAll(async () => {
    await browser.close();
    await server.close();
  });

  it("shows costs by day and by group, and other groups when they are chosen", async () => {
    const { page, complaints } = browser;
    await expectShown(page.getByText(/^\$[\d,]+ since .* idle \(\d+%\)/));
    await expectShown(page.getByRole("heading", { name: "Cost by day" }));
    const table = page.getByRole("group", { name: "Cost by group" });
    await expectShown(table.getByText("nobody", { exact: true }));
    await page.getByLabel("Group by").selectOption("cause");
    await expectShown(table.getByText("free", { exact: true }));
    await page.getByText("7 days", { exact: true }).click();
    await expectShown(table.getByText("succeeded", { exact: true }));
    expect(complaints).toEqual([]);
  });

  it("saves a CSV file whose amounts add up", async () => {
    const { page } = browser;
    const saved = page.waitForEvent("download", { timeout: DOWNLOAD_MS });
    await page.getByRole("button", { name: "Download CSV" }).click();
    const [header = "", ...rows] = readFileSync(await (await saved).path(), "utf8")
      .trimEnd()
      .split("\n");
    expect(header).toBe(
      "period,cause,usd,used_usd,idle_usd,failed_usd,evicted_usd,lost_usd,accelerator_hours,used_hours,kwh,kwh_measured,energy_usd,carbon_kg",
    );
    expect(rows.length).toBeGreaterThan(5);
    for (const row of rows) {
      const [usd = 0, ...parts] = row.split(",").slice(2, 8).map(Number);
      expect(parts.reduce((sum, part) => sum + part, 0)).toBeCloseTo(usd, 4);
    }
  });
});
