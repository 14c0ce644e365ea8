/**
 * Tests readings from a stub of `nvidia-smi` to the API, the metrics and the report of idle resources, on a complete
 * control plane.
 */
import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";
import type { LiveControlPlane } from "../api/testing/live-control-plane.ts";

let home = "";
let tools = "";
let live: LiveControlPlane | null = null;
const pathBefore = process.env["PATH"];

beforeEach(() => {
  home = temporaryHome();
  tools = mkdtempSync(path.join(tmpdir(), "headroom-tools-"));
  process.env["PATH"] = `${tools}:${pathBefore}`;
});
afterEach(async () => {
  await live?.close();
  live = null;
  process.env["PATH"] = pathBefore;
  removeHome(home);
  rmSync(tools, { recursive: true, force: true });
});

const header =
  "index, utilization.gpu [%], memory.used [MiB], memory.total [MiB], temperature.gpu, power.draw [W], ecc.errors.uncorrected.volatile.total";

/** Replaces the stub atomically, so that no reader sees half of it. */
function install(...rows: readonly string[]): void {
  const file = path.join(tools, "nvidia-smi");
  const lines = [header, ...rows].join("\n");
  const list = rows.map((row) => `${row.split(",")[0]}, NVIDIA H100 80GB HBM3`).join("\n");
  const script = `#!/bin/sh\ncase "$1" in\n*index,name*) printf '%s\\n' '${list}' ;;\n*) printf '%s\\n' '${lines}' ;;\nesac\n`;
  writeFileSync(`${file}.new`, script);
  chmodSync(`${file}.new`, 0o755);
  renameSync(`${file}.new`, file);
}

const start = async (): Promise<LiveControlPlane> => {
  live = await startLive(home, { local: { nodeName: "n1" }, readingsEveryMs: 100 });
  return live;
};

