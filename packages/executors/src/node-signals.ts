/**
 * Signals of the system behind an executor about its nodes: drain reasons of Slurm, conditions and taints of Kubernetes.
 * Signals are present facts: one that is missing from the next answer has ended. Texts come from the cluster, where others
 * can write them, so they are shortened, and lose control characters.
 */
import type { NodeId } from "@headroom/model";

export interface NodeSignal {
  readonly nodeId: NodeId;
  /** `slurm-drain`, `k8s-disk-pressure`: the code of the fault. */
  readonly code: string;
  readonly severity: "info" | "warning" | "critical";
  /** The state and its reason, and what to do. */
  readonly detail: string;
}

/** An answer about the listed nodes. It says nothing about others. */
export interface NodeSignals {
  readonly nodes: ReadonlySet<NodeId>;
  readonly signals: readonly NodeSignal[];
}

/** A signal that began or stood in a period, and ended in it. */
export interface PastNodeSignal extends NodeSignal {
  /** Time in ms. */
  readonly endedAtMs: number;
}

export interface PastNodeSignals {
  readonly signals: readonly PastNodeSignal[];
  /** Signals of the period that the source does not keep, as a sentence. */
  readonly unknown: string;
  /** Whether a source failed that may state more later; absent: no. */
  readonly isPartial?: boolean;
}

/** A period in ms, without its begin and with its end. */
export interface UnwatchedPeriod {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Signals of one node that are read. */
export const NODE_SIGNALS_MAX = 16;
const CODE_CHARS_MAX = 60;
const DETAIL_CHARS_MAX = 200;

/** `DiskPressure`, `KernelDeadlock` or any other name as part of a code: `disk-pressure`. */
export const signalCode = (prefix: string, name: string): string =>
  `${prefix}-${
    name
      .slice(0, CODE_CHARS_MAX)
      .replaceAll(/([a-z0-9])([A-Z])/g, "$1-$2")
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, "-")
      .replaceAll(/^-+|-+$/g, "") || "unnamed"
  }`;

/** A text of the cluster, shortened and without control and format characters. */
export const clusterText = (...parts: readonly (string | null | undefined)[]): string =>
  parts
    .filter((part) => part !== undefined && part !== null && part !== "")
    .map((part) =>
      (part ?? "")
        .slice(0, 4 * DETAIL_CHARS_MAX)
        .replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ")
        .trim(),
    )
    .join(": ")
    .slice(0, DETAIL_CHARS_MAX);
