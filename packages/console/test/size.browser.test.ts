/** Tests the sizing page. The performance model runs in the browser, without a server. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildConsole, chromiumPath, expectShown, openBrowser, type OpenBrowser } from "./browser.ts";
import { serveConsole, type StaticServer } from "./static-server.ts";

/** The demo first simulates several days, which takes time on a busy machine. */
const STARTED_MS = 100_000;

describe.skipIf(chromiumPath === null)("sizing", () => {
  let server: StaticServer;
  let browser: OpenBrowser;
  beforeAll(async () => {
    buildConsole();
    server = await serveConsole();
    browser = await openBrowser();
    await browser.page.goto(`${server.url}/?demo`);
    await browser.page.getByRole("heading", { level: 1, name: "Fleet" }).waitFor({ timeout: STARTED_MS });
  });
  afterAll(async () => {
    await browser.close();
    await server.close();
  });

  /** Navigates within the page, as a link does. The demo's start is not tested here. */
  const open = async (of: string): Promise<Page> => {
    const { page } = browser;
    await page.evaluate((to) => window.location.assign(`#${to}`), `/size?of=${of}`);
    await expectShown(page.getByRole("heading", { level: 1, name: "Size" }));
    return page;
  };
  const fact = (page: Page, region: string, name: string): Promise<string | null> =>
    page.getByRole("region", { name: region }).locator(`dt:text-is("${name}") + dd`).textContent();

  it("answers while a slider moves: twice the accelerators, more nodes to fail", async () => {
    const page = await open("training");
    const before = await fact(page, "Network, failures and storage", "Fails every");
    expect(before).toBe("4.12 days");
    await page.getByRole("slider", { name: "Accelerators" }).press("ArrowRight");
    await expect.poll(() => fact(page, "Network, failures and storage", "Fails every")).toBe("2.06 days");
    expect(await page.getByRole("slider", { name: "Accelerators" }).getAttribute("aria-valuetext")).toBe("1024");
  });

  it("starts with the number format that is the default for the model", async () => {
    const page = await open("training");
    await page.getByRole("combobox", { name: "Accelerator" }).selectOption("V100-SXM2-32GB");
    await expectShown(page.getByText("V100-SXM2-32GB has no bf16 units: fp16 is chosen."));
    await page.getByRole("combobox", { name: "Linear layers in" }).selectOption("bf16");
    await expectShown(page.getByText(/bf16 is counted at its fp16 rate/));
    await page.getByRole("combobox", { name: "Linear layers in" }).selectOption("Default for the model");
    await page.getByRole("combobox", { name: "Accelerator" }).selectOption("H100-SXM-80GB");
  });

  it("says what would work where nothing fits", async () => {
    const page = await open("training");
    await page.getByRole("combobox", { name: "Model" }).selectOption("llama-3-405b");
    await page.getByRole("slider", { name: "Accelerators" }).press("Home");
    await expectShown(page.getByText(/llama-3-405b needs at least .* GiB on one H100-SXM-80GB/));
    await expectShown(page.getByText(/Nearest that works: \d+ accelerators/));
  });

  it("shows workers for prompts apart from workers for answers", async () => {
    const page = await open("serving");
    const value = async (): Promise<string | null> =>
      fact(page, "Disaggregated: prefill and decode on separate workers", "In all");
    await expect.poll(value).toMatch(/^\d+ accelerators, \d+ USD\/h$/);
  });

  it("shows every plan worth a choice when asked", async () => {
    const page = await open("training");
    await page.getByRole("combobox", { name: "Model" }).selectOption("llama-3-8b");
    await page.getByRole("combobox", { name: "Plans" }).selectOption("All worth a choice");
    await expectShown(page.getByRole("table", { name: "Plans" }));
    expect(await page.getByRole("table", { name: "Plans" }).getByRole("row").count()).toBeGreaterThan(3);
  });

  it("counts switches of the published design", async () => {
    const page = await open("network");
    const rows = page.getByRole("table", { name: "Levels of the fabric" }).getByRole("row");
    await expect.poll(() => rows.nth(1).textContent()).toBe("leaf1284096321:1");
    expect(await rows.nth(3).textContent()).toBe("core644096512");
    await page.getByText("Dragonfly").click();
    await expectShown(page.getByRole("cell", { name: "group" }));
    expect(browser.complaints).toEqual([]);
  });
});
