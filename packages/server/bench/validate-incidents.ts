/**
 * `npm run validate:incidents -- [--trials 200] [--json]`: planted correlated failures, and 750 of 1,500 nodes that fail at once.
 * `decidedMs`: processor time until the engine has fenced the nodes and ended or stopped their work, and the incidents are known.
 * `syncedMs`: wall-clock time of the driver from the first report until the last loss is synced to the journal and can be read.
 * Exit code 1: a bar is missed.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setImmediate } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createEngine } from "@headroom/engine";
import { domainOfKey, IncidentFold, plantedNode, plantedTrial } from "@headroom/health";
import { sqliteJournal } from "@headroom/journal";
import { commandId, poolName, siteName, teamName } from "@headroom/model";
import type { Command, Event, Input, WorkloadSpec } from "@headroom/model";
import { openDriver } from "../src/driver/open-driver.ts";
import { BusyExecutor } from "./busy-executor.ts";

const RIGHT_SHARE = 0.95;
const INCIDENTS_MAX = 20;
const ALERTS_MIN = 1_000;
const DECIDED_MS = 1_000;
const NODES = 1_500;
/** Longer than the measurement, so that no work ends in it. */
const WORK_MS = 3_600_000;

const { values } = parseArgs({
  options: { trials: { type: "string", default: "200" }, json: { type: "boolean", default: false } },
});
const trialCount = Number(values.trials);
if (!Number.isSafeInteger(trialCount) || trialCount < 1) {
  process.stderr.write("npm run validate:incidents -- [--trials 200] [--json]: a whole number of trials is needed\n");
  process.exit(2);
}

const workSpec = (index: number): WorkloadSpec =>
  ({
    kind: "train",
    name: `g${index}`,
    team: teamName("default"),
    run: "train",
    env: {},
    gang: { workers: 2, accelerators: 8, coresMilli: 1_000, memoryMib: 1_024 },
    acceleratorTypes: [],
    priority: 0,
    preemptible: false,
    retries: { limit: 3 },
    graceTimeoutMs: 1_000,
  }) as unknown as WorkloadSpec;

/** Half of the fleet, as whole leaves, is lost in one batch while gangs of two nodes run on all of it. */
function loseHalf(): { readonly decidedMs: number; readonly alerts: number; readonly domains: readonly string[] } {
  const engine = createEngine();
  const fold = new IncidentFold();
  let at = 0;
  let sequence = 0;
  const receive = (inputs: readonly Input[]): readonly Event[] => {
    const { events } = engine.receive(inputs, ++at);
    engine.advance();
    for (const event of events) fold.apply(++sequence, event);
    return events;
  };
  const by = { actor: "bench", idempotencyKey: null } as const;
  const site = { name: siteName("dc"), fabricLevels: ["spine", "leaf"] };
  const pool = { name: poolName("h100"), site: site.name, executor: "hpc", acceleratorType: "H100" } as const;
  const documents = { sites: [site], pools: [{ ...pool, priceMicroUsdPerHour: 0 }], teams: [], workloads: [] };
  receive([{ kind: "apply", ...by, ...documents, commandId: commandId("fleet") }]);
  const nodes = Array.from({ length: NODES }, (_, index) => plantedNode(index));
  receive(nodes.map((node) => ({ kind: "nodeSeen", node })));
  for (let index = 0; index < NODES / 2; index++) {
    const spec = workSpec(index);
    receive([{ kind: "submitWorkload", ...by, spec, commandId: commandId(`c${index}`) } satisfies Command]);
  }
  const lost = nodes.slice(0, NODES / 2);
  const before = process.cpuUsage();
  const events = receive(lost.map(({ id }) => ({ kind: "nodeUnreachable", nodeId: id, detail: "no answer" })));
  const incidents = fold.incidents();
  const { user, system } = process.cpuUsage(before);
  const fenced = [...engine.state.nodes.values()].filter(({ health }) => health === "lost").length;
  if (fenced !== lost.length) throw new Error(`${fenced} of ${lost.length} nodes are fenced`);
  const alerts = incidents.flatMap(({ failures }) => failures).reduce((sum, each) => sum + each.alerts, 0);
  if (events.length < lost.length) throw new Error("the losses are not in the journal");
  const domains = incidents.map(({ domain, failures }) => {
    const { level, path } = domainOfKey(domain);
    return `${level} ${path.at(-1) ?? ""}: ${failures.length}`;
  });
  return { decidedMs: (user + system) / 1_000, alerts, domains };
}

