/**
 * Samples of the amounts of a subject over time: the fleet, a pool, a team, a node or an endpoint. A subject is written as in a query,
 * such as `team:research`. The samples go to the telemetry store; no decision depends on them.
 */
import { nodeUse, teamHoldsInAll, waitingSummary } from "@headroom/explain";
import { endpointsOf } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { acceleratorCount } from "@headroom/model";
import type { Node, NodeId } from "@headroom/model";
import { isServing } from "../workload-view.ts";
import type { AcceleratorReadings } from "./accelerator-readings.ts";
import { READINGS_FRESH_MS } from "./accelerator-readings.ts";
import type { ReadingValues } from "./accelerator-series.ts";

export interface SubjectSample {
  readonly subject: string;
  readonly atMs: number;
  readonly values: Readonly<Record<string, number>>;
}

/** Units of the metrics of subjects, by name. */
export const seriesUnits: Readonly<Record<string, string>> = {
  accelerators: "accelerators",
  held: "accelerators",
  foreign: "accelerators",
  outOfService: "accelerators",
  queued: "accelerators",
  attempts: "attempts",
  utilizationPercent: "%",
  powerWatts: "W",
  temperatureMaxC: "°C",
  replicasWanted: "replicas",
  replicasReady: "replicas",
};

/** `index`: empty for the prefix of all accelerators of the node. */
export const acceleratorSubject = (node: string, index: number | ""): string => `accelerator:${node}#${index}`;

/** Index of the accelerator of which the subject is one; `null`: the subject is no accelerator of the node. */
export function acceleratorIndexOf(subject: string, node: string): number | null {
  const prefix = acceleratorSubject(node, "");
  const rest = subject.startsWith(prefix) ? subject.slice(prefix.length) : "";
  return /^\d+$/.test(rest) ? Number(rest) : null;
}

export function acceleratorSample(node: string, index: number, atMs: number, reading: ReadingValues): SubjectSample {
  const known = Object.entries(reading).filter((entry): entry is [string, number] => entry[1] !== null);
  return { subject: acceleratorSubject(node, index), atMs, values: Object.fromEntries(known) };
}

/** A sample of each subject but accelerators, whose readings are recorded one by one. */
export function subjectSamples(engine: Engine, readings: AcceleratorReadings, atMs: number): readonly SubjectSample[] {
  const { state } = engine;
  const nodes = [...state.nodes.values()].map((node) => ({ node, values: nodeValues(engine, node, readings, atMs) }));
  const pools = Map.groupBy(nodes, ({ node }) => node.pool);
  const sample = (subject: string, values: SubjectSample["values"]): SubjectSample => ({ subject, atMs, values });
  return [
    sample("fleet", { ...sumOf(nodes), queued: waitingSummary(engine).accelerators }),
    ...[...pools].map(([name, own]) => sample(`pool:${name}`, sumOf(own))),
    ...[...state.teams.keys()].map((team) =>
      sample(`team:${team}`, { held: teamHoldsInAll(engine, team).accelerators }),
    ),
    ...nodes.map(({ node, values }) => sample(`node:${node.id}`, values)),
    ...[...endpointsOf(engine)].map(({ id, scale, activeAttempts }) => {
      const active = activeAttempts.flatMap((each) => state.attempts.get(each) ?? []);
      const replicasReady = active.filter(isServing).length;
      return sample(`endpoint:${id}`, { replicasWanted: scale?.replicas ?? 0, replicasReady });
    }),
  ];
}

/** Metrics of a node that add up over nodes. */
const SUMMED = ["accelerators", "held", "foreign", "outOfService", "attempts", "powerWatts"] as const;

function sumOf(nodes: readonly { readonly values: SubjectSample["values"] }[]): Readonly<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const name of SUMMED) {
    const known = nodes.flatMap(({ values }) => values[name] ?? []);
    if (known.length > 0) sums[name] = known.reduce((sum, value) => sum + value, 0);
  }
  const busy = nodes.flatMap(({ values }) => values["utilizationPercent"] ?? []);
  if (busy.length > 0) sums["utilizationPercent"] = busy.reduce((sum, value) => sum + value, 0) / busy.length;
  return sums;
}

function nodeValues(
  engine: Engine,
  node: Node,
  readings: AcceleratorReadings,
  atMs: number,
): Readonly<Record<string, number>> {
  const { attempts, freeCount } = nodeUse(engine, node.id);
  const foreign = acceleratorCount(node.foreignUse?.accelerators ?? "");
  const isOut = node.health === "lost" || node.draining || node.suspended === true || node.removal !== undefined;
  const idle = Math.max(0, freeCount);
  return {
    accelerators: node.acceleratorCount,
    held: Math.max(0, node.acceleratorCount - idle - foreign),
    foreign,
    outOfService: isOut ? idle : 0,
    attempts: attempts.length,
    ...readValues(readings, node.id, atMs),
  };
}

function readValues(readings: AcceleratorReadings, node: NodeId, atMs: number): Readonly<Record<string, number>> {
  const read = readings.of(node);
  if (read.atMs === null || atMs - read.atMs > READINGS_FRESH_MS) return {};
  const known = (name: "busyMilli" | "powerMilliwatts" | "temperatureC"): readonly number[] =>
    read.accelerators.flatMap((each) => each[name] ?? []);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const [busy, power, temperatures] = [known("busyMilli"), known("powerMilliwatts"), known("temperatureC")];
  return {
    ...(busy.length === 0 ? {} : { utilizationPercent: sum(busy) / busy.length / 10 }),
    ...(power.length === 0 ? {} : { powerWatts: sum(power) / 1_000 }),
    ...(temperatures.length === 0 ? {} : { temperatureMaxC: Math.max(...temperatures) }),
  };
}
