/**
 * Tests a control plane that has never had a workload, the names in its records, and the page after the control plane
 * has stopped.
 */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { accessibilityViolations } from "./accessibility.ts";
import { buildConsole, chromiumPath, openBrowser, expectShown, type OpenBrowser } from "./browser.ts";
import { lastingPort, newHome, removeHome, startControlPlane, type ControlPlane } from "./control-plane.ts";

describe.skipIf(chromiumPath === null)("the first hour with a control plane", () => {
  const home = newHome();
  let plane: ControlPlane;
  let browser: OpenBrowser;
  let page: Page;

  beforeAll(async () => {
    buildConsole();
    plane = await startControlPlane(home, await lastingPort());
    browser = await openBrowser();
    ({ page } = browser);
    await page.goto(plane.loginUrl);
    await expectShown(page.getByRole("heading", { level: 1, name: "Fleet" }));
  });
  afterAll(async () => {
    await browser.close();
    await plane.stopWork();
    await plane.stop();
    removeHome(home);
  });

  it("shows what to do first, and what is done already, until something was submitted", async () => {
    const steps = page.getByRole("region", { name: "First steps" });
    await expectShown(steps.getByText("1 node with 4 accelerators joined."));
    await expectShown(steps.getByRole("link", { name: "New workload" }));
    expect(await accessibilityViolations(page)).toEqual([]);
    await plane.client.submitWorkload({
      kind: "train",
      name: "sleeper",
      run: "sleep 600",
      gang: { workers: 1, accelerators: 1 },
    });
    await steps.waitFor({ state: "detached" });
  });

  it("lists events by title and name, hides internal ones, and filters by kind, team and workload", async () => {
    // Submits as the console does, with an idempotency key. The answer is also recorded.
    await page.evaluate(async () => {
      const headers = {
        authorization: `Bearer ${localStorage.getItem("headroom.session") ?? ""}`,
        "content-type": "application/json",
        "idempotency-key": "0123456789abcdef",
      };
      const body = JSON.stringify({
        kind: "train",
        name: "second",
        run: "sleep 600",
        gang: { workers: 1, accelerators: 1 },
      });
      const { status } = await fetch("/v1/workloads", { method: "POST", headers, body });
      if (status !== 201) throw new Error(`the submission was answered with ${status}`);
    });
    await page.goto(`${plane.url}/events`);
    const rows = page.getByRole("table", { name: "Events" }).locator("[data-row]");
    await expectShown(rows.filter({ hasText: "Attempt 1 of sleeper started." }));
    const texts = await rows.allTextContents();
    expect(texts.join("\n")).not.toMatch(
      /gangPlaced|workloadSubmitted|commandAnswered|attemptStarted|Command answered/,
    );
    await page.getByRole("checkbox", { name: "Internal events" }).check();
    await expectShown(rows.filter({ hasText: "Command answered" }).first());
    await page.getByRole("checkbox", { name: "Internal events" }).uncheck();
    await page.getByRole("combobox", { name: "Workload" }).selectOption({ label: "second" });
    await expect.poll(async () => (await rows.allTextContents()).every((text) => text.includes("second"))).toBe(true);
    await page.getByRole("combobox", { name: "Kind" }).selectOption({ label: "Placed" });
    await expect.poll(() => rows.count()).toBe(1);
    await page.getByRole("combobox", { name: "Team" }).selectOption("default");
    await expectShown(rows.filter({ hasText: "Attempt 1 of second was placed" }));
    expect(page.url()).toMatch(/kind=gangPlaced/);
    expect(await accessibilityViolations(page)).toEqual([]);
  });

  it("tells idle accelerators from ones that nothing reports on", async () => {
    await page.goto(`${plane.url}/waste`);
    await expectShown(page.getByRole("heading", { level: 1, name: "Idle resources" }));
    await expectShown(page.getByText("No telemetry yet"));
    await expectShown(page.getByText(/^2 running attempts hold accelerators, and nothing tells how busy they are/));
  });

  it("says that the connection is lost, stops its timers, and goes on when the control plane is back", async () => {
    await page.goto(`${plane.url}/workloads`);
    const table = page.getByRole("table", { name: "Workloads" });
    const runTime = table
      .getByRole("row", { name: /sleeper/ })
      .getByRole("cell")
      .last();
    await expectShown(runTime);
    const before = await runTime.textContent();
    await expect.poll(() => runTime.textContent()).not.toBe(before);
    const port = Number(new URL(plane.url).port);
    await plane.stop();
    const banner = page.getByRole("alert", { name: "Connection" });
    await expectShown(banner.getByText("Connection lost."));
    await expectShown(banner.getByText(/^Everything shown is as of \d\d:\d\d:\d\d\./));
    // The banner says it once for the whole page.
    expect(await page.getByText(/^This data may be outdated/).count()).toBe(0);
    expect(await accessibilityViolations(page)).toEqual([]);
    // One tick may already have been sent.
    await page.waitForFunction(() => new Promise((resolve) => setTimeout(() => resolve(true), 1_100)));
    const stopped = await runTime.textContent();
    await page.waitForFunction(() => new Promise((resolve) => setTimeout(() => resolve(true), 2_500)));
    expect(await runTime.textContent()).toBe(stopped);
    const retry = banner.getByRole("button", { name: "Retry now" });
    await expectShown(retry);
    plane = await startControlPlane(home, port);
    const isBack = banner.getByText("Connection lost.").waitFor({ state: "detached" });
    // Where the start takes long, the page connects by itself before the click.
    await Promise.race([retry.click(), isBack]);
    await isBack;
    await expect.poll(() => runTime.textContent()).not.toBe(stopped);
  });
});
