/**
 * When requests of a pool go to another pool because its own replicas are saturated, and which requests may. The policy stands
 * in the pool's configuration, or in the document of the endpoint that the pool follows; the document comes first.
 */
import { z } from "zod";

/** Stands in `dataRules` for requests without a data rule. */
export const UNMARKED = "unmarked";

export interface OverflowPolicy {
  /** Subject of counters, budget and usage rows: `TEAM/NAME` of the endpoint, or the pool's name. */
  readonly name: string;
  /** Where requests go: a pool, or one of a set of this name, or every pool that follows the endpoint `TEAM/NAME`. */
  readonly target: { readonly pool: string } | { readonly endpoint: string };
  /** Estimated wait in the queues of the replicas from which requests leave. */
  readonly queueTimeMs?: number | undefined;
  /** Requests in progress for each replica that takes requests, from which requests leave. */
  readonly concurrency?: number | undefined;
  readonly budget?: { readonly nanoUsd: number; readonly period: "day" | "month" } | undefined;
  /** Data rules of requests that may leave. */
  readonly dataRules: readonly string[];
}

/** `noReplica`: none takes requests. `failed`: the own replicas failed. The others are conditions of the policy. */
export const overflowReasons = ["noReplica", "queueTime", "concurrency", "failed"] as const;
export type OverflowReason = (typeof overflowReasons)[number];

/** Why a request stayed although the own replicas were saturated. */
export const stayReasons = ["dataRule", "budget", "price", "target"] as const;
export type StayReason = (typeof stayReasons)[number];

/** The policy as the control plane lists it with the endpoint. */
export const listedOverflow = z.object({
  provider: z.string().max(300).optional(),
  endpoint: z.string().max(300).optional(),
  queueTimeMs: z.int().min(1).optional(),
  concurrencyMilli: z.int().min(1).optional(),
  budget: z.object({ microUsd: z.int().min(0), period: z.enum(["day", "month"]) }).optional(),
  dataRules: z.array(z.string().max(300)).max(100).default([UNMARKED]),
});

/** `unreadable`: the document has an overflow that this release does not understand. */
export const followedOverflow = z.union([listedOverflow, z.literal("unreadable")]).nullable();

export type FollowedOverflow = z.output<typeof followedOverflow>;

/** `undefined`: the list names no target, or is not understood, so that nothing leaves. */
export function policyOf(name: string, listed: NonNullable<FollowedOverflow>): OverflowPolicy | undefined {
  if (listed === "unreadable") return undefined;
  const { provider, endpoint, queueTimeMs, concurrencyMilli, budget, dataRules } = listed;
  const target = provider === undefined ? (endpoint === undefined ? undefined : { endpoint }) : { pool: provider };
  if (target === undefined) return undefined;
  return {
    name,
    target,
    queueTimeMs,
    concurrency: concurrencyMilli === undefined ? undefined : concurrencyMilli / 1000,
    budget: budget === undefined ? undefined : { nanoUsd: budget.microUsd * 1000, period: budget.period },
    dataRules,
  };
}

/** The rules of a request: those of its caller, and those that the header `x-headroom-data-rule` adds. */
export function dataRulesOf(
  { dataRules }: { readonly dataRules: readonly string[] },
  headers: ReadonlyMap<string, string> | undefined,
): readonly string[] {
  const stated = headers?.get("x-headroom-data-rule")?.trim() ?? "";
  return stated === "" ? dataRules : [...dataRules, ...stated.split(",").map((rule) => rule.trim())];
}

/** Whether requests with these rules may leave: every rule must be listed, and requests without a rule must be. */
export function mayLeave({ dataRules }: Pick<OverflowPolicy, "dataRules">, rules: readonly string[]): boolean {
  return rules.length === 0 ? dataRules.includes(UNMARKED) : rules.every((rule) => dataRules.includes(rule));
}
