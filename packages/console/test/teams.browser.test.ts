/** Tests the page Teams on the demo: bars with marks, usage over time, and editing with a difference and a dry run. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { accessibilityViolations } from "./accessibility.ts";
import { buildConsole, chromiumPath, openBrowser, expectShown, type OpenBrowser } from "./browser.ts";
import { serveConsole, type StaticServer } from "./static-server.ts";

describe.skipIf(chromiumPath === null)("teams", () => {
  let server: StaticServer;
  let browser: OpenBrowser;
  let page: Page;

  beforeAll(async () => {
    buildConsole();
    server = await serveConsole();
    browser = await openBrowser({ width: 1440, height: 900 });
    ({ page } = browser);
    await page.goto(`${server.url}/?demo#/teams`);
    await expectShown(page.getByRole("heading", { level: 1, name: "Teams" }));
    await page.getByRole("button", { name: "Pause simulated time" }).click();
  });
  afterAll(async () => {
    await browser.close();
    await server.close();
  });

  const team = (name: string) => page.getByRole("listitem", { name, exact: true });

  it("draws one bar for each resource, and none that is full for want of a limit", async () => {
    const bar = team("product/search").locator("[data-resource='H200-SXM']");
    await expectShown(bar);
    expect(await bar.getAttribute("aria-label")).toMatch(/^H200-SXM: \d+ held, .*no limit$/);
    const { width: whole } = (await bar.boundingBox()) ?? { width: 0 };
    const { width: held } = (await bar.locator("[data-part=held]").boundingBox()) ?? { width: 0 };
    expect(held).toBeLessThan(whole * 0.9);
    expect(await bar.locator("[data-mark=limit]").count()).toBe(0);
    const limited = team("research/vision").locator("[data-resource='H100-SXM']");
    expect(await limited.locator("[data-mark=limit]").count()).toBe(1);
    expect(await limited.locator("[data-mark=entitlement]").count()).toBe(1);
  });

  it("shows usage over time with the values at the chosen time", async () => {
    const usage = page.getByRole("region", { name: "Accelerators held by team, last 24 hours" });
    await expectShown(usage.getByRole("img", { name: /^Accelerators held by team\. research: \d+ to \d+, now \d+/ }));
    const time = usage.getByRole("slider");
    await time.focus();
    const before = await time.getAttribute("aria-valuetext");
    await page.keyboard.press("ArrowLeft");
    await expect.poll(() => time.getAttribute("aria-valuetext")).not.toBe(before);
  });

  it("edits a team after showing the difference and a dry run", async () => {
    await page.getByRole("button", { name: "Edit research/vision" }).click();
    const editor = page.getByRole("dialog");
    await editor.getByLabel("Guarantee of H100-SXM").fill("x");
    await expectShown(editor.getByText("Guarantee of H100-SXM: must be a number of 0 or more, or empty."));
    await editor.getByLabel("Guarantee of H100-SXM").fill("24");
    await editor.getByRole("button", { name: "Review changes" }).click();
    const changes = editor.getByRole("region", { name: "Changes" });
    await expectShown(changes.getByText("Guarantee of H100-SXM"));
    await expectShown(changes.getByText("Dry run passed: research/vision would be changed."));
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(await team("research/vision").locator("[data-mark=guarantee]").count()).toBe(0);
    await editor.getByRole("button", { name: "Apply" }).click();
    await editor.waitFor({ state: "detached" });
    await expect.poll(() => team("research/vision").locator("[data-mark=guarantee]").count()).toBe(1);
    expect(await accessibilityViolations(page)).toEqual([]);
  });
});
