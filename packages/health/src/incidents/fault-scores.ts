/**
 * Scores of nodes that fail again and again: each fault and each loss adds its weight, and the sum halves every three days. A passed suite
 * does not reset it, because such nodes pass suites between their faults.
 */
import type { NodeFault, NodeId } from "@headroom/model";

const HALF_LIFE_MS = 3 * 86_400_000;
/** Reports of one node within this time of the first one are one event: drivers repeat their messages. */
const TOGETHER_MS = 600_000;
const WEIGHTS = { info: 0, warning: 1, critical: 2 } as const;
const LOSS_WEIGHT = 2;
const CODES_MAX = 8;
const NODES_MAX = 20_000;
/** A drain, a cordon or a taint is a decision of people about the node. */
const OF_PEOPLE = /^(?:slurm-drain|slurmd-restarted|k8s-cordoned|k8s-taint-.*)$/;
const LOST = "lost";

export interface FaultScore {
  readonly node: NodeId;
  /** At the time of the question. */
  readonly score: number;
  /** Number of events since the score was near zero. */
  readonly events: number;
  /** Codes of faults, and `lost`; the newest last. */
  readonly codes: readonly string[];
  readonly sinceMs: number;
  readonly lastAtMs: number;
}

interface Entry {
  score: number;
  events: number;
  codes: string[];
  sinceMs: number;
  lastAtMs: number;
  /** The heaviest weight of the present event. */
  weight: number;
  /** When the present event began. Absent: an earlier version stored the score. */
  beganAtMs?: number;
}

export type StoredScores = readonly (readonly [NodeId, Readonly<Entry>])[];

export class FaultScores {
  readonly #entries = new Map<NodeId, Entry>();

  reported(node: NodeId, atMs: number, faults: readonly NodeFault[]): void {
    for (const { code, severity } of faults)
      if (!OF_PEOPLE.test(code) && WEIGHTS[severity] > 0) this.#add(node, { atMs, code, weight: WEIGHTS[severity] });
  }

  lost(node: NodeId, atMs: number): void {
    this.#add(node, { atMs, code: LOST, weight: LOSS_WEIGHT });
  }

  forget(node: NodeId): void {
    this.#entries.delete(node);
  }

  /** Nodes that had at least this score at their newest event, until it has halved since; the highest first. */
  above(least: number, nowMs: number): readonly FaultScore[] {
    const found: FaultScore[] = [];
    for (const [node, { events, codes, sinceMs, lastAtMs, score }] of this.#entries) {
      const now = score * decay(lastAtMs, nowMs);
      if (score >= least && now > least / 2) found.push({ node, score: now, events, codes, sinceMs, lastAtMs });
    }
    return found.toSorted((left, right) => right.score - left.score || (left.node < right.node ? -1 : 1));
  }

  stored(): StoredScores {
    return [...this.#entries].map(([node, entry]) => [node, { ...entry, codes: [...entry.codes] }]);
  }

  restore(stored: StoredScores): void {
    for (const [node, entry] of stored) this.#entries.set(node, { ...entry, codes: [...entry.codes] });
  }

  #add(
    node: NodeId,
    { atMs, code, weight }: { readonly atMs: number; readonly code: string; readonly weight: number },
  ): void {
    const known = this.#entries.get(node);
    if (known === undefined) {
      if (this.#entries.size >= NODES_MAX) this.#dropLeast(atMs);
      const times = { sinceMs: atMs, lastAtMs: atMs, beganAtMs: atMs };
      this.#entries.set(node, { score: weight, events: 1, codes: [code], weight, ...times });
      return;
    }
    // A node that fails every nine minutes has many events, not one without end.
    const isSame = atMs - (known.beganAtMs ?? known.lastAtMs) < TOGETHER_MS;
    if (!isSame) known.beganAtMs = atMs;
    else known.beganAtMs ??= known.lastAtMs;
    const before = known.score * decay(known.lastAtMs, atMs);
    const isFresh = before < 0.1;
    known.score = before + (isSame ? Math.max(0, weight - known.weight) : weight);
    known.weight = isSame ? Math.max(known.weight, weight) : weight;
    known.events = isFresh ? 1 : known.events + (isSame ? 0 : 1);
    known.sinceMs = isFresh ? atMs : known.sinceMs;
    known.lastAtMs = atMs;
    known.codes = [...(isFresh ? [] : known.codes.filter((each) => each !== code)), code].slice(-CODES_MAX);
  }

  #dropLeast(nowMs: number): void {
    let least: { readonly node: NodeId; readonly score: number } | null = null;
    for (const [node, { score, lastAtMs }] of this.#entries) {
      const now = score * decay(lastAtMs, nowMs);
      if (least === null || now < least.score) least = { node, score: now };
    }
    if (least !== null) this.#entries.delete(least.node);
  }
}

const decay = (fromMs: number, toMs: number): number => 2 ** (-Math.max(0, toMs - fromMs) / HALF_LIFE_MS);
