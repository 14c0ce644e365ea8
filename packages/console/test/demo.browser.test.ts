/** The demo from plain files: the engine, the simulator and every page, with no server behind them. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildConsole, chromiumPath, openBrowser, type OpenBrowser } from "./browser.ts";
import { serveConsole, type StaticServer } from "./static-server.ts";

describe.skipIf(chromiumPath === null)("the demo", () => {
  let server: StaticServer;
  let browser: OpenBrowser;

  beforeAll(async () => {
    buildConsole();
    server = await serveConsole();
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    await server.close();
  });

  const open = async (address: string): Promise<OpenBrowser["page"]> => {
    const { page } = browser;
    await page.goto("about:blank");
    await page.goto(`${server.url}/?demo#${address}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    return page;
  };

  it("offers itself where no control plane answers", async () => {
    const { page } = browser;
    await page.goto(server.url);
    await page.getByRole("link", { name: "Open the demo" }).click();
    await page.getByRole("heading", { level: 1, name: "Fleet" }).waitFor();
    // The one request to the API that is not there; everything else the page must not complain about.
    expect(browser.complaints.filter((complaint) => !complaint.includes("404"))).toEqual([]);
  });

  it("shows 512 accelerators, whose numbers add up, and lets simulated time run and pause", async () => {
    const page = await open("/");
    const use = page.locator("dl dd").first();
    await expect.poll(() => use.textContent()).toMatch(/^\d+ \/ 512$/);
    await page.getByRole("button", { name: "Pause simulated time" }).click();
    await page.getByRole("button", { name: "Let simulated time run" }).waitFor();
    const numbers = page.locator("dl").first().locator("dd:nth-of-type(1)");
    await expect
      .poll(async () => {
        const [held = "", free = "", down = ""] = await numbers.allTextContents();
        return Number.parseInt(held, 10) + Number(free) + Number(down);
      })
      .toBe(512);
    const clock = page.getByRole("region", { name: "Simulation" }).locator("p");
    const before = await clock.textContent();
    await page.getByRole("button", { name: "Let simulated time run" }).click();
    await page.getByText("1000×").first().click();
    await expect.poll(() => clock.textContent()).not.toBe(before);
  });

  it("opens a node from the map by the keyboard, drains it and puts it back to work", async () => {
    const page = await open("/");
    const map = page.getByRole("application", { name: "Fleet map" });
    await map.focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowDown");
    await expect
      .poll(() => page.locator("p[aria-live=polite]").first().textContent())
      .toMatch(/^h100-\d\d, h100, spine-1/);
    await page.keyboard.press("Enter");
    const drawer = page.getByRole("dialog");
    await drawer.getByRole("button", { name: "Drain", exact: true }).click();
    await drawer.getByText("Draining", { exact: true }).waitFor();
    await drawer.getByRole("button", { name: "Resume" }).click();
    await drawer.getByText("Up", { exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await drawer.waitFor({ state: "detached" });
  });

  it("takes a submission, says why it waits, and removes it from the queue when it is stopped", async () => {
    const page = await open("/workloads/new");
    await page.getByLabel("Name").fill("far too large");
    await page.getByRole("button", { name: "Submit" }).click();
    await page.getByText("must be at most 100").waitFor();
    await page.getByLabel("Name").fill("everything-at-once");
    await page.getByLabel("Workers").fill("64");
    await page.getByLabel("Accelerators per worker").fill("8");
    await page.getByRole("button", { name: "Submit" }).click();
    await page.getByRole("heading", { level: 1, name: "everything-at-once" }).waitFor();
    const waits = page.getByRole("region", { name: "Why it waits" });
    await waits.getByText(/^It needs .*; even with nothing else running/).waitFor();

    await page
      .getByRole("link", { name: /^Queue/ })
      .first()
      .click();
    await page.getByRole("searchbox").fill("everything-at");
    const row = page.getByRole("row", { name: /everything-at-once/ });
    await row.getByText("Exceeds fleet").waitFor();
    await row.getByRole("link").click();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Stop" }).click();
    await page.getByText("Cancelled", { exact: true }).waitFor();
  });

  it("runs a small submission to its end and draws its loss", async () => {
    const page = await open("/workloads/new");
    await page.getByLabel("Name").fill("small-one");
    await page.getByLabel("Runs for (minutes)").fill("30");
    await page.getByLabel("Priority").fill("1000");
    await page.getByRole("button", { name: "Submit" }).click();
    await page.getByRole("heading", { level: 1, name: "small-one" }).waitFor();
    await page.getByText("300×").first().click();
    const chart = page.getByRole("img", { name: /^loss from / });
    await chart.waitFor();
    await page.getByText("Succeeded", { exact: true }).first().waitFor({ timeout: 30_000 });
    await expect
      .poll(() => chart.getAttribute("aria-label"))
      .toMatch(/^loss from \d.* at step \d+ to \d.* at step 1200;/);
    await page.getByText("Simulated work has no processes, so it writes no logs.").waitFor();
  });

  it("changes the policy after a question, and the queue says so", async () => {
    const page = await open("/policy");
    await page.getByRole("button", { name: "Put fifo in force" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Put in force" }).click();
    await page.getByRole("status").getByText("Policy fifo is in force.").waitFor();
    await page
      .getByRole("link", { name: /^Queue/ })
      .first()
      .click();
    await page.getByRole("link", { name: "fifo", exact: true }).waitFor();
  });

  it("keeps what a list shows in its address", async () => {
    const page = await open("/workloads?phase=succeeded&team=research");
    const rows = page.getByRole("table", { name: "Workloads" }).locator("[data-row]");
    await rows.first().waitFor();
    const texts = await rows.allTextContents();
    expect(texts.length).toBeGreaterThan(5);
    expect(texts.filter((text) => !text.includes("Succeeded") || !text.includes("research/"))).toEqual([]);
    await page.getByText("Failed", { exact: true }).first().click();
    await expect.poll(() => page.url()).toContain("phase=failed");
    await page.goBack();
  });

  it("finds workloads and nodes by name in the palette", async () => {
    const page = await open("/events");
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Find or do" }).fill("h200-03");
    await page.getByRole("option", { name: /h200-03/ }).waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByRole("heading", { name: "h200-03" }).waitFor();
  });

  it("never complained on the way", () => {
    expect(browser.complaints.filter((complaint) => !complaint.includes("404"))).toEqual([]);
  });
});
