/** Tests the page Offers in the demo: filters, untrusted prices, own against rent, and the CSV file, also on a narrow window. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildConsole, chromiumPath, expectShown, openBrowser, type OpenBrowser } from "./browser.ts";
import { serveConsole, type StaticServer } from "./static-server.ts";

/** The demo first simulates several days, which takes time on a busy machine. */
const STARTED_MS = 100_000;
const DOWNLOAD_MS = 10_000;

describe.skipIf(chromiumPath === null)("the page Offers", () => {
  let server: StaticServer;
  let browser: OpenBrowser;
  beforeAll(async () => {
    buildConsole();
    server = await serveConsole();
    browser = await openBrowser();
    await browser.page.goto(`${server.url}/?demo#/offers`);
    await browser.page.getByRole("group", { name: "Offers" }).waitFor({ timeout: STARTED_MS });
  });
  afterAll(async () => {
    await browser.close();
    await server.close();
  });

  it("orders offers by the useful hour, and shows those of an accelerator and a market", async () => {
    const { page, complaints } = browser;
    const table = page.getByRole("group", { name: "Offers" });
    await expectShown(table.getByText("A100-80GB").first());
    await page.getByLabel("Accelerator").selectOption("H100");
    await table.getByText("A100-80GB").first().waitFor({ state: "detached" });
    await page.getByText("On demand", { exact: true }).click();
    await expectShown(table.getByRole("row").nth(1).getByText("Beta gpu.h100.8 eu-north1"));
    await expectShown(page.getByRole("heading", { name: "Lowest price by day" }));
    await expectShown(
      page.getByRole("region", { name: "Prices that are not trusted" }).getByText("host-price-missing"),
    );
    await expectShown(page.getByText(/^leased is cheaper than Beta gpu\.h100\.8 eu-north1 above \d+% utilisation\.$/));
    expect(complaints).toEqual([]);
  });

  it("saves all offers and untrusted rows as CSV", async () => {
    const { page } = browser;
    const saved = page.waitForEvent("download", { timeout: DOWNLOAD_MS });
    await page.getByRole("button", { name: "Download CSV" }).click();
    const [header = "", ...rows] = readFileSync(await (await saved).path(), "utf8")
      .trimEnd()
      .split("\n");
    expect(rows.every((row) => row.split(",").length === header.split(",").length)).toBe(true);
    expect(rows.filter((row) => row.includes(",unpriced,")).length).toBeGreaterThan(0);
  });

  it("fits a narrow window", async () => {
    const { page } = browser;
    await page.setViewportSize({ width: 390, height: 844 });
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    expect(overflow).toBeLessThanOrEqual(0);
  });
});
