/** Tests the demo from plain files: the engine, the simulator and every page, without a server. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isTurnOf } from "../../../tools/testing/rotating.ts";
import { buildConsole, chromiumPath, consoleDir, openBrowser, expectShown, type OpenBrowser } from "./browser.ts";
import { serveConsole, type StaticServer } from "./static-server.ts";

describe.skipIf(chromiumPath === null || !isTurnOf("console demo"))("the demo", () => {
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
    // A drawer that opens with the address hides the heading from assistive technology.
    await expectShown(page.getByRole("heading", { level: 1, includeHidden: true }));
    return page;
  };

  it("offers itself where no control plane answers, in little code", async () => {
    const { page } = browser;
    const scripts = new Set<string>();
    page.on("response", (response) => {
      const { pathname } = new URL(response.url());
      if (pathname.endsWith(".js") && !pathname.includes("/worker-")) scripts.add(pathname);
    });
    await page.goto(server.url);
    await page.getByRole("link", { name: "Open the demo" }).click();
    await expectShown(page.getByRole("heading", { level: 1, name: "Fleet" }));
    const sizes = [...scripts].map((script) => gzipSync(readFileSync(path.join(consoleDir, script))).length);
    // Maximum number of bytes of a first visit without the demo's worker: 200 kB, so that the page opens at once on a
    // slow line.
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(200_000);
    // The single API request that must fail; the page must report no other problem.
    expect(browser.complaints.filter((complaint) => !complaint.includes("404"))).toEqual([]);
  });

  it("shows 512 accelerators, whose numbers add up, and lets simulated time run and pause", async () => {
    const page = await open("/");
    const use = page.locator("dl dd").first();
    await expect.poll(() => use.textContent()).toMatch(/^\d+ \/ 512$/);
    await page.getByRole("button", { name: "Pause simulated time" }).click();
    await expectShown(page.getByRole("button", { name: "Let simulated time run" }));
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

  it("shows an endpoint that follows traffic, with a rollout and the reasons of its decisions", async () => {
    const page = await open("/endpoints");
    const row = page.getByRole("table", { name: "Endpoints" }).getByRole("row").filter({ hasText: "chat" });
    await expectShown(row.getByText(/(?:rolling|paused)|follows traffic/).first());
    await row.getByRole("link", { name: "chat" }).click();
    const decisions = page.getByRole("list", { name: "Decisions, the newest first" });
    await expectShown(decisions.getByText(/autoscaler set \d replicas?: /).first());
    await expectShown(decisions.getByText(/revision/i).first());
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
    await expectShown(drawer.getByText("Draining", { exact: true }));
    await drawer.getByRole("button", { name: "Resume" }).click();
    await expectShown(drawer.getByText("Up", { exact: true }));
    await page.keyboard.press("Escape");
    await drawer.waitFor({ state: "detached" });
  });

  it("shows each accelerator's utilization, memory, temperature, power and errors, now and over time", async () => {
    const page = await open("/?node=h100-01");
    const telemetry = page.getByRole("dialog").getByRole("region", { name: "Telemetry" });
    const row = telemetry.getByRole("region", { name: "Accelerators" }).getByRole("row").nth(8);
    await expect
      .poll(async () => (await row.allInnerTexts())[0])
      .toMatch(/^7\s+\d+%\s+.* of 80 GiB\s+\d+ °C\s+\d+ W\s+0$/);
    await expectShown(telemetry.getByRole("img", { name: /^Utilization\. mean: \d+% to \d+%/ }));
    await telemetry.getByRole("combobox", { name: "Value" }).selectOption("Power");
    await expectShown(telemetry.getByRole("img", { name: /^Power\. mean: \d+ W to \d+ W/ }));
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.getByText("Utilization", { exact: true }).click();
    await expectShown(page.getByRole("list", { name: "Legend" }).getByText("Half busy"));
    await page.getByRole("application", { name: "Fleet map" }).hover({ position: { x: 15, y: 60 } });
    await expectShown(page.getByText(/^\d+% busy, .* GiB.* °C, \d+ W/));
  });

  it("expects the starts of the whole queue in a worker beside the simulation", async () => {
    const { page: opened } = browser;
    const loaded = opened.waitForResponse((response) => response.url().includes("/estimate-worker-"));
    const page = await open("/queue");
    await loaded;
    // The simulation answers within this time.
    await page.getByRole("link", { name: "Teams" }).first().click();
    await expectShown(page.getByRole("heading", { level: 1, name: "Teams" }));
    await page
      .getByRole("link", { name: /^Queue/ })
      .first()
      .click();
    const starts = page.getByRole("table", { name: "Queue" }).locator("time");
    await starts.first().waitFor();
  });

  it("takes a submission, says why it waits, and removes it from the queue when it is stopped", async () => {
    const page = await open("/workloads/new");
    await page.getByLabel("Name").fill("far too large");
    await page.getByRole("button", { name: "Submit" }).click();
    await expectShown(page.locator("#submit-name-error").getByText("must be at most 100"));
    await page.getByLabel("Name").fill("everything-at-once");
    await page.getByLabel("Workers").fill("64");
    await page.getByLabel("Accelerators per worker").fill("8");
    await page.getByRole("button", { name: "Submit" }).click();
    await expectShown(page.getByRole("heading", { level: 1, name: "everything-at-once" }));
    const waits = page.getByRole("region", { name: "Why it waits" });
    await waits.getByText(/^Exceeds the fleet: it needs .*\. Even if they were empty/).waitFor();
    const ask = waits.getByRole("button");
    expect(await ask.textContent()).toBe("What would start it now?");
    await ask.click();
    const estimate = waits.getByRole("region", { name: "When it will start" });
    await estimate
      .getByText(/^Exceeds the fleet: it needs .*\. Even if they were empty.* No start can be estimated\.$/)
      .waitFor();
    await expectShown(estimate.getByText("9 in 10 before", { exact: true }));
    expect(await estimate.getByText("never under present conditions", { exact: true }).count()).toBe(3);
    const changes = waits.getByRole("region", { name: "Changes that start it now" });
    await changes
      .getByText("Each of these changes alone starts it now, as a trial run of the scheduler showed:")
      .waitFor();
    await expectShown(changes.getByText(/^Request \d+ workers? instead of 64\.$/));
    await expectShown(waits.getByRole("button", { name: "Ask again" }));

    await page
      .getByRole("link", { name: /^Queue/ })
      .first()
      .click();
    await page.getByRole("searchbox").fill("everything-at");
    const row = page.getByRole("row", { name: /everything-at-once/ });
    await expectShown(row.getByText("Exceeds fleet"));
    await row.getByRole("link").click();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Stop" }).click();
    await expectShown(page.getByText("Cancelled", { exact: true }));
  });

  it("runs a small submission to its end and draws its loss", async () => {
    const page = await open("/workloads/new");
    await page.getByLabel("Name").fill("small-one");
    await page.getByLabel("Runs for (minutes)").fill("30");
    await page.getByLabel("Priority").fill("1000");
    await page.getByRole("button", { name: "Submit" }).click();
    await expectShown(page.getByRole("heading", { level: 1, name: "small-one" }));
    await page.getByText("1000×").first().click();
    const chart = page.getByRole("img", { name: /^loss from / });
    await expectShown(chart);
    await page.getByText("Succeeded", { exact: true }).first().waitFor();
    await expect
      .poll(() => chart.getAttribute("aria-label"))
      .toMatch(/^loss from \d.* at step \d+ to \d.* at step 1200;/);
    await expectShown(page.getByText("Simulated work has no processes, so it writes no logs."));
  });

  it("shows budgets in the tree of teams, when they will be used up, and a warning of one that is", async () => {
    const page = await open("/teams");
    await expectShown(
      page.getByText(
        /^The budget of platform is used up: \$[\d,.]+ over\. Soft: no effect on work when it is used up\.$/,
      ),
    );
    const platform = page.getByRole("region", { name: "Budget of platform" });
    await expectShown(platform.getByText("Used up", { exact: true }));
    expect(await platform.getByText(/^At the rate/).count()).toBe(0);
    const research = page.getByRole("region", { name: "Budget of research", exact: true });
    await expectShown(research.getByText(/^[\d,.]+ of 300,000$/));
    await expectShown(research.getByText(/^At the rate of running work, [\d,.]+ GPU-hours a day, /));
    await expectShown(research.getByText(/^At the rate of the last \d* ?days?, [\d,.]+ GPU-hours a day, /));
    expect(await page.getByRole("region", { name: "Budget of research/vision" }).count()).toBe(0);
  });

  it("shows who is drained for a window, how much of a reservation is used, and what schedules did and will do", async () => {
    const page = await open("/calendar");
    const windows = page.getByRole("region", { name: "Maintenance and reservations" });
    const repair = windows.getByRole("listitem").filter({ hasText: "switch-repair" }).first();
    await expectShown(repair.getByText("2 nodes (h100-41, h100-42), 16 accelerators"));
    await expectShown(repair.getByText(/^\d+ attempts? (is|are) stopped for it:$/));
    const kept = windows.getByRole("listitem").filter({ hasText: "search-launch" }).first();
    await expectShown(kept.getByText(/^now, for \d+ h/));
    await expectShown(kept.getByText(/^In use by its holder: \d+ of 16 \(\d+%\)$/));
    const schedule = page
      .getByRole("region", { name: "Schedules" })
      .getByRole("listitem")
      .filter({ hasText: "index-refresh" })
      .first();
    await expectShown(schedule.getByText("the last run has not ended").first());
    await expectShown(schedule.getByText("Succeeded", { exact: true }).first());
    await expectShown(page.getByText("After the due time: due within 7 h."));
    await schedule.getByRole("link").first().click();
    await expectShown(page.getByRole("heading", { level: 1, name: "index-refresh" }));
  });

  it("changes the policy after a question, and the queue says so", async () => {
    const page = await open("/policy");
    await page.getByRole("button", { name: "Activate fifo", exact: true }).click();
    // The notification is visible only for a few seconds.
    const said = expectShown(page.getByRole("status").getByText("Policy fifo is active."));
    await Promise.all([page.getByRole("alertdialog").getByRole("button", { name: "Activate" }).click(), said]);
    await page
      .getByRole("link", { name: /^Queue/ })
      .first()
      .click();
    await expectShown(page.getByRole("link", { name: "fifo", exact: true }));
  });

  it("keeps what a list shows in its address", async () => {
    const page = await open("/workloads?phase=succeeded&team=research");
    const rows = page.getByRole("table", { name: "Workloads" }).locator("[data-row]");
    await expectShown(rows.nth(5));
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
    await page.getByRole("combobox", { name: "Search or run a command" }).fill("h200-03");
    await expectShown(page.getByRole("option", { name: /^h200-03/ }));
    await page.keyboard.press("Enter");
    await expectShown(page.getByRole("dialog").getByRole("heading", { name: "h200-03" }));
  });

  it("never complained on the way", () => {
    expect(browser.complaints.filter((complaint) => !complaint.includes("404"))).toEqual([]);
  });
});
