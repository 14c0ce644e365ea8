/**
 * Makes faults of what executors say about their nodes (drain reasons of Slurm, conditions of Kubernetes). Each look
 * compares the signals with the open incidents: a critical signal without an open failure is reported, and a failure all of
 * whose faults are signals that have ended is resolved. An executor that does not answer completely ends no signal. Known signals and
 * owed proofs survive the process (`signal-memory.ts`). After a period without looks the executor is asked for signals that ended in it.
 */
import type { ExecutorId, NodeFault, NodeId } from "@headroom/model";
import type {
  Executor,
  NodeSignal,
  NodeSignals,
  PastNodeSignal,
  PastNodeSignals,
  UnwatchedPeriod,
} from "@headroom/executors";
import { NODE_SIGNALS_MAX } from "@headroom/executors";
import type { Failure, IncidentFacts, IncidentFold } from "@headroom/health";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";
import type { KnownSignal, SignalMemory } from "./signal-memory.ts";
import { messageOf } from "./within.ts";

const TICK_MS = 5_000;
/** Looks in a row without a signal after which it has ended: a state that flaps is one signal. */
const MISSES_MAX = 3;
/** Looks after a report or a resolution before it is repeated: incidents follow the journal a moment later. */
const PATIENCE = 6;
/** Nodes about which one look reports or resolves. */
const NODES_MAX = 200;
/** Codes of signals begin with one of these. */
const OWN_CODE = /^(?:slurmd?|k8s)-/;
/** Signals with which a cluster takes a node out of service, besides the critical ones: somebody may repair it. */
const WITHDRAWN_CODE = /^(?:slurm-drain|slurm-rebooted|k8s-cordoned|k8s-taint-.*)$/;
/** Time in ms without a complete answer of an executor from which on it is asked what ended meanwhile. */
const UNWATCHED_MS = 30_000;
/** Length in ms of the part of such a period that is asked for: accounting can have years. */
const PAST_MS_MAX = 7 * 86_400_000;
/** Time in ms for which an executor that does not state the past is asked again, and the pause between two tries: slurmdbd can be up late. */
const PAST_PATIENCE_MS = 600_000;
const PAST_PAUSE_MS = 30_000;
/** Nodes whose past signals are reported after such a period. */
const PAST_NODES_MAX = 2_000;

type SignallingExecutor = Pick<Executor, "nodeSignals" | "pastNodeSignals">;

interface SignalParts {
  readonly driver: Pick<Driver, "read" | "command">;
  readonly executors: ReadonlyMap<ExecutorId, SignallingExecutor>;
  readonly memory: SignalMemory;
  readonly nowMs: () => number;
  readonly incidents: { readonly fold: Pick<IncidentFold, "incidents"> };
  readonly log: Pick<DriverLog, "warn">;
}

interface Circumstances {
  /** Whether the control plane has drained the node. */
  readonly isDrained: boolean;
  /** Codes that were there before the first answer to this process. */
  readonly before: readonly string[];
}

/** A period whose past signals an executor has failed to state. Times in ms. */
interface PendingPeriod {
  /** The first try since the end of the period, and the last one. */
  sinceMs: number;
  readonly triedAtMs: number;
  /** End of the period. */
  untilMs: number;
  /** The newest complete answer about the present. */
  answeredAtMs: number;
  /** Signals that were known at the first try. */
  readonly known: ReadonlyMap<NodeId, ReadonlySet<string>>;
}

interface AskedExecutor {
  readonly id: ExecutorId;
  readonly executor: SignallingExecutor;
}

interface OpenFailure {
  readonly failure: Failure;
  readonly incident: IncidentFacts;
}

export class NodeSignalService {
  readonly #parts: SignalParts;
  readonly #known: SignalMemory["known"];
  readonly #owed: SignalMemory["owed"];
  /** Executors that have answered this process. */
  readonly #answered = new Set<ExecutorId>();
  /** Number of the look in which an incident was resolved last, by incident. */
  readonly #resolvedAt = new Map<string, number>();
  /** Past signals that were reported, and proofs that are owed for them, before the taking in of a period failed and is repeated. */
  readonly #reportedPast = new Map<ExecutorId, Set<string>>();
  readonly #pending = new Map<ExecutorId, PendingPeriod>();
  readonly #warned = new Set<string>();
  #timer: NodeJS.Timeout | null = null;
  #isLooking = false;
  #look = 0;

