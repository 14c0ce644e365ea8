import type { Engine } from "../ready.ts";
import type { Workload } from "../model/workload.ts";

/** Waiting workloads in the order in which the policy considers them, from `offset` on; positions count from 0. */
export function queuePage(_engine: Engine, _page: { readonly offset: number; readonly limit: number }): readonly Workload[] {
  throw new Error("being written");
}

/** Totals over everything that waits, without visiting it. */
export function waitingSummary(_engine: Engine): { readonly workloads: number; readonly tasks: number; readonly accelerators: number } {
  throw new Error("being written");
}
