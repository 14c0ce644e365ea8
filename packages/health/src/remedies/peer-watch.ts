/**
 * Nodes and accelerators whose readings are worse than those of their comparable set for over an hour. They are advice: the suite of the node
 * tells. Only what harms and what the work does not explain counts: a hot accelerator that draws no more power than its peers, low clocks, errors.
 */
import { isOfEvents } from "../peers/counted-events.ts";
import type { PeerDeviation } from "../peers/peer-deviations.ts";
import { ground, shortReason, type Finding } from "./finding.ts";

const LASTS_MS = 3_600_000;
/** Time in ms without a look after which deviations begin again. */
const GAP_MS = 600_000;
/** The median deviation of a few subjects can be small by chance, so few need a larger distance: normal noise has it once in a million. */
const PEERS_MIN = 16;
const DEVIATIONS_MIN = 6;
const DEVIATIONS_OF_ONE = 90;
/** Part of the median power from which on the work explains heat and low clocks. */
const POWER_PART_MAX = 1.05;
const HOT = /temperature/i;
const CLOCK = /ClockMhz$/;
const ADVICE = "prove the node: headroom nodes qualify";
const WATCHED_MAX = 10_000;
const FINDINGS_MAX = 20;

interface Watched {
  readonly sinceMs: number;
  readonly newest: PeerDeviation;
}

export class PeerWatch {
  #watched: ReadonlyMap<string, Watched> = new Map();
  #lookedAtMs = 0;
  /** First look since the start, or since a gap. */
  #beganAtMs = Infinity;

  /** `deviations`: of the present comparison, at least all that are harmful. */
  look(deviations: readonly PeerDeviation[], nowMs: number): void {
    const isGap = Math.abs(nowMs - this.#lookedAtMs) > GAP_MS;
    const before = isGap ? new Map<string, Watched>() : this.#watched;
    if (isGap || this.#beganAtMs === Infinity) this.#beganAtMs = nowMs;
    this.#lookedAtMs = nowMs;
    const harmful = deviations.filter(isHarmful).slice(0, WATCHED_MAX);
    this.#watched = new Map(
      harmful.map((newest) => {
        const key = `${newest.subject} ${newest.metric}`;
        return [key, { sinceMs: before.get(key)?.sinceMs ?? nowMs, newest }];
      }),
    );
  }

  /** Whether the change is the advice of a deviation that may still last: after a start or a gap nothing is known for an hour. */
  awaits(change: Finding["change"]): boolean {
    if (change.kind !== "advice" || !change.text.startsWith(ADVICE)) return false;
    return this.#beganAtMs === Infinity || this.#lookedAtMs - this.#beganAtMs < LASTS_MS;
  }

  /** One finding for each node, the largest deviation first. */
  findings(): readonly Finding[] {
    const lasting = [...this.#watched.values()].filter(({ sinceMs }) => this.#lookedAtMs - sinceMs >= LASTS_MS);
    const byNode = Map.groupBy(lasting, ({ newest }) => nodeOf(newest.subject));
    return [...byNode].slice(0, FINDINGS_MAX).map(([node, rows]) => findingOf(node, rows));
  }
}

/** Whether it can become a finding. */
export function isHarmful({ metric, deviations, peerCount, powerPart }: PeerDeviation): boolean {
  if (peerCount < PEERS_MIN || Math.abs(deviations) < DEVIATIONS_MIN + DEVIATIONS_OF_ONE / peerCount) return false;
  if (isOfEvents(metric)) return deviations > 0;
  if (powerPart !== null && powerPart > POWER_PART_MAX) return false;
  return HOT.test(metric) ? deviations > 0 : CLOCK.test(metric) && deviations < 0;
}

const nodeOf = (subject: string): string => /^[a-z]+:(.*?)(?:#\d+)?$/.exec(subject)?.[1] ?? subject;

function findingOf(node: string, rows: readonly Watched[]): Finding {
  const [worst] = rows as readonly [Watched, ...Watched[]];
  const { subject, metric, value, median, deviations, peerCount } = worst.newest;
  const accelerator = /#(\d+)$/.exec(subject)?.[1];
  const of = accelerator === undefined ? node : `accelerator ${accelerator} of ${node}`;
  return {
    id: `deviation:${node}`,
    kind: "deviation",
    sinceMs: Math.min(...rows.map(({ sinceMs }) => sinceMs)),
    change: {
      kind: "advice",
      about: shortReason(`node ${node}`),
      text: shortReason(`${ADVICE} ${node}`),
    },
    team: null,
    reason: shortReason(
      `${metric} of ${of} is ${rounded(value)}, the median of its ${peerCount} peers ${rounded(median)}, for over an hour`,
    ),
    ground: [
      ground("standard deviations from the median", deviations),
      ground("series of the node that differ", rows.length),
      ground("peers", peerCount),
    ],
  };
}

const rounded = (value: number): number => Number(value.toPrecision(4));
