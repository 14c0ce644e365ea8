/**
 * Signals of Slurm's nodes that ended while nobody looked: the events of slurmdbd (`sacctmgr show event`), or without it the restarts that
 * `scontrol show node` states. Both are read with times in UTC.
 */
import type { NodeId } from "@headroom/model";
import type { PastNodeSignal, PastNodeSignals, UnwatchedPeriod } from "../../node-signals.ts";
import { slurmSignals } from "./node-signals.ts";

/**
 * `events`: lines of `NodeName|State|TimeStart|TimeEnd|Reason`. `nodes`: lines of `scontrol --oneliner show node`, with the failure of a
 * slurmdbd that may answer later; `null`: the cluster has none.
 */
export type PastAnswer =
  | { readonly kind: "events"; readonly text: string }
  | { readonly kind: "nodes"; readonly text: string; readonly failure: string | null };

export interface PastNodes {
  /** Ids of the executor's nodes, by name at Slurm. */
  readonly ids: ReadonlyMap<string, NodeId>;
  /** Start of the reasons of drains that this executor has set. */
  readonly drainMark: string;
}

export function pastSlurmSignals(answer: PastAnswer, period: UnwatchedPeriod, nodes: PastNodes): PastNodeSignals {
  if (answer.kind === "events")
    return {
      signals: eventSignals(answer.text, period, nodes),
      unknown: "Events that slurmdbd did not get are unknown.",
    };
  const { text, failure } = answer;
  const reason =
    failure === null ? "Slurm has no accounting (slurmdbd)" : `The accounting of Slurm did not answer (${failure})`;
  return {
    signals: restartSignals(text, period, nodes),
    unknown: `${reason}, so only restarts of nodes are known. Drains and losses that ended are unknown.`,
    isPartial: failure !== null,
  };
}

/** A reason can contain `|`, so it is the last column. */
function eventSignals(text: string, { fromMs, untilMs }: UnwatchedPeriod, nodes: PastNodes): readonly PastNodeSignal[] {
  return text.split("\n").flatMap((line): readonly PastNodeSignal[] => {
    const [name = "", state = "", , end = "", ...words] = line.split("|");
    const endedAtMs = utcMs(end);
    const reason = words.join("|");
    const id = nodes.ids.get(name);
    if (id === undefined || !(endedAtMs > fromMs && endedAtMs <= untilMs)) return [];
    if (reason.startsWith(nodes.drainMark)) return [];
    return slurmSignals([{ name, state, reason }], () => id).map((signal) => ({ ...signal, endedAtMs }));
  });
}

function restartSignals(
  text: string,
  { fromMs, untilMs }: UnwatchedPeriod,
  nodes: PastNodes,
): readonly PastNodeSignal[] {
  return text.split("\n").flatMap((line): readonly PastNodeSignal[] => {
    const [, name = ""] = /^NodeName=(\S+)/.exec(line) ?? [];
    const nodeId = nodes.ids.get(name);
    if (nodeId === undefined) return [];
    const bootedAtMs = utcMs(/\sBootTime=(\S+)/.exec(line)?.[1] ?? "");
    const startedAtMs = utcMs(/\sSlurmdStartTime=(\S+)/.exec(line)?.[1] ?? "");
    const isIn = (atMs: number): boolean => atMs > fromMs && atMs <= untilMs;
    // A machine that boots starts its daemon too.
    if (isIn(bootedAtMs))
      return [
        { nodeId, code: "slurm-rebooted", severity: "warning", detail: "the machine restarted", endedAtMs: bootedAtMs },
      ];
    if (!isIn(startedAtMs)) return [];
    return [{ nodeId, code: "slurmd-restarted", severity: "info", detail: "slurmd restarted", endedAtMs: startedAtMs }];
  });
}

/** A time of Slurm in ms; not a number: `Unknown`, `None`, or another text. */
const utcMs = (text: string): number => (/^\d{4}-\d\d-\d\dT[\d:]+$/.test(text) ? Date.parse(`${text}Z`) : Number.NaN);
