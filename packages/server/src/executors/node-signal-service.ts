/**
 * Makes faults of what executors say about their nodes (drain reasons of Slurm, conditions of Kubernetes): a new signal is
 * reported once. When all signals of a node have ended, its incident is resolved, unless it has faults of other sources. An
 * executor that does not answer ends no signal.
 */
import type { ExecutorId, NodeFault, NodeId } from "@headroom/model";
import type { Executor, NodeSignal } from "@headroom/executors";
import type { IncidentFold } from "@headroom/health";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";
import { messageOf } from "./within.ts";

const TICK_MS = 5_000;
/** Answers in a row without a signal after which it has ended: a state that flaps is one signal. */
const MISSES_MAX = 3;
/** Nodes about which one tick reports or resolves. */
const NODES_MAX = 200;
/** Codes of signals begin with one of these. */
const OWN_CODE = /^(?:slurm|k8s)-/;

interface SignalParts {
  readonly driver: Pick<Driver, "read" | "command">;
  readonly executors: ReadonlyMap<ExecutorId, Pick<Executor, "nodeSignals">>;
  readonly incidents: { readonly fold: Pick<IncidentFold, "incidents"> };
  readonly log: Pick<DriverLog, "warn">;
}

/** A reported signal, and the answers in a row that lack it. */
interface Known {
  readonly code: string;
  misses: number;
}

export class NodeSignalService {
  readonly #parts: SignalParts;
  /** Signals by node, of all executors. After a restart it begins with the open incidents. */
  readonly #known = new Map<NodeId, Map<string, Known>>();
  readonly #warned = new Set<string>();
  #timer: NodeJS.Timeout | null = null;
  #isLooking = false;
  #hasBegun = false;

  constructor(parts: SignalParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#timer = setInterval(() => void this.look(), TICK_MS);
    this.#timer.unref();
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      this.#begin();
      for (const [id, executor] of this.#parts.executors) {
        const signals = executor.nodeSignals?.() ?? null;
        if (signals !== null) await this.#compare(id, signals);
      }
    } catch (error) {
      const message = `Signals of nodes were not taken in: ${messageOf(error)}`;
      if (!this.#warned.has(message)) this.#parts.log.warn(message);
      this.#warned.add(message);
    } finally {
      this.#isLooking = false;
    }
  }

  /** Takes over what earlier processes reported and nothing has ended. */
  #begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const failures = this.#parts.incidents.fold.incidents().flatMap((incident) => incident.failures);
    for (const { node, backAtMs, codes } of failures) {
      if (node === "" || backAtMs !== null) continue;
      for (const code of codes) if (OWN_CODE.test(code)) this.#of(node).set(code, { code, misses: 0 });
    }
  }

  async #compare(executor: ExecutorId, signals: readonly NodeSignal[]): Promise<void> {
    const nodes = await this.#parts.driver.read(
      ({ state }) =>
        new Set(
          [...state.nodes.values()]
            .filter(({ pool }) => state.pools.get(pool)?.executor === executor)
            .map(({ id }) => id),
        ),
    );
    const present = Map.groupBy(
      signals.filter(({ nodeId }) => nodes.has(nodeId)),
      ({ nodeId }) => nodeId,
    );
    let count = 0;
    for (const nodeId of nodes) {
      if (count >= NODES_MAX) return;
      const now = present.get(nodeId) ?? [];
      if (now.length === 0 && !this.#known.has(nodeId)) continue;
      if (await this.#update(executor, nodeId, now)) count++;
    }
  }

  /** Returns whether anything was recorded about the node. */
  async #update(executor: ExecutorId, nodeId: NodeId, now: readonly NodeSignal[]): Promise<boolean> {
    const known = this.#of(nodeId);
    const fresh = now.filter(({ code }) => !known.has(code));
    const codes = new Set(now.map(({ code }) => code));
    for (const each of known.values()) {
      each.misses = codes.has(each.code) ? 0 : each.misses + 1;
      if (each.misses >= MISSES_MAX) known.delete(each.code);
    }
    const actor = `executor ${executor}`;
    if (fresh.length > 0) {
      const faults = fresh.map(({ code, severity, detail }): NodeFault => ({ code, severity, detail }));
      await this.#parts.driver.command({ kind: "reportFaults", nodeId, faults, actor, idempotencyKey: null });
      for (const { code } of fresh) known.set(code, { code, misses: 0 });
    }
    if (known.size > 0) return fresh.length > 0;
    this.#known.delete(nodeId);
    return this.#resolve(nodeId, actor);
  }

  /** A loss ends when the node is back, and faults of other sources end when a person says so. */
  async #resolve(nodeId: NodeId, actor: string): Promise<boolean> {
    const open = this.#parts.incidents.fold
      .incidents()
      .find(({ failures }) =>
        failures.some(({ node, backAtMs, isLost }) => node === nodeId && backAtMs === null && !isLost),
      );
    if (open === undefined) return false;
    const own = open.failures.every(
      ({ backAtMs, codes, isLost }) => backAtMs !== null || (!isLost && codes.every((code) => OWN_CODE.test(code))),
    );
    // An incident of several nodes ends with the signals of the last one.
    const others = open.failures.some(
      ({ node, backAtMs }) => node !== "" && backAtMs === null && this.#known.has(node),
    );
    if (!own || others) return false;
    const annotation = { kind: "resolve" } as const;
    await this.#parts.driver.command({
      kind: "annotateIncident",
      incident: open.id,
      annotation,
      actor,
      idempotencyKey: null,
    });
    return true;
  }

  #of(nodeId: NodeId): Map<string, Known> {
    const known = this.#known.get(nodeId) ?? new Map<string, Known>();
    this.#known.set(nodeId, known);
    return known;
  }
}
