/** Readings of both revisions of an endpoint during a rollout, added over gateways. */
import type { Moments, RevisionReading } from "@headroom/autoscale";
import type { Rollout } from "@headroom/model";
import type { LoadReport, RolloutReading } from "@headroom/protocol";

export interface RolloutReadings {
  readonly canary: RevisionReading;
  readonly baseline: RevisionReading;
}

/**
 * `null`: no gateway has reported about this rollout. A gateway that is silent may have seen an earlier rollout with the
 * same number, which was rolled back.
 */
export function rolloutReadings(
  reports: readonly LoadReport[],
  { number, startedAtMs }: Pick<Rollout, "number" | "startedAtMs">,
): RolloutReadings | null {
  const readings = reports.flatMap(({ rollout }) =>
    rollout?.number === number && rollout.startedAtMs === startedAtMs ? [rollout] : [],
  );
  if (readings.length === 0) return null;
  return {
    canary: added(readings.map(({ canary }) => canary)),
    baseline: added(readings.map(({ baseline }) => baseline)),
  };
}

type Reported = RolloutReading["canary"];

const added = (readings: readonly Reported[]): RevisionReading => ({
  requests: readings.reduce((sum, { requests }) => sum + requests, 0),
  // A report in which more requests failed than ended is a mistake of its gateway.
  errors: readings.reduce((sum, { requests, errors }) => sum + Math.min(requests, errors), 0),
  ttft: addedStrata(readings.map(({ ttft }) => ttft)),
  tpot: addedStrata(readings.map(({ tpot }) => tpot)),
});

function addedStrata(readings: readonly Reported["ttft"][]): ReadonlyMap<number, Moments> {
  const strata = new Map<number, Moments>();
  for (const [stratum, count, sum, sumOfSquares] of readings.flat()) {
    if (count === 0) continue;
    const before = strata.get(stratum) ?? { count: 0, sum: 0, sumOfSquares: 0 };
    strata.set(stratum, {
      count: before.count + count,
      sum: before.sum + sum,
      sumOfSquares: before.sumOfSquares + sumOfSquares,
    });
  }
  return strata;
}
