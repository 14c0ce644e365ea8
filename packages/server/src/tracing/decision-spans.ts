/**
 * Spans of decisions and attempts, from the events of the journal: one trace for each workload, from its submission to its end. Ids
 * follow from the workload, so that spans before and after a restart are of one trace.
 * https://opentelemetry.io/docs/specs/otel/trace/api/
 */
import { createHash } from "node:crypto";
import type { AttemptEvent, AttemptId, Event, Workload } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";

/** A span without its form in the protocol of the exporter. */
export interface DecisionSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Empty: the span is the root of its trace. */
  readonly parentId: string;
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly attributes: Readonly<Record<string, string | number>>;
  /** `null`: the span describes neither a success nor a failure. */
  readonly failure: string | null;
}

/** Attempts whose end is awaited. Later ones have no spans. */
const ATTEMPTS_MAX = 200_000;
const NODES_SHOWN_MAX = 32;

interface OpenAttempt {
  readonly workload: WorkloadFacts;
  readonly task: string;
  readonly number: number;
  readonly placedAtMs: number;
  startedAtMs: number | null;
}

interface WorkloadFacts {
  readonly traceId: string;
  readonly rootId: string;
  readonly attributes: Readonly<Record<string, string>>;
}

type Placed = Extract<AttemptEvent, { kind: "gangPlaced" }>;
type Ended = Extract<AttemptEvent, { kind: "attemptEnded" }>;

const hexOf = (text: string, digits: number): string =>
  createHash("sha256").update(text).digest("hex").slice(0, digits);

export class DecisionSpans {
  readonly #share: number;
  readonly #open = new Map<AttemptId, OpenAttempt>();
  /** Time of the last end of a task that runs again, by workload and task. */
  readonly #lastEnds = new Map<string, number>();

  /** `share`: of the workloads that have spans, from 0 to 1. The same workloads are chosen after a restart. */
  constructor(share: number) {
    this.#share = share;
  }

  /** Takes over attempts that were placed before this process started. */
  adopt({ attempts, workloads }: ReadonlyState): void {
    for (const { id, workloadId, task, number, placedAtMs, startedAtMs } of attempts.values()) {
      const workload = this.#factsOf(workloads.get(workloadId));
      if (workload !== null && this.#open.size < ATTEMPTS_MAX)
        this.#open.set(id, { workload, task: `${workloadId} ${task}`, number, placedAtMs, startedAtMs });
    }
  }

  /** The trace that the event belongs to, before its spans are made; `null`: none. */
  traceIdOf(event: Event, { workloads }: ReadonlyState): string | null {
    if ("attemptId" in event && typeof event.attemptId === "string") {
      const open = this.#open.get(event.attemptId);
      if (open !== undefined) return open.workload.traceId;
    }
    if (!("workloadId" in event) || typeof event.workloadId !== "string") return null;
    return this.#factsOf(workloads.get(event.workloadId))?.traceId ?? null;
  }

  /** Spans that end with the event. `state` is the state after it, or a later one. */
  spansOf(event: Event, { workloads }: ReadonlyState): readonly DecisionSpan[] {
    switch (event.kind) {
      case "gangPlaced":
        return this.#placed(event, workloads.get(event.workloadId));
      case "attemptStarted": {
        const open = this.#open.get(event.attemptId);
        if (open !== undefined) open.startedAtMs = event.atMs;
        return [];
      }
      case "attemptEnded":
        return this.#ended(event);
      case "workloadEnded": {
        const workload = workloads.get(event.workloadId);
        const facts = this.#factsOf(workload);
        if (workload === undefined || facts === null) return [];
        const span = {
          name: `workload ${workload.spec.name ?? workload.id}`,
          fromMs: workload.submittedAtMs,
          toMs: event.atMs,
        };
        const failure = event.phase === "succeeded" ? null : event.phase;
        return [{ ...facts, spanId: facts.rootId, parentId: "", ...span, failure }];
      }
      default:
        return [];
    }
  }

  #placed(
    { attemptId, workloadId, task, number, atMs, workers }: Placed,
    known: Workload | undefined,
  ): readonly DecisionSpan[] {
    const workload = this.#factsOf(known);
    if (workload === null || known === undefined) return [];
    const key = `${workloadId} ${task}`;
    const fromMs = number === 1 ? known.submittedAtMs : this.#lastEnds.get(key);
    this.#lastEnds.delete(key);
    if (this.#open.size < ATTEMPTS_MAX)
      this.#open.set(attemptId, { workload, task: key, number, placedAtMs: atMs, startedAtMs: null });
    if (fromMs === undefined) return [];
    const nodes = [...new Set(workers.map(({ node }) => node))].slice(0, NODES_SHOWN_MAX).join(",");
    const { traceId, rootId } = workload;
    const attributes = { ...workload.attributes, "headroom.attempt.id": attemptId, "headroom.nodes": nodes };
    return [
      {
        traceId,
        spanId: hexOf(`${traceId} ${attemptId} queue`, 16),
        parentId: rootId,
        name: "queue",
        fromMs,
        toMs: atMs,
        attributes: { ...attributes, "headroom.workers": workers.length },
        failure: null,
      },
    ];
  }

  #ended({ attemptId, atMs, outcome, detail, retryAtMs }: Ended): readonly DecisionSpan[] {
    const open = this.#open.get(attemptId);
    if (open === undefined) return [];
    this.#open.delete(attemptId);
    const { workload, number, placedAtMs, startedAtMs } = open;
    const { traceId, rootId } = workload;
    if (retryAtMs !== null) {
      // Tasks that were stopped while they waited for a retry are never placed again: the oldest go.
      for (const oldest of this.#lastEnds.keys()) {
        if (this.#lastEnds.size < ATTEMPTS_MAX) break;
        this.#lastEnds.delete(oldest);
      }
      this.#lastEnds.set(open.task, atMs);
    }
    const attributes = { ...workload.attributes, "headroom.attempt.id": attemptId, "headroom.attempt.number": number };
    const outcomeText = typeof outcome === "string" ? outcome : JSON.stringify(outcome);
    const failure = outcomeText === "succeeded" ? null : detail === "" ? outcomeText : `${outcomeText}: ${detail}`;
    const spanId = hexOf(`${traceId} ${attemptId}`, 16);
    const child = (name: string, fromMs: number, toMs: number): DecisionSpan => ({
      traceId,
      spanId: hexOf(`${traceId} ${attemptId} ${name}`, 16),
      parentId: spanId,
      name,
      fromMs,
      toMs,
      attributes,
      failure: null,
    });
    const whole = { traceId, spanId, parentId: rootId, name: `attempt ${number}`, fromMs: placedAtMs, toMs: atMs };
    const parts = [child("launch", placedAtMs, startedAtMs ?? atMs)];
    if (startedAtMs !== null) parts.push(child("run", startedAtMs, atMs));
    return [{ ...whole, attributes: { ...attributes, "headroom.outcome": outcomeText }, failure }, ...parts];
  }

  /** `null`: the workload is not known, or not sampled. */
  #factsOf(workload: Workload | undefined): WorkloadFacts | null {
    if (workload === undefined) return null;
    const { id, spec, submittedAtMs } = workload;
    const traceId = hexOf(`${id} ${submittedAtMs} ${spec.team}`, 32);
    if (Number.parseInt(traceId.slice(0, 8), 16) / 2 ** 32 >= this.#share) return null;
    const attributes = { "headroom.workload.id": id, "headroom.team": spec.team, "headroom.kind": spec.kind };
    return { traceId, rootId: hexOf(`${traceId} workload`, 16), attributes };
  }
}
