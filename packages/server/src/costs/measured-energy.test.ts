/** Energy of a team from readings of a stub of `nvidia-smi`, over a restart, on a complete control plane. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";
import type { LiveControlPlane } from "../api/testing/live-control-plane.ts";

const home = temporaryHome();
const tools = mkdtempSync(path.join(tmpdir(), "headroom-tools-"));
const pathBefore = process.env["PATH"];
const options = { local: { nodeName: "n1" }, readingsEveryMs: 100 } as const;
let live: LiveControlPlane;

beforeAll(async () => {
  const header =
    "index, utilization.gpu [%], memory.used [MiB], memory.total [MiB], temperature.gpu, power.draw [W], ecc.errors.uncorrected.volatile.total";
  const lines = [header, "0, 97, 7, 81559, 61, 600, 0", "1, 0, 7, 81559, 31, 100, 0"].join("\n");
  const list = ["0, NVIDIA H100 80GB HBM3", "1, NVIDIA H100 80GB HBM3"].join("\n");
  const script = `#!/bin/sh\ncase "$1" in\n*index,name*) printf '%s\\n' '${list}' ;;\n*) printf '%s\\n' '${lines}' ;;\nesac\n`;
  writeFileSync(path.join(tools, "nvidia-smi"), script);
  chmodSync(path.join(tools, "nvidia-smi"), 0o755);
  process.env["PATH"] = `${tools}:${pathBefore}`;
  mkdirSync(path.join(home, "prices"));
  writeFileSync(
    path.join(home, "prices/local.yaml"),
    "{ kind: price, name: rent, pool: local, provider: us, source: onDemand, from: 2020-01-01, kilowattsPerAccelerator: 10, gramsPerKwh: 500, prices: [{ from: 2020-01-01, perHour: 1 }] }\n",
  );
  live = await startLive(home, options);
});
afterAll(async () => {
  await live.close();
  process.env["PATH"] = pathBefore;
  removeHome(home);
  rmSync(tools, { recursive: true, force: true });
});

it("is measured on the accelerators that the work held, and stated for the time without readings", async () => {
  const submitted = { kind: "train", name: "measured", run: "sleep 3", gang: { workers: 1, accelerators: 1 } } as const;
  const { workloadId } = await live.client.submitWorkload(submitted);
  await expect
    .poll(async () => (await live.client.getWorkload(workloadId)).phase, { timeout: 30_000 })
    .toBe("succeeded");
  // The store writes its readings after minutes, and when it closes.
  await live.close();
  live = await startLive(home, options);
  const costs = await live.client.costs({ by: "all", group: "workload", fromMs: Date.now() - 3_600_000 });
  const [line] = costs.items.filter(({ group }) => group[0] === "measured");
  if (line === undefined) throw new Error("no such line");
  const hours = line.acceleratorHours;
  // The first accelerator takes 0.6 kW; the document says 10 kW.
  expect(line.measuredKwh).toBeGreaterThan(0.5 * 0.6 * hours);
  expect(line.measuredKwh).toBeLessThanOrEqual(0.6 * hours * 1.001);
  expect(line.kwh - line.measuredKwh).toBeCloseTo(10 * (hours - line.measuredKwh / 0.6), 6);
  expect(line.carbonKg).toBeCloseTo(line.kwh * 0.5, 9);
  expect(costs.problems).toEqual([]);
}, 60_000);
