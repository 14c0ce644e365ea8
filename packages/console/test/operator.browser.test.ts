/** Tests the pages on which an operator compares and plans, with the demo. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { accessibilityViolations } from "./accessibility.ts";
import { buildConsole, chromiumPath, openBrowser, expectShown, type OpenBrowser } from "./browser.ts";
import { serveConsole, type StaticServer } from "./static-server.ts";

describe.skipIf(chromiumPath === null)("the operator's pages", () => {
  let server: StaticServer;
  let browser: OpenBrowser;
  let page: Page;

  beforeAll(async () => {
    buildConsole();
    server = await serveConsole();
    browser = await openBrowser({ width: 1440, height: 900, colorScheme: "dark" });
    ({ page } = browser);
    await page.goto(`${server.url}/?demo`);
    await expectShown(page.getByRole("heading", { level: 1, name: "Fleet" }));
    await page.getByRole("button", { name: "Pause simulated time" }).click();
  });
  afterAll(async () => {
    await browser.close();
    await server.close();
  });

  const visit = async (address: string, heading: string): Promise<void> => {
    await page.evaluate((to) => window.location.assign(`#${to}`), address);
    await expectShown(page.getByRole("heading", { level: 1, name: heading }));
  };

  it("shows a day of used, queued and lost capacity above the map", async () => {
    const day = page.getByRole("region", { name: "Last 24 hours" });
    await expectShown(
      day.getByRole("img", { name: /used: \d+ to \d+, now \d+; out of service: .*; queued: .*; capacity: 512/ }),
    );
    const map = await page.getByRole("application", { name: "Fleet map" }).boundingBox();
    expect((await day.boundingBox())?.y).toBeLessThan(map?.y ?? 0);
  });

  it("lists the user and the expected start of everything that waits", async () => {
    await visit("/queue", "Queue");
    const rows = page.getByRole("table", { name: "Queue" }).locator("[data-row]");
    await expectShown(rows.first().getByText(/-user$/));
    await expectShown(rows.locator("time").first());
    expect(await accessibilityViolations(page)).toEqual([]);
  });

  it("compares policies with the active one, and replays the last week before it activates another", async () => {
    await visit("/policy", "Policy");
    const table = page.getByRole("region", { name: "Policies compared" });
    await expectShown(table.getByText("(differs from the active policy)").first());
    expect(await accessibilityViolations(page)).toEqual([]);
    await table.getByRole("button", { name: "Activate fifo", exact: true }).click();
    const question = page.getByRole("alertdialog");
    await expectShown(question.getByRole("region", { name: "Differences" }).locator("ins").first());
    await expectShown(
      question.getByRole("region", { name: "Replay of the last week" }).getByText(/cannot be replayed here/),
    );
    expect(await accessibilityViolations(page)).toEqual([]);
    // A long list of differences scrolls between title and buttons, which stay visible.
    const place = await question.boundingBox();
    for (const part of [question.getByRole("heading").first(), question.getByRole("button", { name: "Activate" })]) {
      const box = await part.boundingBox();
      expect(box?.y).toBeGreaterThanOrEqual(place?.y ?? Number.NaN);
      expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual((place?.y ?? 0) + (place?.height ?? 0));
    }
    await page.keyboard.press("Escape");
    await question.waitFor({ state: "detached" });
  });

  it("draws the calendar as a timeline", async () => {
    await visit("/calendar", "Calendar");
    const timeline = page.getByRole("region", { name: "Next 14 days" });
    await expectShown(timeline.getByRole("img", { name: /^switch-repair, maintenance: .* to / }));
    await expectShown(timeline.getByRole("img", { name: /^index-refresh, schedule: .*; further runs after that$/ }));
    for (const day of ["Wed 7 Jan", "Fri 9 Jan", "Mon 19 Jan"])
      await expectShown(timeline.getByText(day, { exact: true }));
    expect(await accessibilityViolations(page)).toEqual([]);
  });

  it("keeps form and YAML of a new workload in step, beside a dry run", async () => {
    await visit("/workloads/new", "New workload");
    await page.getByLabel("Name").fill("tiny");
    const dryRun = page.getByRole("region", { name: "Dry run" });
    await expectShown(dryRun.getByText(/^(Starts now|Waits)$/));
    await page.getByLabel("Memory per worker").fill("much");
    await expectShown(dryRun.getByText(/^memory: write memory like /));
    await page.getByRole("button", { name: "Submit" }).click();
    await expectShown(page.locator("#submit-memory-error"));
    await page.getByLabel("Memory per worker").fill("4GiB");
    await page.getByText("YAML", { exact: true }).click();
    const yaml = page.getByRole("textbox", { name: "Workload as YAML" });
    expect(await yaml.inputValue()).toMatch(/name: tiny\n[\s\S]*memory: 4GiB/);
    await yaml.fill("kind: train\nname: [");
    await expectShown(page.getByText(/^The text is no YAML: /));
    await yaml.fill(
      "kind: train\nname: from-yaml\nrun: x\ngang: { workers: 3, accelerators: 1 }\nselector: { zone: a }\n",
    );
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByText("Form", { exact: true }).click();
    expect(await page.getByLabel("Workers", { exact: true }).inputValue()).toBe("3");
    // Keys of the manifest that have no field in the form stay.
    await page.getByLabel("Priority").fill("high");
    await page.getByText("YAML", { exact: true }).click();
    expect(await yaml.inputValue()).toMatch(/zone: a[\s\S]*priority: high/);
  });

  it("waits for an accelerator type that no node has where the new workload says so", async () => {
    await visit("/queue", "Queue");
    await visit("/workloads/new", "New workload");
    const dryRun = page.getByRole("region", { name: "Dry run" });
    await expectShown(dryRun.getByText("Fill in the required fields. The result appears here."));
    await page.getByLabel("Name").fill("patient");
    const types = page.getByLabel("Accelerator", { exact: true });
    await types.pressSequentially("MI300X, B200");
    expect(await types.inputValue()).toBe("MI300X, B200");
    await expectShown(dryRun.getByText("Refused", { exact: true }));
    await expectShown(dryRun.getByText(/^No node has accelerators of type /));
    await page.getByRole("checkbox", { name: "Wait until a node has this type" }).check();
    await expectShown(dryRun.getByText("Waits", { exact: true }));
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByText("YAML", { exact: true }).click();
    const yaml = page.getByRole("textbox", { name: "Workload as YAML" });
    expect(await yaml.inputValue()).toMatch(/- MI300X\n +- B200\nwaitForType: true/);
    await yaml.fill("kind: train\nname: patient\nrun: |\n  first\n  second\naccelerator: B200\nwaitForType: false\n");
    await page.getByText("Form", { exact: true }).click();
    expect(await page.getByRole("checkbox", { name: "Wait until a node has this type" }).isChecked()).toBe(false);
  });
});
