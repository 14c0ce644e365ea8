/**
 * Results of qualification tests: what other suites measured on a node, and whether the node does as its peers do. Everything here is
 * pure. `read-results.ts` finds out which suite a file is from; `peer-verdicts.ts` compares the nodes.
 */

export type Verdict = "pass" | "fail" | "warn" | "skip" | "unknown";

export interface Measurement {
  readonly node: string;
  readonly test: string;
  /** Null: the test has no figure. */
  readonly value: number | null;
  readonly unit: string | null;
  /** The suite's own verdict; null: the suite only measures. */
  readonly verdict: Verdict | null;
  readonly source: "nccl-tests" | "superbench" | "dcgm" | "suite";
  /** The suite's message about a failure. */
  readonly detail?: string;
  /** A fact instead of a figure, such as the layout of links. It passes if most nodes state the same. */
  readonly text?: string;
  /** The verdict where the fact differs. Absent: `fail`. */
  readonly differs?: "fail" | "warn";
}

/** An object's own value; names such as `__proto__` in the input reach no prototype. */
export function own(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[key];
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}