/** The same loss at the driver, with a journal of SQLite on disk. Every report is an input of its own. */
async function loseHalfSynced(): Promise<number> {
  const home = mkdtempSync(path.join(tmpdir(), "headroom-incidents-"));
  const executor = new BusyExecutor(NODES, WORK_MS);
  const quiet = (): void => undefined;
  const driver = await openDriver({
    openJournal: sqliteJournal(path.join(home, "journal")),
    executors: [executor],
    log: { info: quiet, warn: quiet, error: quiet },
    onFatal: (error) => {
      throw error;
    },
  });
  try {
    const { sites, pools, nodes } = await executor.inventory();
    const by = { actor: "bench", idempotencyKey: null } as const;
    await driver.command({ kind: "apply", ...by, sites, pools, teams: [], workloads: [] });
    for (const node of nodes) await driver.observe({ kind: "nodeSeen", node });
    for (let index = 0; index < NODES / 2; index++) {
      await driver.command({ kind: "submitWorkload", ...by, spec: workSpec(index) });
    }
    const running = await driver.read(({ state }) => state.attempts.size);
    if (running !== NODES / 2) throw new Error(`${running} gangs run`);
    const begin = performance.now();
    for (const { id } of nodes.slice(0, NODES / 2))
      await driver.observe({ kind: "nodeUnreachable", nodeId: id, detail: "no answer" });
    for (;;) {
      // A read waits for the batch in flight, and sees only what is synced.
      const lost = await driver.read(({ state }) =>
        [...state.nodes.values()].filter(({ health }) => health === "lost"),
      );
      if (lost.length === NODES / 2) return performance.now() - begin;
      // A loop of reads alone would keep the driver from its next batch.
      await setImmediate();
    }
  } finally {
    await driver.close();
    await executor.close();
    rmSync(home, { recursive: true, force: true });
  }
}

const trials = Array.from({ length: trialCount }, (_, seed) => plantedTrial(seed + 1));
const wrong = trials.filter(({ isRight }) => !isRight);
const half = loseHalf();
const syncedMs = await loseHalfSynced();
const rightShare = 1 - wrong.length / trials.length;
const isKept =
  rightShare >= RIGHT_SHARE &&
  half.alerts >= ALERTS_MIN &&
  half.domains.length <= INCIDENTS_MAX &&
  half.decidedMs <= DECIDED_MS &&
  syncedMs <= DECIDED_MS;
const result = {
  trials: trials.length,
  right: trials.length - wrong.length,
  rightShare,
  alerts: trials.reduce((sum, { alerts }) => sum + alerts, 0),
  incidents: trials.reduce((sum, { incidents }) => sum + incidents, 0),
  wrong,
  half,
  syncedMs,
  isKept,
};
const text = [
  `${result.right} of ${result.trials} planted failures are one incident with the right domain; ${result.alerts} alerts became ${result.incidents} incidents`,
  `750 of 1,500 nodes at once: ${half.alerts} alerts became ${half.domains.length} incidents within ${half.decidedMs.toFixed(0)} ms of processor time: ${half.domains.join(", ")}`,
  `The same at the driver with a journal on disk: synced and readable ${syncedMs.toFixed(0)} ms after the first report`,
];
process.stdout.write(values.json ? `${JSON.stringify(result)}\n` : `${text.join("\n")}\n`);
process.exitCode = isKept ? 0 : 1;