  constructor(parts: SignalParts) {
    this.#parts = parts;
    this.#known = parts.memory.known;
    this.#owed = parts.memory.owed;
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
    this.#look++;
    try {
      for (const [id, executor] of this.#parts.executors) {
        const signals = executor.nodeSignals?.() ?? null;
        if (signals !== null) await this.#compare({ id, executor }, signals);
      }
      for (const [id, at] of this.#resolvedAt) if (this.#look - at > PATIENCE) this.#resolvedAt.delete(id);
    } catch (error) {
      const message = `Signals of nodes were not taken in: ${messageOf(error)}`;
      if (!this.#warned.has(message)) this.#parts.log.warn(message);
      this.#warned.add(message);
    } finally {
      await this.#parts.memory.store(this.#parts.nowMs());
      this.#isLooking = false;
    }
  }

  async #compare(of: AskedExecutor, { nodes: answered, signals }: NodeSignals): Promise<void> {
    const { id: executor } = of;
    const { nodes, drained, gone } = await this.#parts.driver.read(({ state }) => {
      const own = [...state.nodes.values()].filter(
        ({ id, pool }) => state.pools.get(pool)?.executor === executor && answered.has(id),
      );
      return {
        nodes: new Set(own.map(({ id }) => id)),
        drained: new Set(own.filter(({ draining }) => draining).map(({ id }) => id)),
        gone: [...this.#known.keys(), ...this.#owed.keys()].filter((id) => !state.nodes.has(id)),
      };
    });
    for (const id of gone) {
      this.#known.delete(id);
      this.#owed.delete(id);
    }
    const actor = `executor ${executor}`;
    await this.#takePast(of, { nodes, drained });
    await this.#requireProofs(executor, actor);
    const present = Map.groupBy(
      signals.filter(({ nodeId }) => nodes.has(nodeId)),
      ({ nodeId }) => nodeId,
    );
    const open = this.#openFailures();
    // After a start, signals of open failures began before it.
    const isFirst = !this.#answered.has(executor);
    this.#answered.add(executor);
    let count = 0;
    for (const nodeId of nodes) {
      if (count >= NODES_MAX) break;
      const now = present.get(nodeId) ?? [];
      const failure = open.get(nodeId)?.failure;
      this.#note(nodeId, now, { isDrained: drained.has(nodeId), before: isFirst ? (failure?.codes ?? []) : [] });
      if (await this.#report(nodeId, { now, actor, failure })) count++;
      else if (await this.#resolve(open.get(nodeId), { nodes, open, actor })) count++;
    }
    await this.#requireProofs(executor, actor);
  }

  /** After a period in which nobody looked, reports what ended in it. It is over, so no fault of it is critical. */
  async #takePast({ id, executor }: AskedExecutor, fleet: OwnNodes): Promise<void> {
    const { memory, nowMs, log } = this.#parts;
    const [fromMs, atMs] = [memory.answeredAtMs.get(id), nowMs()];
    if (fromMs !== undefined && atMs - fromMs > UNWATCHED_MS) {
      const untilMs = this.#endOfPeriod(id, atMs);
      if (untilMs === null) return;
      const askedFromMs = Math.max(fromMs, untilMs - PAST_MS_MAX);
      const past = await this.#pastOf({ id, executor }, { fromMs: askedFromMs, untilMs }, atMs);
      if (past === null) return;
      const known = this.#pending.get(id)?.known ?? this.#known;
      const own = past.signals.filter(
        ({ nodeId, code }) => fleet.nodes.has(nodeId) && known.get(nodeId)?.has(code) !== true,
      );
      const byNode = [...Map.groupBy(own, ({ nodeId }) => nodeId)];
      for (const [nodeId, signals] of byNode.slice(0, PAST_NODES_MAX)) {
        const isOut = signals.some((each) => isWithdrawal(each, fleet.drained.has(nodeId)));
        await this.#reportPast({ nodeId, signals, isOut }, { fromMs, untilMs }, id);
      }
      // The source that failed is read again for the rest.
      if (past.isPartial === true) return;
      this.#reportedPast.delete(id);
      const left = byNode.length - PAST_NODES_MAX;
      const unknown = [
        past.unknown,
        ...(askedFromMs > fromMs ? ["Only the newest seven days were asked for."] : []),
        ...(left > 0 ? [`Signals of ${left} more nodes were left out.`] : []),
      ].join(" ");
      memory.addUnwatched({ executor: id, fromMs, untilMs, signals: own.length, unknown });
      log.warn(
        `Nobody looked at the nodes of ${id} from ${timeText(fromMs)} to ${timeText(untilMs)}: ${own.length} signals ended meanwhile. ${unknown}`,
      );
    }
    this.#pending.delete(id);
    memory.answeredAtMs.set(id, atMs);
  }

  /** A proof after the period is one for all that ended in it, whenever a source states that. */
  async #reportPast(
    {
      nodeId,
      signals,
      isOut,
    }: { readonly nodeId: NodeId; readonly signals: readonly PastNodeSignal[]; readonly isOut: boolean },
    { untilMs }: UnwatchedPeriod,
    executor: ExecutorId,
  ): Promise<void> {
    const reported = this.#reportedPast.get(executor) ?? new Set();
    this.#reportedPast.set(executor, reported);
    const keyOf = ({ code, endedAtMs }: PastNodeSignal): string => JSON.stringify([nodeId, code, endedAtMs]);
    const due = newestOf(signals).filter((each) => !reported.has(keyOf(each)));
    if (due.length === 0) return;
    const proof = JSON.stringify([nodeId, untilMs]);
    if (isOut && !reported.has(proof)) this.#owed.set(nodeId, "ended");
    const command = { kind: "reportFaults", nodeId, faults: due.map(pastFault) } as const;
    await this.#parts.driver.command({ ...command, actor: `executor ${executor}`, idempotencyKey: null });
    for (const each of due) reported.add(keyOf(each));
    if (isOut) reported.add(proof);
  }

