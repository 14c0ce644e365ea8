/**
 * `npm run validate:incidents -- [--trials 200] [--json]`: planted correlated failures, and 750 of 1,500 nodes that fail at once.
 * `decidedMs`: processor time until the engine has fenced the nodes and ended or stopped their work, and the incidents are known.
 * Exit code 1: a bar is missed.
 */
import { parseArgs } from "node:util";
import { createEngine } from "@headroom/engine";
import { domainOfKey, IncidentFold, plantedNode, plantedTrial } from "@headroom/health";
import { commandId, poolName, siteName, teamName } from "@headroom/model";
import type { Command, Event, Input, WorkloadSpec } from "@headroom/model";

const RIGHT_SHARE = 0.95;
const INCIDENTS_MAX = 20;
const ALERTS_MIN = 1_000;
const DECIDED_MS = 1_000;
const NODES = 1_500;

const { values } = parseArgs({
  options: { trials: { type: "string", default: "200" }, json: { type: "boolean", default: false } },
});
const trialCount = Number(values.trials);
if (!Number.isSafeInteger(trialCount) || trialCount < 1) {
  process.stderr.write("npm run validate:incidents -- [--trials 200] [--json]: a whole number of trials is needed\n");
  process.exit(2);
}

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
  const spec = {
    kind: "train",
    team: teamName("default"),
    run: "train",
    env: {},
    gang: { workers: 2, accelerators: 8, coresMilli: 1_000, memoryMib: 1_024 },
    acceleratorTypes: [],
    priority: 0,
    preemptible: false,
    retries: { limit: 3 },
    graceTimeoutMs: 1_000,
  };
  for (let index = 0; index < NODES / 2; index++) {
    const named = { ...spec, name: `g${index}` } as unknown as WorkloadSpec;
    receive([{ kind: "submitWorkload", ...by, spec: named, commandId: commandId(`c${index}`) } satisfies Command]);
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

const trials = Array.from({ length: trialCount }, (_, seed) => plantedTrial(seed + 1));
const wrong = trials.filter(({ isRight }) => !isRight);
const half = loseHalf();
const rightShare = 1 - wrong.length / trials.length;
const isKept =
  rightShare >= RIGHT_SHARE &&
  half.alerts >= ALERTS_MIN &&
  half.domains.length <= INCIDENTS_MAX &&
  half.decidedMs <= DECIDED_MS;
const result = {
  trials: trials.length,
  right: trials.length - wrong.length,
  rightShare,
  alerts: trials.reduce((sum, { alerts }) => sum + alerts, 0),
  incidents: trials.reduce((sum, { incidents }) => sum + incidents, 0),
  wrong,
  half,
  isKept,
};
const text = [
  `${result.right} of ${result.trials} planted failures are one incident with the right domain; ${result.alerts} alerts became ${result.incidents} incidents`,
  `750 of 1,500 nodes at once: ${half.alerts} alerts became ${half.domains.length} incidents within ${half.decidedMs.toFixed(0)} ms of processor time: ${half.domains.join(", ")}`,
];
process.stdout.write(values.json ? `${JSON.stringify(result)}\n` : `${text.join("\n")}\n`);
process.exitCode = isKept ? 0 : 1;
