/**
 * Tests telemetry of accelerators on a machine whose `nvidia-smi` is a stub: node drawer, map, workload page and idle
 * resources.
 */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { accessibilityViolations } from "./accessibility.ts";
import { buildConsole, chromiumPath, expectShown, openBrowser, type OpenBrowser } from "./browser.ts";
import { newHome, removeHome, startControlPlane, type ControlPlane } from "./control-plane.ts";

/** Accelerators are read every 15 s. */
const PATIENCE_MS = 40_000;

const readings = [
  "index, utilization.gpu [%], memory.used [MiB], memory.total [MiB], temperature.gpu, power.draw [W], ecc.errors.uncorrected.volatile.total",
  "0, 97, 61440, 81920, 61, 645.5, 0",
  "1, 42, 20480, 81920, 52, 310.2, 3",
  "2, [N/A], 4, 81920, 30, 70.1, [N/A]",
  "3, [Unknown Error], 4, 81920, 30, 70.1, 0",
];

describe.skipIf(chromiumPath === null)("telemetry of accelerators", () => {
  let home: string;
  let tools: string;
  let plane: ControlPlane;
  let browser: OpenBrowser;

  const installCards = (name: string): void => {
    const names = [0, 1, 2, 3].map((index) => `${index}, ${name}`).join("\\n");
    const script = `#!/bin/sh\ncase "$1" in\n*index,name*) printf '${names}\\n' ;;\n*) cat <<'END'\n${readings.join("\n")}\nEND\nesac\n`;
    writeFileSync(path.join(tools, "nvidia-smi"), script);
    chmodSync(path.join(tools, "nvidia-smi"), 0o755);
  };

  beforeAll(async () => {
    buildConsole();
    home = newHome();
    tools = mkdtempSync(path.join(tmpdir(), "headroom-tools-"));
    installCards("NVIDIA H100 80GB HBM3");
    plane = await startControlPlane(home, 0, { tools });
    browser = await openBrowser();
    await browser.page.goto(plane.loginUrl);
    await expectShown(browser.page.getByRole("heading", { level: 1, name: "Fleet" }));
  });
  afterAll(async () => {
    await browser.close();
    await plane.stopWork();
    await plane.stop();
    removeHome(home);
    rmSync(tools, { recursive: true, force: true });
  });

  it("shows each accelerator, and every worker of a gang, in the node drawer", async () => {
    const { page } = browser;
    await plane.client.submitWorkload({
      kind: "train",
      name: "pair",
      run: "sleep 600",
      gang: { workers: 2, accelerators: 1, coresMilli: 0 },
    });
    const [node] = (await plane.client.listNodes()).items;
    await page.goto(`${plane.url}/?node=${encodeURIComponent(node?.id ?? "")}`);
    const drawer = page.getByRole("dialog");
    const telemetry = drawer.getByRole("region", { name: "Telemetry" });
    const rows = telemetry.getByRole("region", { name: "Accelerators" }).getByRole("row");
    await expect
      .poll(async () => (await rows.allInnerTexts()).slice(1).map((text) => text.split(/\s*\t\s*/)), {
        timeout: PATIENCE_MS,
      })
      .toEqual([
        ["0", "97%", "60 GiB of 80 GiB", "61 °C", "646 W", "0"],
        ["1", "42%", "20 GiB of 80 GiB", "52 °C", "310 W", "3"],
        ["2", "–", "4 MiB of 80 GiB", "30 °C", "70 W", "–"],
        ["3", "–", "4 MiB of 80 GiB", "30 °C", "70 W", "0"],
      ]);
    await expectShown(telemetry.getByText("Accelerator 3: utilization.gpu: [Unknown Error]"));
    for (const worker of [0, 1]) await expectShown(drawer.getByText(new RegExp(`^default, worker ${worker}, `)));
    expect(await accessibilityViolations(page)).toEqual([]);
  });

  it("tells idle resources apart from missing telemetry, and shows the accelerators of each worker", async () => {
    const { page } = browser;
    await page.goto(`${plane.url}/waste`);
    await page.getByText("Nothing is idle", { exact: true }).waitFor({ timeout: PATIENCE_MS });
    await expectShown(page.getByText(/^1 of 1 running attempt with accelerators report/).last());
    const [pair] = (await plane.client.listWorkloads({ search: "pair" })).items;
    await page.goto(`${plane.url}/workloads/${pair?.id ?? ""}`);
    const workers = page.getByRole("region", { name: "Workers" }).getByRole("row");
    await expect
      .poll(async () => (await workers.allInnerTexts()).slice(1), { timeout: PATIENCE_MS })
      .toEqual([
        expect.stringMatching(/^0\t.*\t97%\t60 GiB\t61 °C\t646 W\t0$/),
        expect.stringMatching(/^1\t.*\t42%\t20 GiB\t52 °C\t310 W\t3$/),
      ]);
    expect(await accessibilityViolations(page)).toEqual([]);
  });

  it("says in the node drawer that nothing new is placed until the node takes its other accelerators over", async () => {
    const { page } = browser;
    installCards("NVIDIA H200");
    // The inventory is taken whenever a pool is defined.
    const other = { name: "other", site: "local", executor: "local", acceleratorType: "", priceMicroUsdPerHour: 0 };
    await plane.client.apply({ pools: [other] });
    const onlyNode = async () => (await plane.client.listNodes()).items[0];
    await expect.poll(async () => (await onlyNode())?.acceleratorsChanged, { timeout: PATIENCE_MS }).toBe(true);
    const node = await onlyNode();
    await page.goto(`${plane.url}/?node=${encodeURIComponent(node?.id ?? "")}`);
    const drawer = page.getByRole("dialog");
    await expectShown(drawer.getByText("Changing accelerators", { exact: true }));
    await expectShown(
      drawer.getByText(
        /^The node is recorded with H100-SXM-80GB, its pool now has H200-SXM.*\. Nothing new is placed here until it is empty/,
      ),
    );
    expect(await accessibilityViolations(page)).toEqual([]);
  });
});
