/** Part of the recorded journal: executors that are declared, fall silent, are given up and removed. */
import { nodeId, poolName, siteName, teamName, workloadId } from "@headroom/model";
import type { Command, ImportedHistory, Pool, Site } from "@headroom/model";
import type { Drive } from "../lab/drive.ts";
import { applied, command, node, pool, site } from "../lab/make.ts";
import { submit } from "./life-lines.ts";

type Change = (Command & { readonly kind: "setExecutor" })["change"];

const set = (executor: string, change: Change): Command => command({ kind: "setExecutor", executor, change });
const poolOf = (type: string, executor: string): Pool => ({ ...pool(type), executor });

const power = { acceleratorWatts: 70, nodeWatts: 400 };
const capped: Site = {
  ...site,
  name: siteName("hall"),
  caps: [
    { of: "power", level: "rack", watts: 40_000 },
    { of: "cooling", level: "rack", domain: "r7", watts: 30_000 },
  ],
};

/** One executor is declared and silent while its work runs, one is only followed and has foreign work. */
export function beginSilence(drive: Drive): void {
  drive.receive(
    set("hpc", { kind: "declare", mode: "run" }),
    set("lab", { kind: "declare", mode: "follow" }),
    applied({
      sites: [site, capped],
      pools: [{ ...poolOf("T4", "hpc"), site: capped.name, kinds: ["train", "batch"], power }, poolOf("P4", "lab")],
    }),
    { kind: "executorReachable", executor: "hpc" },
    { kind: "executorReachable", executor: "lab" },
    { kind: "nodeSeen", node: node("n91", "T4") },
    { kind: "nodeSeen", node: node("n82", "P4") },
  );
  drive.receive({
    kind: "foreignUseSeen",
    executor: "lab",
    uses: [{ nodeId: nodeId("n82"), accelerators: 2, coresMilli: 4_000, memoryMib: 8_192 }],
  });
  drive.receive({
    kind: "nodeCachesSeen",
    executor: "lab",
    caches: [{ nodeId: nodeId("n82"), inputs: [{ uri: "s3://lake/corpus/v6", digest: null, mib: 1_204 }] }],
  });
  recordTransfer(drive);
  drive.receive(set("lab", { kind: "importHistory", history: pastWork("lab", 1) }));
  drive.receive(submit("far away", { gang: { accelerators: 8 }, acceleratorTypes: ["T4"] }));
  // The labels of a node change while it holds work.
  drive.receive({ kind: "nodeSeen", node: { ...node("n91", "T4"), labels: { rack: "r7" } } });
  drive.receive(
    command({
      kind: "reportFaults",
      nodeId: nodeId("n91"),
      faults: [
        { code: "xid-79", severity: "critical", device: "0000:3b:00", detail: "GPU has fallen off the bus" },
        { code: "mce", severity: "info", detail: "corrected" },
      ],
    }),
  );
  for (const annotation of [
    { kind: "acknowledge" },
    { kind: "silence", untilMs: 86_400_000 },
    { kind: "note", text: "the switch was replaced" },
    { kind: "resolve" },
  ] as const)
    drive.receive(command({ kind: "annotateIncident", incident: "i17", annotation }));
  drive.receive({ kind: "executorUnreachable", executor: "hpc", detail: "no answer within 30 s" });
  drive.receive({ kind: "nodeSeen", node: node("n83", "T4") });
}

/** Past work with and without a time limit; `count`: how many times the same run is in it. */
const pastWork = (executor: string, count: number): ImportedHistory => {
  const who = { team: teamName("default"), actor: "ann" };
  const run = { ...who, name: "sweep-1", kind: "batch", accelerators: 1, submittedAtMs: -7_200_000 } as const;
  return {
    executor,
    source: "jobs.txt",
    digest: String(count).padStart(64, "0"),
    fromMs: -86_400_000,
    toMs: 0,
    jobCount: count + 1,
    leftOutCount: 3,
    unreadCount: 1,
    uses: [{ ...who, fromMs: -86_400_000, toMs: 0, acceleratorMs: 7_200_000 * count }],
    runs: [
      { ...run, kind: "train", tookMs: 3_600_000, walltimeMs: 7_200_000 },
      ...Array.from({ length: count }, () => ({ ...run, tookMs: 1_800_000, walltimeMs: null })),
    ],
  };
};

/** A store is declared, an attempt waits for its inputs, and their transfer is measured. */
function recordTransfer(drive: Drive): void {
  const lake = { name: "lake", root: "s3://lake/", site: null, kibPerS: 102_400, egressMicroUsdPerGib: 90_000 };
  drive.receive({
    kind: "storesSeen",
    stores: [lake, { name: "nfs", root: "file:///nfs/", site: null, inPlace: true }],
  });
  drive.receive(submit("staged", { acceleratorTypes: ["T4"], data: { inputs: ["s3://lake/corpus/v6"] } }));
  const attempt = [...drive.engine.state.attempts.values()].find(({ stagingMs }) => stagingMs !== undefined);
  if (attempt === undefined) throw new Error("no attempt waits for its inputs");
  const { id, workloadId } = attempt;
  const moved = {
    kind: "bytesTransferred",
    workloadId,
    attemptId: id,
    store: "lake",
    uri: "s3://lake/corpus/v6",
  } as const;
  drive.receive({ ...moved, direction: "in", bytes: 1_262_485_504, tookMs: 14_000 });
  drive.receive({ ...moved, direction: "out", bytes: 4_096, tookMs: 12, failed: true });
  drive.receive({ kind: "storesSeen", stores: [lake] });
}

/** The work is given up and ends, and both executors leave with their pools. */
export function endSilence(drive: Drive): void {
  drive.receive(set("lab", { kind: "importHistory", history: pastWork("lab", 3) }));
  drive.receive(set("hpc", { kind: "importHistory", history: pastWork("hpc", 1) }));
  drive.receive(set("hpc", { kind: "abandon", reason: "power cut" }));
  const far = [...drive.engine.state.workloads.values()].find(({ spec: { name } }) => name === "far away");
  drive.receive(command({ kind: "stopWorkload", workloadId: far?.id ?? workloadId("") }));
  drive.receive(set("hpc", { kind: "remove" }), set("lab", { kind: "remove" }));
  for (const name of ["T4", "P4"])
    drive.receive(command({ kind: "removePool", pool: poolName(name), running: "requeue" }));
  drive.receive({ kind: "nodeSeen", node: { ...node("n91", "T4"), id: nodeId("n94") } });
}