describe("telemetry of accelerators", () => {
  it("is answered by node, with its course, which a restart does not lose", async () => {
    install("0, 97, 70123, 81559, 61, 645.53, 0", "1, [N/A], 4, 81559, 31, [Unknown Error], 2");
    const first = await start();
    await expect.poll(async () => (await first.client.nodeTelemetry("n1")).history.length).toBe(2);
    const { readings, history } = await first.client.nodeTelemetry("n1");
    const values = {
      busyMilli: 970,
      memoryUsedMib: 70_123,
      memoryTotalMib: 81_559,
      temperatureC: 61,
      powerMilliwatts: 645_530,
      errorCount: 0,
    };
    expect(readings).toMatchObject({ node: "n1", source: "nvidia-smi", problem: null });
    expect(readings.accelerators).toEqual([
      { index: 0, ...values, fault: null },
      {
        index: 1,
        busyMilli: null,
        memoryUsedMib: 4,
        memoryTotalMib: 81_559,
        temperatureC: 31,
        powerMilliwatts: null,
        errorCount: 2,
        fault: "power.draw: [Unknown Error]",
      },
    ]);
    expect(history[0]?.points[0]).toMatchObject(values);
    expect((await first.client.acceleratorReadings()).items).toMatchObject([{ node: "n1", source: "nvidia-smi" }]);
    await expect(first.client.nodeTelemetry("n9")).rejects.toMatchObject({ code: "unknownNode" });
    const before = await first.client.nodeTelemetry("n1");
    await first.close();
    const second = await start();
    const after = await second.client.nodeTelemetry("n1");
    // The first control plane can have read once more before it closed. So the period is the same, with at least the
    // same number of readings.
    expect(after.history[0]?.points[0]).toMatchObject(values);
    expect(after.history[0]?.points[0]?.readings).toBeGreaterThanOrEqual(before.history[0]?.points[0]?.readings ?? 0);
  });

  it("says why there is none, and comes back with the tool", async () => {
    install("0, 1, 2, 3, 4, 5, 6");
    const running = await start();
    const problem = async (): Promise<string | null> => (await running.client.nodeTelemetry("n1")).readings.problem;
    await expect.poll(async () => (await running.client.nodeTelemetry("n1")).readings.source).toBe("nvidia-smi");
    rmSync(path.join(tools, "nvidia-smi"));
    await expect.poll(problem).toBe("nvidia-smi is not installed");
    expect(running.complaints).toContain("the accelerators of n1 were not read: nvidia-smi is not installed");
    // The reading during which the tool was removed can fail in another way before.
    expect(running.complaints.filter((each) => each.includes("is not installed"))).toHaveLength(1);
    install("0, 1, 2, 3, 4, 5, 6");
    await expect.poll(problem).toBe(null);
  });

  it("has nothing to say of declared slots", async () => {
    live = await startLive(home, {
      local: { nodeName: "n1", slotCount: 2, accelerators: "declared" },
      readingsEveryMs: 50,
    });
    const { client } = live;
    await expect.poll(async () => (await client.nodeTelemetry("n1")).readings.atMs).not.toBe(null);
    expect(await client.nodeTelemetry("n1")).toMatchObject({
      readings: { source: null, problem: null, accelerators: [] },
      history: [],
    });
    expect(await (await live.request("/metrics")).text()).not.toMatch(/^headroom_accelerator_temperature_celsius\{/m);
  });

  it("is in Prometheus' format, by accelerator", async () => {
    install("0, 97, 1024, 81559, 61, 645.5, 0", "1, [N/A], 4, 81559, 31, 70, 2");
    const running = await start();
    const exposed = async (): Promise<string> => (await running.request("/metrics")).text();
    const labels = (index: number): string => `\\{node="n1",accelerator="${index}",pool="local",type="[^"]+"\\}`;
    const series = (name: string, index: number, value: number): RegExp =>
      new RegExp(`^headroom_accelerator_${name}${labels(index)} ${value}$`, "m");
    await expect.poll(exposed).toMatch(series("utilization_ratio", 0, 0.97));
    const text = await exposed();
    expect(text).not.toMatch(new RegExp(`utilization_ratio${labels(1)}`));
    expect(text).toMatch(series("memory_used_bytes", 0, 1024 ** 3));
    expect(text).toMatch(series("temperature_celsius", 1, 31));
    expect(text).toMatch(series("power_watts", 0, 645.5));
    expect(text).toMatch(series("uncorrected_errors", 1, 2));
    expect(text).toMatch(series("fault", 1, 0));
  });

  it("counts as the utilization of the work that holds the accelerators, before what the work says itself", async () => {
    install("0, 88, 40000, 81559, 61, 645.5, 0", "1, 0, 4, 81559, 31, 70, 0");
    const running = await start();
    const line = JSON.stringify({ kind: "utilization", accelerators: [{ busy: 0.1 }, { busy: 0.1 }] });
    const { workloadId } = await running.client.submitWorkload({
      kind: "train",
      name: "half",
      run: `while :; do echo '${line}' >> "$HEADROOM_PROGRESS_FILE"; sleep 0.2; done`,
      gang: { accelerators: 2, coresMilli: 0 },
    });
    const newest = async () => (await running.client.metrics(workloadId)).items[0]?.utilization.at(-1);
    await expect.poll(newest).toMatchObject({ busyMilli: 440, busyAccelerators: 1, peakMemoryMib: 40_000 });
    const workers = async () => (await running.client.usage(workloadId)).attempts[0]?.workers[0];
    await expect.poll(workers).toMatchObject({ node: "n1", accelerators: [{ busyMilli: 880 }, { busyMilli: 0 }] });
    expect(await running.client.waste()).toMatchObject({ toldCount: 1, runningCount: 1 });
    await running.client.stopWorkload(workloadId);
    await expect.poll(async () => (await running.client.getWorkload(workloadId)).phase).toBe("cancelled");
  });
});
