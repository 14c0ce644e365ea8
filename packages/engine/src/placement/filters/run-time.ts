import { plannedStagingMs } from "../../cluster/transfers.ts";
import { longestDurationMs } from "../../usage/planned-duration.ts";
import { predictedRun, predictsRuns, runKindsOf } from "../../usage/run-times.ts";
import type { Filter } from "./filter.ts";

/**
 * Keeps requests from delaying protected starts (`backfill/`). A request fits if it ends before these starts, or on
 * capacity that they do not need.
 */
export const runTime: Filter = {
  signature: ({ spec, actor }, { rules, calendar }) => {
    if (rules.backfill.protectedStarts === 0 && !calendar.hasWindows) return undefined;
    const durationMs = longestDurationMs(rules, spec);
    return predictsRuns(rules) ? `${durationMs} ${runKindsOf({ spec, actor })[0]}` : durationMs;
  },
  check: "times",
  // Events that may move the protected start.
  wakeOn: ["attemptStarted", "predictionCorrected", "storesChanged", "bytesTransferred", "nodeCacheChanged"],
  explain: (inquiry) => {
    const { request } = inquiry;
    const { rules, state } = inquiry.world;
    // Capacity that is held for ordered work is held against requests of every run time.
    const isForOrder = rules.backfill.protectedStarts === 0;
    const expectedEndMs =
      inquiry.nowMs + request.durationMs + plannedStagingMs(inquiry.world, request.spec, request.given);
    const start = inquiry.fits
      ? inquiry.protectedStartBefore(isForOrder ? Number.POSITIVE_INFINITY : expectedEndMs)
      : null;
    if (start === null) return null;
    const { workloadId, startMs } = start;
    if (isForOrder) {
      const endMs = Math.max(expectedEndMs, startMs + 1);
      return { reasons: [{ kind: "reservation", workloadId, startMs, expectedEndMs: endMs, awaitsNodes: true }] };
    }
    const prediction = predictedRun(rules, state.runTimes, request);
    const predicted = prediction === null ? {} : { prediction };
    return { reasons: [{ kind: "reservation", workloadId, startMs, expectedEndMs, ...predicted }] };
  },
};
