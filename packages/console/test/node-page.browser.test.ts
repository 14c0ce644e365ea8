/** Tests the details of a node whose suite has run: its newest result, earlier runs, and facts in which it differs from its pool. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { accessibilityViolations } from "./accessibility.ts";
import { buildConsole, chromiumPath, expectShown, openBrowser, type OpenBrowser } from "./browser.ts";
import { newHome, removeHome, startControlPlane, type ControlPlane } from "./control-plane.ts";

const PATIENCE_MS = 60_000;
const SCREENSHOTS = process.env["HEADROOM_SCREENSHOTS"];

/** A suite whose first run on the last node fails, and which states a kernel of its own there. */
const suite = (home: string): string => `
const { existsSync, writeFileSync } = require("node:fs");
const node = process.argv[2];
const isLast = /4$/.test(node);
const mark = ${JSON.stringify(home)} + "/ran-" + node;
const isFirst = !existsSync(mark);
writeFileSync(mark, "");
const fact = (test, text, differs) => ({ test, text, differs });
console.log(JSON.stringify({ suite: "quick", complete: true, results: [
  { test: "hbm", value: 2950, unit: "GB/s", verdict: isLast && isFirst ? "fail" : "pass" },
  fact("layout/network", "8 x mlx5_core 400000 Mb/s", "fail"),
  fact("software/kernel", isLast ? "6.6.1" : "6.1.0", "warn"),
] }));`;

describe.skipIf(chromiumPath === null)("the details of a node", () => {
  let home: string;
  let plane: ControlPlane;
  let browser: OpenBrowser;
  beforeAll(async () => {
    buildConsole();
    home = newHome();
    const program = path.join(home, "suite.cjs");
    writeFileSync(program, suite(home));
    const command = [process.execPath, program, "{node}"];
    const document = { kind: "suite", name: "quick", pools: ["local"], command, tests: ["hbm"], repeat: 1 };
    writeFileSync(path.join(home, "qualifications.yaml"), JSON.stringify(document));
    plane = await startControlPlane(home, 0, { options: ["--nodes", "4"] });
    browser = await openBrowser();
    await browser.page.goto(plane.loginUrl);
    await expectShown(browser.page.getByRole("heading", { level: 1, name: "Fleet" }));
  });
  afterAll(async () => {
    await browser.close();
    await plane.stop();
    removeHome(home);
  });

  it("show its runs of the suite and what it has unlike its pool, on a desk and on a phone", async () => {
    const { page, complaints } = browser;
    const { client } = plane;
    const { sites, pools } = await client.fleet();
    await client.apply({
      sites: sites.map(({ name, fabricLevels }) => ({ name, fabricLevels })),
      pools: pools.map(({ name, site, executor, acceleratorType, priceMicroUsdPerHour }) => ({
        name,
        site,
        executor,
        acceleratorType,
        priceMicroUsdPerHour,
        qualification: { suite: "quick", limitMs: 60_000, atOnce: 4 },
      })),
    } as never);
    const nodes = (await client.listNodes()).items.map(({ id }) => id);
    const last = nodes.find((id) => id.endsWith("4")) ?? "";
    const isOver = async (): Promise<boolean> =>
      (await client.listNodes()).items.every(({ qualification }) => qualification === undefined);
    for (const id of nodes) await client.qualifyNode(id);
    await expect.poll(isOver, { timeout: PATIENCE_MS }).toBe(true);
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 844 });
      await page.goto(`${plane.url}/?node=${encodeURIComponent(last)}`);
      const runs = page.getByRole("region", { name: "Qualification" });
      await expectShown(runs.getByText(/[23] of 3 tests passed/).first());
      await expectShown(runs.getByText(/did not pass/).first());
      const differences = page.getByRole("region", { name: "Differences from its pool" });
      await expectShown(differences.getByText("6.6.1; 3 of 3 other nodes have 6.1.0"));
      if (SCREENSHOTS !== undefined) {
        await differences.scrollIntoViewIfNeeded();
        await page.screenshot({ path: path.join(SCREENSHOTS, `node-${width}.png`) });
      }
      expect(await accessibilityViolations(page)).toEqual([]);
    }
    expect(complaints).toEqual([]);
  }, 180_000);
});