  /** End in ms of the period in which nobody looked; `null`: its next try is not due. Looks since the first try are no part of it. */
  #endOfPeriod(id: ExecutorId, atMs: number): number | null {
    const pending = this.#pending.get(id);
    if (pending === undefined) return atMs;
    if (atMs - pending.answeredAtMs > UNWATCHED_MS) {
      pending.untilMs = atMs;
      pending.sinceMs = atMs;
    }
    pending.answeredAtMs = atMs;
    return Math.abs(atMs - pending.triedAtMs) < PAST_PAUSE_MS ? null : pending.untilMs;
  }

  /**
   * `null`: the executor did not answer, and is asked again, as is one whose answer is partial. One that fails for some minutes leaves
   * the period unknown.
   */
  async #pastOf(
    { id, executor }: AskedExecutor,
    period: UnwatchedPeriod,
    atMs: number,
  ): Promise<PastNodeSignals | null> {
    try {
      const past = await executor.pastNodeSignals?.(period);
      if (past?.isPartial !== true) return past ?? { signals: [], unknown: "This executor keeps no past signals." };
      return { ...past, isPartial: this.#keepPending(id, period, atMs) };
    } catch (error) {
      if (this.#keepPending(id, period, atMs)) return null;
      return { signals: [], unknown: `The executor did not state past signals: ${messageOf(error)}.` };
    }
  }

  /** Notes a try that failed, or was partial, and returns whether the period is read again. */
  #keepPending(id: ExecutorId, { untilMs }: UnwatchedPeriod, atMs: number): boolean {
    const {
      sinceMs = atMs,
      known = new Map([...this.#known].map(([nodeId, signals]) => [nodeId, new Set(signals.keys())])),
    } = this.#pending.get(id) ?? {};
    if (Math.abs(atMs - sinceMs) >= PAST_PATIENCE_MS) return false;
    this.#pending.set(id, { sinceMs, triedAtMs: atMs, untilMs, answeredAtMs: atMs, known });
    return true;
  }

  /**
   * Lets nodes qualify whose signals began or ended. The inventory can miss a repair of some minutes, so the proof is required when the
   * signal begins, and again when it ends, because a suite can pass before the repair. A suite that runs meanwhile is followed by
   * another one. A command that is rejected is repeated in the next look.
   */
  async #requireProofs(executor: ExecutorId, actor: string): Promise<void> {
    if (this.#owed.size === 0) return;
    const settled = await this.#parts.driver.read(({ state }) =>
      [...this.#owed].flatMap(([nodeId, change]) => {
        const node = state.nodes.get(nodeId);
        const pool = node === undefined ? undefined : state.pools.get(node.pool);
        const phase = node?.qualification?.phase;
        if (pool?.executor !== executor || phase === "running") return [];
        const isOut = phase === "waiting" || (phase === "failed" && change === "began");
        return [{ nodeId, isDue: pool.qualification !== undefined && !isOut }];
      }),
    );
    for (const { nodeId, isDue } of settled.slice(0, NODES_MAX)) {
      if (isDue) await this.#parts.driver.command({ kind: "qualifyNode", nodeId, actor, idempotencyKey: null });
      this.#owed.delete(nodeId);
    }
  }

  #openFailures(): ReadonlyMap<string, OpenFailure> {
    const open = new Map<string, OpenFailure>();
    for (const incident of this.#parts.incidents.fold.incidents())
      for (const failure of incident.failures)
        if (failure.node !== "" && failure.backAtMs === null) open.set(failure.node, { failure, incident });
    return open;
  }

  /** Notes what is there and whether it asks for a proof, and forgets what has been missing for some looks. */
  #note(nodeId: NodeId, now: readonly NodeSignal[], { isDrained, before }: Circumstances): void {
    const known = this.#known.get(nodeId) ?? new Map<string, KnownSignal>();
    const codes = new Set(now.map(({ code }) => code));
    for (const [code, each] of known) {
      each.misses = codes.has(code) ? 0 : each.misses + 1;
      if (each.misses < MISSES_MAX) continue;
      known.delete(code);
      if (each.isWithdrawal) this.#owed.set(nodeId, "ended");
    }
    for (const signal of now) {
      const { code } = signal;
      if (known.has(code)) continue;
      const isOut = isWithdrawal(signal, isDrained);
      known.set(code, { misses: 0, isWithdrawal: isOut, reportedAt: null });
      if (isOut && !before.includes(code) && !this.#owed.has(nodeId)) this.#owed.set(nodeId, "began");
    }
    if (known.size > 0) this.#known.set(nodeId, known);
    else this.#known.delete(nodeId);
  }

  /** Reports new signals, and critical ones whose failure ended although they are still there. Returns whether there were any. */
  async #report(
    nodeId: NodeId,
    {
      now,
      actor,
      failure,
    }: { readonly now: readonly NodeSignal[]; readonly actor: string; readonly failure: Failure | undefined },
  ): Promise<boolean> {
    const known = this.#known.get(nodeId);
    const due = now.filter(({ code, severity }) => {
      if (failure?.codes.includes(code) === true) return false;
      const reportedAt = known?.get(code)?.reportedAt ?? null;
      return reportedAt === null || (severity === "critical" && this.#look - reportedAt > PATIENCE);
    });
    if (due.length === 0) return false;
    const faults = due.map(({ code, severity, detail }): NodeFault => ({ code, severity, detail }));
    await this.#parts.driver.command({ kind: "reportFaults", nodeId, faults, actor, idempotencyKey: null });
    for (const { code } of due) {
      const each = known?.get(code);
      if (each !== undefined) each.reportedAt = this.#look;
    }
    return true;
  }

  /**
   * A loss ends when the node is back, and faults of other sources end when a person says so. An incident of several nodes
   * ends with the signals of the last one, if all of them are of this executor.
   */
  async #resolve(
    found: OpenFailure | undefined,
    {
      nodes,
      open,
      actor,
    }: { readonly nodes: ReadonlySet<NodeId>; readonly open: ReadonlyMap<string, OpenFailure>; readonly actor: string },
  ): Promise<boolean> {
    if (found === undefined || this.#resolvedAt.has(found.incident.id)) return false;
    const left = found.incident.failures.filter(
      ({ node, backAtMs }) => open.get(node)?.incident.id === found.incident.id && backAtMs === null,
    );
    const haveEnded = left.every(
      ({ node, isLost, codes }) =>
        node !== "" &&
        nodes.has(node) &&
        !isLost &&
        codes.length > 0 &&
        codes.every((code) => OWN_CODE.test(code) && this.#known.get(node)?.has(code) !== true),
    );
    // After a start, signals that are missing from the first answers may only be late.
    if (!haveEnded || this.#look <= MISSES_MAX) return false;
    this.#resolvedAt.set(found.incident.id, this.#look);
    const annotation = { kind: "resolve" } as const;
    const incident = found.incident.id;
    await this.#parts.driver.command({ kind: "annotateIncident", incident, annotation, actor, idempotencyKey: null });
    return true;
  }
}

interface OwnNodes {
  readonly nodes: ReadonlySet<NodeId>;
  readonly drained: ReadonlySet<NodeId>;
}

/** The resume of a drain of the control plane requires the proof; executors can pass such drains on to their clusters. */
const isWithdrawal = ({ code, severity }: NodeSignal, isDrained: boolean): boolean =>
  severity === "critical" || (!isDrained && WITHDRAWN_CODE.test(code));

const timeText = (atMs: number): string => new Date(atMs).toISOString().slice(0, 19) + "Z";

/** The newest signal of each code, oldest first: a node that flaps for weeks has thousands. */
const newestOf = (signals: readonly PastNodeSignal[]): readonly PastNodeSignal[] =>
  [...Map.groupBy(signals, ({ code }) => code).values()]
    .flatMap((own) => own.toSorted((left, right) => left.endedAtMs - right.endedAtMs).slice(-1))
    .toSorted((left, right) => left.endedAtMs - right.endedAtMs)
    .slice(-NODE_SIGNALS_MAX);

function pastFault({ code, severity, detail, endedAtMs }: PastNodeSignal): NodeFault {
  const was = severity === "critical" ? "it was critical and ended" : "it ended";
  const text = `${detail}; ${was} at ${timeText(endedAtMs)}, while nobody looked`;
  return { code, severity: severity === "info" ? "info" : "warning", detail: text };
}
