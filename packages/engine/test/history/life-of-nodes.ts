/** Part of the recorded journal: placement, and events by which work stays on its nodes or leaves them. */
import { gangOfGroups, nodeId, presets, teamName } from "@headroom/model";
import type { AttemptId, Command, Input, Policy } from "@headroom/model";
import type { Drive } from "../lab/drive.ts";
import { applied, command, node, pool, site, team } from "../lab/make.ts";
import { code, exited, running, submit } from "./life-lines.ts";

/** A gang with unlike task groups starts, grows, shrinks for another workload, and is nominated for its old place. */
export function placeGroups(drive: Drive): void {
  drive.receive(
    command({ kind: "setPolicy", policy: presets.get("default") as Policy }),
    applied({
      pools: [pool("E500")],
      teams: [
        { ...team("gruppen"), guarantee: { E500: 8, accelerators: 8 } },
        { ...team("mieter"), guarantee: {} },
      ],
    }),
    { kind: "nodeSeen", node: node("n10", "E500") },
  );
  const shape = { coresMilli: 1000, memoryMib: 0, acceleratorTypes: ["E500"] };
  const gang = gangOfGroups([
    { name: "prefill", workers: 3, minWorkers: 1, accelerators: 1, ...shape },
    { name: "decode", workers: 1, accelerators: 4, fabric: { within: "node" }, ...shape },
    { name: "front", workers: 1, accelerators: 0, coresMilli: 500, memoryMib: 64 },
  ]);
  drive.receive(
    submit("tenant", { team: "mieter", gang: { accelerators: 8 }, acceleratorTypes: ["E500"], preemptible: true }),
  );
  drive.receive(submit("groups", { team: "gruppen", gang }));
  const tenant = [...drive.engine.state.attempts.values()].at(-1)?.id ?? "";
  drive.receive(exited(tenant, { kind: "signalled", worker: 0, signal: "SIGTERM" }));
}

/** Three of four accelerators are busy, with and without a reported peak of memory. */
const uses = (id: AttemptId, peakMemoryMib: number | null): Input => ({
  kind: "utilizationReported",
  attemptId: id,
  accelerators: 4,
  busyAccelerators: 3,
  busyMilli: 700,
  peakMemoryMib,
  capacityMib: peakMemoryMib === null ? null : 81_920,
});

/** Defragmentation: when no other work is left, one of two attempts on different nodes migrates to the other's node. */
export function gather(drive: Drive): void {
  const { state } = drive.engine;
  for (const { id, endedAtMs } of Array.from(state.workloads.values()))
    if (endedAtMs === null) drive.receive(command({ kind: "stopWorkload", workloadId: id }));
  for (const { id } of Array.from(state.attempts.values())) drive.receive(exited(id, code(0, 0)));
  drive.receive(
    command({
      kind: "setPolicy",
      policy: {
        ...(presets.get("default") as Policy),
        phases: ["place", "defragment"],
        defragment: { migrationsPerHour: 1, lossPerPairMs: 60_000 },
      },
    }),
    applied({ pools: [pool("F600")] }),
    { kind: "nodeSeen", node: node("n11", "F600") },
    { kind: "nodeSeen", node: node("n12", "F600") },
  );
  const ask = { gang: { accelerators: 4 }, acceleratorTypes: ["F600"], preemptible: true } as const;
  for (const name of ["antiAffinity", "gone", "together", "gone too"])
    drive.receive(submit(name.replace(" ", "-"), ask));
  for (const { id } of Array.from(state.attempts.values())) drive.receive(running(id), uses(id, 4096), uses(id, null));
  const attemptsOf = (name: string): readonly string[] =>
    [...state.workloads.values()].find(({ spec: { name: own } }) => own === name)?.activeAttempts ?? [];
  for (const name of ["gone", "gone-too"]) for (const id of attemptsOf(name)) drive.receive(exited(id, code(0, 0)));
  for (const id of attemptsOf("antiAffinity")) drive.receive(exited(id, code(0, 0)));
}

/** Data rules: one pool admits the data and another does not; a pool declares that it stores the data. */
export function keepData(drive: Drive): void {
  const holds = ["s3://korpus"];
  drive.receive(
    applied({
      sites: [{ ...site, data: { rules: ["vertraulich"] } }],
      pools: [
        { ...pool("F600"), data: { rules: [], holds } },
        { ...pool("G700"), data: { holds } },
      ],
    }),
    { kind: "nodeSeen", node: node("n11", "F600") },
    { kind: "nodeSeen", node: node("n12", "G700") },
  );
  const data = { inputs: ["s3://korpus/v7"], rule: "vertraulich" };
  drive.receive(submit("secret", { gang: { accelerators: 8 }, data }));
  const antiAffinity = { sets: ["leise"], from: [{ set: "leise", topologyKey: "rack" }], exclusive: true } as const;
  drive.receive(submit("lone", { gang: { accelerators: 4, antiAffinity }, acceleratorTypes: ["G700"] }));
  drive.receive(submit("secret too", { gang: { accelerators: 8 }, acceleratorTypes: ["F600"], data }));
}

