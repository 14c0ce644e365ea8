/**
 * Scores of nodes that fail again and again: each fault and each loss adds its weight, and the sum halves every three days. A passed suite
 * does not reset it, because such nodes pass suites between their faults. An incident counts once for a node, with its heaviest weight, and for
 * no node if many share its cause: as long as more failures can follow, the weight of a failure is open.
 */
import type { NodeFault, NodeId } from "@headroom/model";

const HALF_LIFE_MS = 3 * 86_400_000;
/** Reports of one node within this time of the first one are one event: drivers repeat their messages. */
const TOGETHER_MS = 600_000;
const WEIGHTS = { info: 0, warning: 1, critical: 2 } as const;
const LOSS_WEIGHT = 2;
const CODES_MAX = 8;
const NODES_MAX = 20_000;
const DROPPED_AT_ONCE = 2_000;
/** A drain, a cordon, a taint or a restart is a decision of people about the node; work fills its memory and disk, and brings its own libraries. */
const OF_OTHERS =
  /^(?:slurm-drain|slurm-rebooted|slurmd-restarted|k8s-cordoned|k8s-taint-.*|k8s-(?:memory|disk|pid)-pressure|oom-kill|gpu-client-mismatch)$/;
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
    for (const [node, entry] of this.#entries) {
      const { events, codes, sinceMs, lastAtMs } = entry;
      const score = closedScore(node, entry, shared);
      const now = score * decay(lastAtMs, nowMs);
      if (score >= least && now > least / 2) found.push({ node, score: now, events, codes, sinceMs, lastAtMs });
    }
    return found.toSorted((left, right) => right.score - left.score || (left.node < right.node ? -1 : 1));
  }

  /** The score of each node now. */
  now(nowMs: number, shared: ReadonlySet<string>): ReadonlyMap<NodeId, number> {
    const scored = [...this.#entries].map(
      ([node, entry]) => [node, closedScore(node, entry, shared) * decay(entry.lastAtMs, nowMs)] as const,
    );
    return new Map(scored);
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
    const isOfIncident = isOpen && known.open !== undefined;
    const isSame = isOfIncident || atMs - (known.beganAtMs ?? known.lastAtMs) < TOGETHER_MS;
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

  /** Many at a time: a fleet in which every node reports would pay a look at all entries for each further node. */
  #dropLeast(nowMs: number): void {
    const byScore = [...this.#entries]
      .map(([node, { score, lastAtMs }]) => ({ node, score: score * decay(lastAtMs, nowMs) }))
      .toSorted((left, right) => left.score - right.score || (left.node < right.node ? -1 : 1));
    for (const { node } of byScore.slice(0, DROPPED_AT_ONCE)) this.#entries.delete(node);
  }
}

const closedScore = (node: NodeId, { score, open = 0 }: Readonly<Entry>, shared: ReadonlySet<string>): number =>
  shared.has(node) ? score - open : score;

const decay = (fromMs: number, toMs: number): number => 2 ** (-Math.max(0, toMs - fromMs) / HALF_LIFE_MS);
