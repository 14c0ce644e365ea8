/** Messages about metric sources between the control plane and the telemetry thread. */
import type { MetricSource, MetricTarget } from "@headroom/metrics";

/** A source as the thread reads it. */
export interface ReadSource {
  readonly declaration: MetricSource;
  /** The bearer token; `null`: none. */
  readonly token: string | null;
}

export interface TargetPlan {
  readonly sources: readonly ReadSource[];
  readonly targets: readonly MetricTarget[];
  /** Nodes of the fleet. Samples about others are not recorded. */
  readonly nodes: ReadonlySet<string>;
  readonly endpoints: readonly PlannedEndpoint[];
}

/** An endpoint that has not ended. */
export interface PlannedEndpoint {
  /** Id of the workload. */
  readonly id: string;
  /** `TEAM/NAME`. */
  readonly name: string;
  /** Names of the values that its number of replicas follows. */
  readonly follows: readonly string[];
}

/** One value of an endpoint that follows it, as a source read it last. */
export interface FollowedValue {
  readonly endpoint: string;
  readonly source: string;
  readonly name: string;
  /** NaN: the answer had several values. */
  readonly value: number;
  /** Mean over replicas; absent: it was read about the endpoint as a whole. */
  readonly mean?: number;
  readonly atMs: number;
  readonly everyMs: number;
  /** Number of replicas that it was read from; `null`: it was read about the endpoint as a whole. */
  readonly replicas: number | null;
}

/** Numbers of targets by source and state. */
export type TargetCounts = readonly (readonly [key: string, count: number])[];

export const targetCountKey = (source: string, state: TargetState["state"]): string => `${source} ${state}`;

export interface TargetState {
  readonly target: MetricTarget;
  /** `waiting`: it was not read yet. */
  readonly state: "waiting" | "up" | "silent";
  /** Since when the target has the state, in ms. */
  readonly sinceMs: number;
  /** Time in ms of the last reading that succeeded; `null`: there was none. */
  readonly readAtMs: number | null;
  readonly durationMs: number | null;
  /** Samples of the last reading, and those of them that became values of a subject. */
  readonly sampleCount: number;
  readonly valueCount: number;
  /** Why the target is silent, the first line or the past period that could not be read; `null`: there is no problem. */
  readonly problem: string | null;
}
