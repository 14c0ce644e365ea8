/**
 * Which accelerator type new replicas of an endpoint take: the cheapest one that is fast enough for the targets, and whose
 * replicas are as many as the load lacks. Times come from the endpoint's own requests, as gateways report them; those of
 * a type that has not served yet are predicted from the datasheets of both types.
 */
import { acceptedTypes } from "@headroom/model";
import type { Pool, ScaleTargets, WorkloadSpec } from "@headroom/model";
import { findAccelerator } from "@headroom/perf";
import type { ReplicaTimes, TypeFigures } from "@headroom/protocol";

/** An accepted accelerator type, or a family of them, with the lowest declared price of one accelerator in its pools; 0: none has a price. */
export interface TypeOffer {
  readonly type: string;
  /** The types of these pools: several for a family. */
  readonly poolTypes: readonly string[];
  readonly microUsdPerHour: number;
}

/** Types that the workload accepts and pools have, in its order; none: there is nothing to choose. */
export function typeOffers(spec: WorkloadSpec, pools: Iterable<Pool>): readonly TypeOffer[] {
  const accepted = spec.gang.taskGroups === undefined ? acceptedTypes(spec) : [];
  if (accepted.length < 2) return [];
  const all = [...pools];
  const offers = accepted.flatMap((type) => {
    const own = all.filter((pool) => pool.acceleratorType === type || pool.acceleratorFamily === type);
    const prices = own.map(({ priceMicroUsdPerHour }) => priceMicroUsdPerHour).filter((price) => price > 0);
    const microUsdPerHour = prices.length === 0 ? 0 : Math.min(...prices);
    const poolTypes = [...new Set(own.map(({ acceleratorType }) => acceleratorType))];
    return own.length === 0 ? [] : [{ type, poolTypes, microUsdPerHour }];
  });
  return offers.length < 2 ? [] : offers;
}

/** A replica that takes requests. */
export interface ServingReplica {
  readonly acceleratorType: string;
  /** `null`: gateways have not measured it. */
  readonly times: ReplicaTimes | null;
}

/** Replicas that the load lacks, in replicas as fast as the present ones are on the mean, and those that will be added. */
export interface Lack {
  readonly replicas: number;
  readonly added: number;
}

interface Needed {
  readonly targets: ScaleTargets;
  readonly lack: Lack;
  /** Types that are turned away for failed starts, also if earlier replicas of them served. */
  readonly failed: readonly string[];
}

export class TypeChoice {
  readonly #times = new Map<string, ReplicaTimes>();
  /** Requests that a replica serves in a ms of its time, on the mean of those that served last. */
  #meanSpeed: number | null = null;

  learn(replicas: readonly ServingReplica[]): void {
    const byType = Map.groupBy(replicas, ({ acceleratorType }) => acceleratorType);
    for (const [type, alike] of byType) {
      const sorted = alike.flatMap(({ times }) => times ?? []).toSorted((a, b) => a.workMs - b.workMs);
      const median = sorted[Math.floor((sorted.length - 1) / 2)];
      if (median !== undefined && median.workMs > 0) this.#times.set(type, median);
    }
    const speeds = replicas.flatMap(({ acceleratorType }) => {
      const times = this.#times.get(acceleratorType);
      return times === undefined ? [] : [1 / times.workMs];
    });
    if (speeds.length > 0) this.#meanSpeed = speeds.reduce((sum, speed) => sum + speed, 0) / speeds.length;
  }

  /** The types with their figures, the one to take first at first; `null`: nothing is known of them yet. */
  order(offers: readonly TypeOffer[], { targets, lack, failed }: Needed): readonly TypeFigures[] | null {
    const meanSpeed = this.#meanSpeed;
    if (offers.length < 2 || (meanSpeed === null && failed.length === 0)) return null;
    const figures = offers.map(({ type, poolTypes, microUsdPerHour }): TypeFigures => {
      const measured = poolTypes.map((each) => this.#times.get(each)).find((each) => each !== undefined);
      const times = measured ?? this.#predicted(poolTypes);
      return {
        type,
        microUsdPerHour,
        times,
        isPredicted: measured === undefined,
        isFailing: poolTypes.some((each) => failed.includes(each)),
        isFast: times === null ? null : isWithin(times, targets),
        covers:
          times === null || meanSpeed === null
            ? null
            : lack.added / times.workMs >= lack.replicas * meanSpeed * (1 - 1e-9),
      };
    });
    // A type without a price is not free: beside one, prices say nothing.
    const isPriced = offers.every(({ microUsdPerHour }) => microUsdPerHour > 0);
    return figures.toSorted((a, b) => rankOf(a) - rankOf(b) || (isPriced ? costOf(a) - costOf(b) : 0));
  }

  /** Times by the ratios of the datasheets: prompts by arithmetic, output tokens by the bandwidth of the memory. */
  #predicted(types: readonly string[]): ReplicaTimes | null {
    const unmeasured = types.map((type) => findAccelerator(type)).find((each) => each !== undefined);
    if (unmeasured === undefined) return null;
    for (const [name, { tokenMs, promptMs, workMs }] of this.#times) {
      const known = findAccelerator(name);
      if (known === undefined) continue;
      const memory = known.memoryGbPerS / unmeasured.memoryGbPerS;
      const arithmetic = (known.denseTflops.bf16 ?? 1) / (unmeasured.denseTflops.bf16 ?? known.denseTflops.bf16 ?? 1);
      return {
        tokenMs: tokenMs * memory,
        promptMs: promptMs * arithmetic,
        workMs: promptMs * arithmetic + Math.max(0, workMs - promptMs) * memory,
      };
    }
    return null;
  }
}

/** Fast enough and as many as needed; unknown; fast enough and too few; too slow; failing. */
function rankOf({ isFailing, isFast, covers }: TypeFigures): number {
  if (isFailing) return 4;
  if (isFast === null) return 1;
  if (!isFast) return 3;
  return covers === true ? 0 : 2;
}

/** Where the added replicas are enough, the price of a replica decides; otherwise that of a request. */
const costOf = ({ microUsdPerHour, times, covers }: TypeFigures): number =>
  times === null ? 0 : microUsdPerHour * (covers === true ? 1 : times.workMs);

/** Whether a request alone is within the targets: a type that misses them without load misses them always. */
function isWithin({ tokenMs, promptMs }: ReplicaTimes, { ttft, tpot }: ScaleTargets): boolean {
  const least = (target: ScaleTargets["ttft"]): number =>
    Math.min(target?.p95Ms ?? Infinity, target?.p99Ms ?? Infinity);
  return tokenMs <= least(tpot) && promptMs <= least(ttft);
}
