/**
 * Tests accelerator types under each of their names, with a control plane that detects its accelerators through a stub
 * of `nvidia-smi`.
 */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { siteName, poolName } from "@headroom/model";
import { ProblemError } from "@headroom/protocol";
import type { WorkloadSpecInput } from "@headroom/protocol";
import { engineSpec } from "@headroom/views";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "./api/testing/live-control-plane.ts";
import type { LiveControlPlane } from "./api/testing/live-control-plane.ts";

const pathBefore = process.env["PATH"];
let home: string;

beforeEach(() => {
  home = temporaryHome();
  mkdirSync(path.join(home, "bin"));
  process.env["PATH"] = `${path.join(home, "bin")}:${pathBefore}`;
});
afterEach(() => {
  process.env["PATH"] = pathBefore;
  removeHome(home);
});

/**
 * Output of the stub for `nvidia-smi --query-gpu=index,name`, one card for each argument. Without arguments the stub
 * behaves as if the driver were not loaded.
 */
function cards(...names: readonly string[]): void {
  const tool = path.join(home, "bin", "nvidia-smi");
  const lines = names.map((name, index) => `echo '${index}, ${name}'`);
  writeFileSync(tool, ["#!/bin/sh", ...(lines.length === 0 ? ["exit 9"] : lines), ""].join("\n"));
  chmodSync(tool, 0o755);
}

const start = (): Promise<LiveControlPlane> =>
  startLive(path.join(home, "state"), { local: { nodeName: "n1", accelerators: "detected", slotCount: 2 } });

const train = (name: string, accelerator: string, more: object = {}): WorkloadSpecInput => ({
  kind: "train",
  name,
  run: "true",
  gang: { workers: 1, accelerators: 1 },
  acceleratorTypes: [accelerator],
  ...more,
});

async function refusalOf(work: Promise<unknown>): Promise<ProblemError> {
  const error: unknown = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (!(error instanceof ProblemError)) throw new Error("it was not refused");
  return error;
}

