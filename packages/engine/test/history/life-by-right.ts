/**
 * Part of the recorded journal: evictions and nominations, with every way in which an attempt ends, stays or migrates.
 */
import { nodeId, presets } from "@headroom/model";
import type { Input, Policy, Team, WorkloadId } from "@headroom/model";
import type { Drive } from "../lab/drive.ts";
import { applied, command, node, pool, team } from "../lab/make.ts";
import { shapePolicy } from "../shapes/shape-policy.ts";
import { code, exited, running, submit } from "./life-lines.ts";

/** Holds, dependencies, elastic gangs, plans with evictions, and nominations that are made, kept and withdrawn. */
export function plan(drive: Drive): void {
  const guaranteed = (name: string, accelerators: number): Team => ({ ...team(name), guarantee: { accelerators } });
  drive.nowMs += 1_000;
  drive.receive(
    command({ kind: "setPolicy", policy: presets.get("default") as Policy }),
    applied({ pools: [pool("B200")], teams: [guaranteed("links", 8), guaranteed("rechts", 8)] }),
    { kind: "nodeSeen", node: node("n5", "B200", { labels: { rack: "r1" } }) },
    { kind: "nodeSeen", node: node("n6", "B200", { labels: { rack: "r2" }, workersMax: 16 }) },
  );
  const acceleratorTypes = ["B200"];
  const idOf = (name: string): WorkloadId => {
    const found = [...drive.engine.state.workloads.values()].find(({ spec: each }) => each.name === name);
    if (found === undefined) throw new Error(`no workload ${name}`);
    return found.id;
  };
  const stopped = (id: string): Input => exited(id, { kind: "signalled", worker: 0, signal: "SIGTERM" });
  drive.receive(
    submit("held", { gang: { shareMilli: 500 }, acceleratorTypes, hold: true, restartCostMs: 10 }),
    submit("follows", { gang: { shareMilli: 250 }, acceleratorTypes, after: [{ workload: "held", on: "ok" }] }),
    submit("hopeless", { gang: { shareMilli: 250 }, acceleratorTypes, after: [{ workload: "held", on: "failed" }] }),
  );
  drive.receive(command({ kind: "releaseWorkload", workloadId: idOf("held") }));
  drive.receive(command({ kind: "holdWorkload", workloadId: idOf("follows") }));
  drive.receive(exited(`${idOf("held")}.1`, code(0, 0)));
  drive.receive(command({ kind: "releaseWorkload", workloadId: idOf("follows") }));
  drive.receive(exited(`${idOf("follows")}.1`, code(0, 0)));
  // A guarantee evicts two opportunistic attempts; the second preemptor is cancelled before its place is free.
  const opportunisticJob = {
    team: "links",
    gang: { accelerators: 8 },
    acceleratorTypes,
    preemptible: true,
    minRuntimeMs: 10,
  } as const;
  drive.receive(submit("loan", opportunisticJob), submit("loan again", opportunisticJob));
  drive.nowMs += 1_000;
  drive.receive(submit("entitlement", { team: "rechts", gang: { accelerators: 8 }, acceleratorTypes }));
  drive.receive(stopped(`${idOf("loan again")}.1`));
  drive.receive(submit("urgent", { team: "links", gang: { accelerators: 8 }, acceleratorTypes, priority: 9 }));
  drive.receive(command({ kind: "stopWorkload", workloadId: idOf("urgent") }));
  drive.receive(stopped(`${idOf("loan")}.1`), exited(`${idOf("entitlement")}.1`, code(0, 0)));
  shrink(drive, acceleratorTypes);
}

/**
 * An elastic gang grows, is shrunk for another workload, and continues with its remaining workers; other work migrates
 * to consolidate idle accelerators.
 */
function shrink(drive: Drive, acceleratorTypes: readonly string[]): void {
  for (const workload of drive.engine.state.workloads.values())
    if (workload.endedAtMs === null) drive.receive(command({ kind: "stopWorkload", workloadId: workload.id }));
  for (const { id } of drive.engine.state.attempts.values()) drive.receive(exited(id, code(0, 0)));
  drive.receive(command({ kind: "setPolicy", policy: presets.get("kai") as Policy }));
  drive.receive(submit("elastic", { team: "links", gang: { workers: 16, minWorkers: 2 }, acceleratorTypes }));
  drive.receive(submit("partner", { team: "rechts", gang: { workers: 2, accelerators: 2 }, acceleratorTypes }));
  const elastic = [...drive.engine.state.attempts.values()].find(({ terminating }) => terminating !== undefined);
  if (elastic !== undefined) drive.receive({ kind: "workersLeft", attemptId: elastic.id });
  drive.receive({ kind: "tick" });
  // The gang has grown into the capacity that its partner released.
  const partner = [...drive.engine.state.attempts.values()].find(
    ({ acceleratorType, id }) => acceleratorType === acceleratorTypes[0] && id !== elastic?.id,
  );
  if (partner !== undefined) drive.receive(exited(partner.id, code(0, 0)));
  if (elastic !== undefined)
    drive.receive({
      kind: "joinFailed",
      attemptId: elastic.id,
      workers: elastic.workers.length - 1,
      detail: "worker 11 exited with code 1",
    });
}

