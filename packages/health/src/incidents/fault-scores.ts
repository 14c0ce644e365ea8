/**
 * Scores of nodes that fail again and again: each fault and each loss adds its weight, and the sum halves every three days. A passed suite
 * does not reset it, because such nodes pass suites between their faults. Failures with a cause that many nodes share count for none of them:
 * as long as more failures can follow, the weight of a failure is open.
 */
import type { NodeFault, NodeId } from "@headroom/model";

const HALF_LIFE_MS = 3 * 86_400_000;
/** Reports of one node within this time of the first one are one event: drivers repeat their messages. */
const TOGETHER_MS = 600_000;
const WEIGHTS = { info: 0, warning: 1, critical: 2 } as const;
const LOSS_WEIGHT = 2;
const CODES_MAX = 8;
const NODES_MAX = 20_000;
/** A drain, a cordon, a taint or a restart is a decision of people about the node, and work fills its memory and disk. */
const OF_OTHERS =
  /^(?:slurm-drain|slurm-rebooted|slurmd-restarted|k8s-cordoned|k8s-taint-.*|k8s-(?:memory|disk|pid)-pressure|oom-kill)$/;
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
  /** The part of the score that a cause of several nodes would take away. Absent: none. */
  open?: number;
}

interface Report {
  readonly atMs: number;
  /** Whether further failures can show that the cause is not the node. */
  readonly isOpen: boolean;
}

export type StoredScores = readonly (readonly [NodeId, Readonly<Entry>])[];

export class FaultScores {
  readonly #entries = new Map<NodeId, Entry>();

  reported(node: NodeId, report: Report, faults: readonly NodeFault[]): void {
    for (const { code, severity } of faults)
      if (!OF_OTHERS.test(code) && WEIGHTS[severity] > 0) this.#add(node, report, code, WEIGHTS[severity]);
  }

  lost(node: NodeId, report: Report): void {
    this.#add(node, report, LOST, LOSS_WEIGHT);
  }

  /** No further failure can follow: the open weight of the nodes counts, or not if they share the cause with others. */
  settle(nodes: Iterable<NodeId>, isShared: boolean): void {
    for (const node of nodes) {
      const entry = this.#entries.get(node);
      if (entry?.open === undefined) continue;
      if (isShared) entry.score = Math.max(0, entry.score - entry.open);
      delete entry.open;
    }
  }

  forget(node: NodeId): void {
    this.#entries.delete(node);
  }

  /**
   * Nodes that had at least this score at their newest event, until it has halved since; the highest first. `shared`: nodes whose open
   * weight does not count, as things stand.
   */
  above(least: number, nowMs: number, shared: ReadonlySet<string>): readonly FaultScore[] {
    const found: FaultScore[] = [];
    for (const [node, { events, codes, sinceMs, lastAtMs, score: whole, open = 0 }] of this.#entries) {
      const score = shared.has(node) ? whole - open : whole;
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

  #add(node: NodeId, { atMs, isOpen }: Report, code: string, weight: number): void {
    const known = this.#entries.get(node);
    if (known === undefined) {
      if (this.#entries.size >= NODES_MAX) this.#dropLeast(atMs);
      const times = { sinceMs: atMs, lastAtMs: atMs, beganAtMs: atMs };
      const open = isOpen ? { open: weight } : {};
      this.#entries.set(node, { score: weight, events: 1, codes: [code], weight, ...times, ...open });
      return;
    }
    // A node that fails every nine minutes has many events, not one without end.
    const isSame = atMs - (known.beganAtMs ?? known.lastAtMs) < TOGETHER_MS;
    if (!isSame) known.beganAtMs = atMs;
    else known.beganAtMs ??= known.lastAtMs;
    const part = decay(known.lastAtMs, atMs);
    const before = known.score * part;
    const isFresh = before < 0.1;
    const added = isSame ? Math.max(0, weight - known.weight) : weight;
    known.score = before + added;
    if (isOpen || known.open !== undefined) known.open = (known.open ?? 0) * part + (isOpen ? added : 0);
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