/**
 * One of three nodes is a hot spare. A gang that loses a node gets it; the node that returns becomes the next spare.
 */
export function keepHotSpares(drive: Drive): void {
  const { state } = drive.engine;
  for (const { id, endedAtMs } of Array.from(state.workloads.values()))
    if (endedAtMs === null) drive.receive(command({ kind: "stopWorkload", workloadId: id }));
  for (const { id } of Array.from(state.attempts.values())) drive.receive(exited(id, code(0, 0)));
  const kept = (hotSpares: number): Command =>
    applied({ pools: [{ ...pool("J800"), ...(hotSpares > 0 ? { hotSpares } : {}) }] });
  const seen = (id: string): Input => ({ kind: "nodeSeen", node: node(id, "J800") });
  const lost = (id: string): Input => ({ kind: "nodeUnreachable", nodeId: nodeId(id), detail: "power" });
  drive.receive(kept(1), ...["n21", "n22", "n23"].map(seen));
  drive.receive(submit("spared", { gang: { workers: 2, accelerators: 8 }, acceleratorTypes: ["J800"] }));
  const idOf = (): AttemptId => [...state.attempts.keys()].at(-1) as AttemptId;
  drive.receive(running(idOf()));
  drive.receive(lost("n23"));
  // Between the end of the first attempt and the start of the next, the number of lost workers is recorded.
  drive.receive(exited(idOf(), { kind: "signalled", worker: 0, signal: "SIGTERM" }));
  drive.receive(seen("n23"));
  drive.receive(lost("n23"));
  drive.receive(seen("n23"));
  drive.receive(kept(0));
  drive.receive(kept(2));
}

/** A notice announces that a node leaves; its worker migrates before. */
export function heedNotice(drive: Drive): void {
  const nodes = ["n31", "n32", "n33"].map((id): Input => ({ kind: "nodeSeen", node: node(id, "K900") }));
  drive.receive(applied({ pools: [pool("K900")] }), ...nodes);
  const gang = { workers: 2, accelerators: 8 };
  drive.receive(submit("heeding", { gang, onNodeLoss: "replace", acceleratorTypes: ["K900"] }));
  drive.receive(running([...drive.engine.state.attempts.keys()].at(-1) ?? ""));
  drive.receive({ kind: "nodeNotice", nodeId: nodeId("n32"), goneAtMs: drive.nowMs + 40_000 });
  drive.passTo(drive.nowMs + 40_000);
  drive.receive({ kind: "nodeUnreachable", nodeId: nodeId("n32"), detail: "taken back" });
}

/** Work is stopped for a window, a reservation or a notice; the recorded stop names its cause. */
export function makeWay(drive: Drive): void {
  const ids = ["n41", "n42", "n43"];
  const nodes = ids.map((id): Input => ({ kind: "nodeSeen", node: node(id, "L950") }));
  drive.receive(applied({ pools: [pool("L950")], teams: [team("gast")] }), ...nodes);
  for (const id of ids) drive.receive(submit(`on-${id}`, { gang: { accelerators: 8 }, acceleratorTypes: ["L950"] }));
  for (const { id, startedAtMs } of Array.from(drive.engine.state.attempts.values()))
    if (startedAtMs === null) drive.receive(running(id));
  const times = { startMs: drive.nowMs + 600_000, endMs: drive.nowMs + 1_200_000 };
  drive.receive(
    applied({
      calendar: [
        { kind: "maintenance", name: "firmware", ...times, nodes: [nodeId("n41")], reason: "new firmware" },
        { kind: "reservation", name: "guests", ...times, nodes: [nodeId("n42")], team: teamName("gast") },
      ],
    }),
    command({ kind: "noticeNode", nodeId: nodeId("n43"), gone: { inMs: 600_000 }, reason: "spot reclaim" }),
  );
  drive.passTo(drive.nowMs + 600_000);
  for (const { id, stop } of Array.from(drive.engine.state.attempts.values()))
    if (stop?.closedBy !== undefined) drive.receive(exited(id, { kind: "signalled", worker: 0, signal: "SIGTERM" }));
}