describe("accelerator types", () => {
  it("are the same by the driver's, the documented, the short and the catalogue's name", async () => {
    cards("NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3");
    const live = await start();
    const { client } = live;
    expect((await client.fleet()).pools).toMatchObject([
      { acceleratorType: "H100-SXM-80GB", acceleratorFamily: "H100", accelerators: { total: 2 } },
    ]);
    for (const name of ["H100-80GB-HBM3", "H100-SXM", "H100", "h100 sxm 80gb", "nvidia-h100-80gb"]) {
      const { workloadId } = await client.submitWorkload(train(`t${name.replaceAll(/[^a-zA-Z0-9]/g, "")}`, name));
      await expect.poll(async () => (await client.getWorkload(workloadId)).phase).toBe("succeeded");
    }
    await live.close();
  });

  it("bound a team by the family or by any name of the type", async () => {
    cards("NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3");
    const live = await start();
    const { client } = live;
    const team = (name: string, limit: Record<string, number>) => ({ name, parent: null, limit });
    const applied = await client.apply({
      teams: [team("byfamily", { H100: 1 }), team("bytype", { "H100-80GB-HBM3": 1 })],
    });
    expect(applied.warnings).toBeUndefined();
    const beyond = { ...team("byfamily", { H100: 9 }), guarantee: { H100: 3 } };
    expect((await client.apply({ teams: [beyond] }, { dryRun: true })).warnings).toMatchObject([
      { message: "Team byfamily is guaranteed 3 H100 accelerators, but the fleet has 2." },
    ]);
    const { items } = await client.teams();
    expect(items.map(({ name, limit }) => [name, limit])).toEqual(
      expect.arrayContaining([
        ["byfamily", { H100: 1 }],
        ["bytype", { "H100-SXM-80GB": 1 }],
      ]),
    );
    for (const name of ["byfamily", "bytype"]) {
      const wide = train(name, "H100-SXM", { team: name, gang: { workers: 1, accelerators: 2 } });
      const { workloadId } = await client.submitWorkload(wide);
      const verdict = await client.explainWorkload(workloadId);
      expect(verdict).toMatchObject({ kind: "blocked", reasons: [{ kind: "teamLimit", team: name }] });
    }
    const twice = await refusalOf(client.apply({ teams: [team("twice", { "H100-SXM": 1, "H100-SXM-80GB": 2 })] }));
    expect(twice.problem).toMatchObject({ code: "invalidRequest", detail: expect.stringContaining("twice") });
    await live.close();
  });

  it("that no node has are refused with the nearest names, by submission, dry run and apply, unless it waits for them", async () => {
    cards("NVIDIA H100 80GB HBM3");
    const live = await start();
    const { client } = live;
    const spec = train("elsewhere", "H100-PCIe");
    for (const work of [
      () => client.submitWorkload(spec),
      () => client.forecastWorkload(spec),
      () => client.apply({ workloads: [spec] }),
      () => client.apply({ workloads: [spec] }, { dryRun: true }),
    ]) {
      const { problem } = await refusalOf(work());
      expect([problem.code, problem.status]).toEqual(["noSuchAccelerators", 422]);
      expect(problem.detail).toContain("No node has accelerators of type H100-PCIe-80GB");
      expect(problem.detail).toContain("Nearest in the fleet: H100-SXM-80GB");
      expect(problem.detail).toContain("--wait-for-type");
    }
    const slip = await refusalOf(client.submitWorkload(train("slip", "H10O")));
    expect(slip.problem.detail).toContain("nearest in the catalogue: H100");
    const { workloadId } = await client.submitWorkload({ ...spec, waitForType: true });
    expect((await client.getWorkload(workloadId)).phase).toBe("pending");
    // A workload can name a type if only the same document declares a pool of that type.
    const pool = {
      name: poolName("soon"),
      site: siteName("local"),
      executor: "local",
      acceleratorType: "H100-PCIe",
      priceMicroUsdPerHour: 0,
    };
    const plan = await client.apply({ pools: [pool], workloads: [{ ...spec, name: "with-pool" }] });
    expect(plan.changes.map(({ action }) => action)).toEqual(["created", "created"]);
    expect((await client.fleet()).pools.map(({ acceleratorType }) => acceleratorType)).toContain("H100-PCIe-80GB");
    await live.close();
  });

  it("are compared by the catalogue when a file is applied again", async () => {
    cards("NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3");
    const live = await start();
    const { client, driver } = live;
    const team = { name: "research", parent: null, limit: { "H100-80GB-HBM3": 2 } };
    const names = ["H100", "H100-SXM", "H100-80GB-HBM3", "NVIDIA H100 80GB HBM3"];
    const workloads = names.map((name, at) => train(`t${at}`, name, { team: "research" }));
    const upTo = (first: number, last: number): number[] =>
      Array.from({ length: last - first + 1 }, (_, at) => first + at);
    const days = { daysOfMonth: upTo(1, 31), months: upTo(1, 12), daysOfWeek: upTo(0, 6) };
    const nightly = {
      name: "nightly",
      times: { minutes: [0], hours: [3], ...days },
      concurrency: "forbid" as const,
      spec: train("nightly-run", "NVIDIA H100 80GB HBM3"),
    };
    const soonMs = Date.now() + 86_400_000;
    const kept = {
      kind: "reservation" as const,
      name: "kept",
      team: "research",
      accelerators: 1,
      acceleratorType: "H100-SXM",
      startMs: soonMs,
      endMs: soonMs + 3_600_000,
    };
    const documents = { teams: [team], workloads, schedules: [nightly], calendar: [kept] };
    const created = await client.apply(documents);
    expect(new Set(created.changes.map(({ action }) => action))).toEqual(new Set(["created"]));
    // A journal written before the catalogue existed contains the driver's name of the type.
    const old = train("old", "H100-80GB-HBM3");
    const { spec } = await client.getWorkload((await client.submitWorkload(old)).workloadId);
    expect(spec.acceleratorTypes).toEqual(["H100-SXM-80GB"]);
    await driver.command({
      kind: "submitWorkload",
      spec: engineSpec({ ...spec, acceleratorTypes: ["H100-80GB-HBM3"] }),
      actor: "ann",
      idempotencyKey: null,
    });
    const again = { ...documents, workloads: [...workloads, old] };
    for (const dryRun of [true, false]) {
      const { changes } = await client.apply(again, { dryRun });
      expect(changes.map(({ name, action }) => [name, action])).toEqual(
        [team.name, "kept", "nightly", ...again.workloads.map(({ name }) => name)].map((name) => [name, "unchanged"]),
      );
    }
    const { items } = await client.listWorkloads();
    for (const { id, name } of items)
      if (name !== "old") await expect.poll(async () => (await client.getWorkload(id)).phase).toBe("succeeded");
    const others = workloads.map((work) => ({ ...work, acceleratorTypes: ["H100", "H200"] }));
    const { changes } = await client.apply({ workloads: others }, { dryRun: true });
    expect(new Set(changes.map(({ action }) => action))).toEqual(new Set(["changed"]));
    await live.close();
  });

  it("of a device that the catalogue lacks are the same before and after a node has it", async () => {
    cards();
    const live = await start();
    const { client } = live;
    const waiting = { workloads: [train("waits", "NVIDIA Quadro P400", { waitForType: true })] };
    await client.apply(waiting);
    cards("NVIDIA Quadro P400");
    const pool = { name: poolName("other"), site: siteName("local"), executor: "local", acceleratorType: "" };
    await client.apply({ pools: [{ ...pool, priceMicroUsdPerHour: 0 }] });
    await expect.poll(async () => (await client.fleet()).pools[0]?.acceleratorType).toBe("Quadro-P400");
    expect((await client.apply(waiting, { dryRun: true })).changes).toMatchObject([{ action: "unchanged" }]);
    await live.close();
  });

  it("of pools and quotas that a what-if states may have any name", async () => {
    cards("NVIDIA H100 80GB HBM3");
    const live = await start();
    const { client } = live;
    const wide = { waitForType: true, gang: { workers: 1, accelerators: 2 }, run: "sleep 600" };
    for (const [name, type] of [
      ["family", "H100"],
      ["pcie", "H100-PCIe"],
    ] as const)
      await client.submitWorkload(train(name, type, wide));
    const more = { name: "more", acceleratorType: "NVIDIA H100 PCIe", nodes: 2, acceleratorsPerNode: 2 };
    const starts = async (question: object): Promise<readonly (number | null)[]> => {
      const { moved } = await client.whatIf({ addPools: [more], ...question });
      expect(moved.map(({ name }) => name)).toEqual(["family", "pcie"]);
      return moved.map(({ changedAtMs }) => changedAtMs);
    };
    const [first, second] = await starts({});
    expect(second).toBe(first);
    const team = { name: "default", parent: null, limit: { "NVIDIA H100 PCIe": 2 } };
    const [before, later] = await starts({ teams: [team] });
    expect(later ?? Number.POSITIVE_INFINITY).toBeGreaterThan(before ?? Number.POSITIVE_INFINITY);
    await live.close();
  });

  it("are taken over when a driver loads late, and work that waited for them starts", async () => {
    cards();
    const live = await start();
    const { client } = live;
    expect((await client.fleet()).pools).toMatchObject([{ acceleratorType: "slot", accelerators: { total: 2 } }]);
    const { workloadId: running } = await client.submitWorkload(
      train("running", "slot", { run: "while [ ! -e stop ]; do sleep 0.05; done", dir: home }),
    );
    await expect.poll(async () => (await client.getWorkload(running)).phase).toBe("running");
    const { workloadId: late } = await client.submitWorkload(train("late", "H100", { waitForType: true }));
    cards("NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3");
    // The definition of a pool triggers a new inventory.
    const other = { name: poolName("other"), site: siteName("local"), executor: "local", acceleratorType: "" };
    await client.apply({ pools: [{ ...other, priceMicroUsdPerHour: 0 }] });
    await expect.poll(async () => (await client.fleet()).pools[0]?.acceleratorType).toBe("H100-SXM-80GB");
    expect(await client.getNode("n1")).toMatchObject({ acceleratorType: "slot", acceleratorsChanged: true });
    expect((await client.getWorkload(running)).phase).toBe("running");
    writeFileSync(path.join(home, "stop"), "");
    await expect.poll(async () => (await client.getWorkload(running)).phase).toBe("succeeded");
    await client.apply({ pools: [{ ...other, priceMicroUsdPerHour: 1 }] });
    await expect.poll(async () => (await client.getWorkload(late)).phase).toBe("succeeded");
    const node = await client.getNode("n1");
    expect([node.acceleratorType, node.acceleratorCount, node.acceleratorsChanged]).toEqual([
      "H100-SXM-80GB",
      3,
      undefined,
    ]);
    await live.close();
  });

  it("are taken over at a restart", async () => {
    cards();
    const first = await start();
    await first.close();
    cards("NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3");
    const second = await start();
    expect(await second.client.getNode("n1")).toMatchObject({ acceleratorType: "H100-SXM-80GB", acceleratorCount: 2 });
    const { sequence } = await second.client.status();
    await second.close();
    const third = await start();
    expect((await third.client.status()).sequence).toBe(sequence);
    await third.close();
  });
});