/** Attempts on a drained node write a checkpoint before they end; one does not do so in time. */
export function save(drive: Drive): void {
  const policy = presets.get("default") as Policy;
  const eviction = { ...(policy.eviction as NonNullable<Policy["eviction"]>), checkpointTimeoutMs: 60_000 };
  drive.receive(command({ kind: "setPolicy", policy: { ...policy, eviction } }), applied({ pools: [pool("E500")] }), {
    kind: "nodeSeen",
    node: node("n10", "E500"),
  });
  const ask = { gang: { accelerators: 4 }, acceleratorTypes: ["E500"], checkpointOnRequest: true } as const;
  drive.receive(submit("saves", ask), submit("does not", ask));
  const [saves, late] = [...drive.engine.state.attempts.values()].filter(
    ({ acceleratorType }) => acceleratorType === "E500",
  );
  if (saves === undefined || late === undefined) throw new Error("nothing runs on n10");
  drive.receive(running(saves.id), running(late.id));
  drive.receive(command({ kind: "drainNode", nodeId: nodeId("n10"), running: "requeue" }));
  drive.receive({ kind: "checkpointReported", attemptId: saves.id, step: 7, path: "step-7" });
  drive.passTo(drive.nowMs + 61_000);
}

/** A gang loses a node and continues on another. */
export function replace(drive: Drive): void {
  const nodes = ["r1", "r2", "r3"].map((id): Input => ({ kind: "nodeSeen", node: node(id, "R900") }));
  drive.receive(applied({ pools: [pool("R900")] }), ...nodes);
  drive.receive(
    submit("replaces", { gang: { workers: 2, accelerators: 8 }, acceleratorTypes: ["R900"], onNodeLoss: "replace" }),
  );
  const found = [...drive.engine.state.attempts.values()].find(({ acceleratorType }) => acceleratorType === "R900");
  if (found === undefined) throw new Error("nothing runs on R900");
  drive.receive(running(found.id));
  drive.receive({ kind: "nodeUnreachable", nodeId: found.workers[0]?.node ?? nodeId("r1"), detail: "power" });
  drive.receive({ kind: "workersJoined", attemptId: found.id });
}

/** Two workloads use one team's cells; the one with lower priority continues as opportunistic work. */
export function relabel(drive: Drive): void {
  const owner: Team = {
    ...team("zellen"),
    reservedTopology: [{ within: "node", accelerators: 8, count: 1, acceleratorType: "C300" }],
  };
  drive.receive(
    command({ kind: "setPolicy", policy: shapePolicy(true) }),
    applied({ pools: [pool("C300")], teams: [owner] }),
    { kind: "nodeSeen", node: node("n7", "C300") },
    { kind: "nodeSeen", node: node("n8", "C300") },
  );
  const ask = { team: "zellen", gang: { accelerators: 8 }, acceleratorTypes: ["C300"] } as const;
  drive.receive(submit("lesser", { ...ask, preemptible: true }));
  drive.receive(submit("greater", { ...ask, priority: 5 }));
}

/**
 * Work of other teams above their entitlement is on both nodes. For the owner of one node, two attempts are evicted; a
 * third one, within its entitlement, migrates.
 */
export function clearNode(drive: Drive): void {
  const type = "M975";
  const owned = (name: string): Team => ({ ...team(name), guarantee: { [type]: 4 } });
  const amounts = { acceleratorCount: 4 };
  drive.receive(
    command({ kind: "setPolicy", policy: presets.get("default") as Policy }),
    applied({ pools: [pool(type)], teams: [owned("owner"), owned("guest")] }),
  );
  const ask = { gang: { accelerators: 1 }, acceleratorTypes: [type], preemptible: true };
  for (const id of ["n51", "n52"]) {
    drive.receive({ kind: "nodeSeen", node: node(id, type, amounts) });
    for (const name of ["first", "second", "third"]) drive.receive(submit(`${name}-${id}`, { ...ask, team: "guest" }));
    drive.receive(submit(`filler-${id}`, { ...ask, team: "guest" }));
  }
  const attempts = Array.from(drive.engine.state.attempts.values()).filter(({ startedAtMs }) => startedAtMs === null);
  for (const { id } of attempts) drive.receive(running(id));
  const nameOf = ({ workloadId: id }: (typeof attempts)[number]): string =>
    drive.engine.state.workloads.get(id)?.spec.name ?? "";
  for (const attempt of attempts)
    if (nameOf(attempt).startsWith("filler")) drive.receive(exited(attempt.id, code(0, 0)));
  drive.receive(submit("owners", { team: "owner", gang: { accelerators: 4 }, acceleratorTypes: [type] }));
  for (const { id, stop } of Array.from(drive.engine.state.attempts.values()))
    if (stop !== null) drive.receive(exited(id, { kind: "signalled", worker: 0, signal: "SIGTERM" }));
}
