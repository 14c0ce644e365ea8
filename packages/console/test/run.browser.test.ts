/** Tests a run from its failure to its rerun, and the list of workloads, on a control plane with real processes. */
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { accessibilityViolations } from "./accessibility.ts";
import { buildConsole, chromiumPath, openBrowser, expectShown, type OpenBrowser } from "./browser.ts";
import { newHome, removeHome, startControlPlane, type ControlPlane } from "./control-plane.ts";

const failing = "echo starting; echo 'loss is NaN at step 17' >&2; exit 3";

describe.skipIf(chromiumPath === null)("a run on a control plane", () => {
  const home = newHome();
  let plane: ControlPlane;
  let browser: OpenBrowser;
  let page: Page;

  beforeAll(async () => {
    buildConsole();
    plane = await startControlPlane(home);
    browser = await openBrowser({ width: 1440, height: 900 });
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

  const submit = async (name: string, run: string, accelerators = 1): Promise<string> => {
    const spec = { kind: "train" as const, name, run, gang: { workers: 1, accelerators }, retries: { max: 0 } };
    const { workloadId } = await plane.client.submitWorkload(spec);
    return workloadId;
  };

  it("shows first how the failing worker ended and what it wrote last, and reruns", async () => {
    const id = await submit("breaks", failing);
    await page.goto(`${plane.url}/workloads/${id}`);
    const failure = page.getByRole("region", { name: "Attempt 1 failed" });
    await expectShown(failure.getByText("Worker 0 exited with code 3."));
    await expectShown(
      failure.getByRole("region", { name: "Last lines of worker 0" }).getByText(/loss is NaN at step 17/),
    );
    // The panel is the first one on the page.
    expect(await page.locator("main section").first().getAttribute("aria-label")).toBe("Attempt 1 failed");
    expect(await accessibilityViolations(page)).toEqual([]);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("region", { name: "Logs", exact: true }).getByRole("button", { name: "Download" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("breaks.log");
    await page.getByRole("button", { name: "Rerun" }).click();
    await expectShown(page.getByRole("region", { name: "Attempt 2 failed" }));
  });

  it("finds what failed in the output of all attempts", async () => {
    await page.goto(`${plane.url}/logs`);
    await page.getByRole("searchbox", { name: "Text of a line" }).fill("is nan at step \\d+");
    await page.getByLabel("Regular expression").check();
    const search = page.getByRole("button", { name: "Search", exact: true });
    await search.click();
    await expectShown(page.getByText("No line matches"));
    await page.getByRole("searchbox", { name: "Text of a line" }).fill("is NaN at step \\d+");
    await search.click();
    const matches = page.getByRole("list", { name: "Matches" }).getByRole("listitem");
    await expectShown(matches.first().getByText("loss is NaN at step 17"));
    await expectShown(matches.first().getByRole("link", { name: "default/breaks" }));
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(page.url()).toContain("regex=true");
  });

  it("clones into the form of a new workload, with a script of several lines", async () => {
    const id = await submit("script", "echo first\necho second\nexit 4");
    await page.goto(`${plane.url}/workloads/${id}`);
    await page
      .getByRole("link", { name: "Clone" })
      .or(page.getByRole("button", { name: "Clone" }))
      .click();
    await expect.poll(() => page.getByLabel("Name").inputValue()).toBe("script-copy");
    await page.getByLabel("Walltime").fill("5m");
    expect(await page.locator("#submit-run").inputValue()).toBe("echo first\necho second\nexit 4");
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole("button", { name: "Submit" }).click();
    await expectShown(page.getByRole("region", { name: "Attempt 1 failed" }).getByText("Worker 0 exited with code 4."));
  });

  it("tells within two clicks of the start page what failed, and why", async () => {
    await page.goto(plane.url);
    const main = page.getByRole("navigation", { name: "Main" });
    await main
      .getByRole("link", { name: /^Workloads/ })
      .first()
      .click();
    await page.getByText("Failed", { exact: true }).first().click();
    const rows = page.getByRole("table", { name: "Workloads" }).locator("[data-row]");
    await expectShown(rows.filter({ hasText: "breaks" }).getByTitle(/worker 0 exited with code 3/));
    await expectShown(rows.filter({ hasText: "script-copy" }).getByTitle(/worker 0 exited with code 4/));
  });

  it("forecasts the start without a click, and holds and releases", async () => {
    await submit("occupies", "sleep 600", 4);
    const id = await submit("waits", "sleep 600", 4);
    await page.goto(`${plane.url}/workloads/${id}`);
    const waits = page.getByRole("region", { name: "Why it waits" });
    await expectShown(
      waits.getByRole("region", { name: "When it will start" }).getByText("half before", { exact: true }),
    );
    await page.getByRole("button", { name: "Hold" }).click();
    await expectShown(page.getByText("Held", { exact: true }).first());
    await page.getByRole("button", { name: "Release" }).click();
    await expectShown(page.getByRole("button", { name: "Hold" }));
  });

  it("lists user, node and accelerator-hours, filters by them, and stops what is selected", async () => {
    await page.goto(`${plane.url}/workloads`);
    const table = page.getByRole("table", { name: "Workloads" });
    const { nodes, actor } = await plane.client
      .listWorkloads({ phase: "running" })
      .then(({ items: [running] }) => ({ nodes: running?.nodes ?? [], actor: running?.actor ?? "" }));
    await expectShown(table.getByRole("row", { name: /occupies/ }).getByText(nodes[0] ?? "no node", { exact: true }));
    await expectShown(table.getByRole("row", { name: /occupies/ }).getByText(actor, { exact: true }));
    await page.getByRole("textbox", { name: "User" }).fill("nobody-else");
    await page.keyboard.press("Enter");
    await expectShown(page.getByText("No workload matches"));
    await page.getByRole("textbox", { name: "User" }).fill("");
    await page.keyboard.press("Enter");
    await page.getByRole("combobox", { name: "Submitted" }).selectOption("Last hour");
    await page.getByRole("checkbox", { name: "Select occupies" }).check();
    await expectShown(page.getByRole("button", { name: "Stop 1 selected" }));
    await page.getByRole("checkbox", { name: "Select all 2 listed that have not ended" }).check();
    expect(await page.getByRole("checkbox", { name: "Select waits" }).isChecked()).toBe(true);
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole("button", { name: "Stop 2 selected" }).click();
    await page.getByRole("alertdialog").getByRole("button", { name: "Stop 2" }).click();
    await expectShown(table.getByRole("row", { name: /waits/ }).getByText("Cancelled", { exact: true }));
  });

  it("lists every worker of a gang on its node", async () => {
    const { items } = await plane.client.listWorkloads({ phase: "running" });
    await Promise.all(items.map(({ id }) => plane.client.stopWorkload(id)));
    await plane.client.submitWorkload({
      kind: "train",
      name: "pair",
      run: "sleep 600",
      gang: { workers: 2, accelerators: 1 },
    });
    await expect
      .poll(
        async () =>
          (await plane.client.listNodes()).items[0]?.holders.filter(({ workloadName }) => workloadName === "pair")
            .length,
      )
      .toBe(2);
    const node = (await plane.client.listNodes()).items[0]?.id ?? "";
    await page.goto(`${plane.url}/?node=${node}`);
    const here = page.getByRole("dialog").getByRole("region", { name: "On this node" });
    await expectShown(here.getByText(/worker 0, /));
    await expectShown(here.getByText(/worker 1, /));
    await expectShown(page.getByRole("dialog").getByText(/^No telemetry(?: yet)?: /));
  });
});
