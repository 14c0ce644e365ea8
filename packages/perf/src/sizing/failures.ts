import {
  availabilityInterval,
  bestInterval,
  dalyInterval,
  ettrLinear,
  goodputAt,
  youngInterval,
  type Goodput,
} from "../failures/checkpoint-interval.ts";
import { domainLoss, type DomainLoss, type Fleet } from "../failures/domains.ts";
import { jobMttfSeconds } from "../failures/rates.ts";
import { spareNodes, type SpareAnswer } from "../failures/spares.ts";

/** One job on a part of a fleet, with the failure rates of the fleet. Times are in seconds. */
export interface FailureSizing {
  /** Number of nodes of the job. */
  readonly nodeCount: number;
  readonly acceleratorsPerNode: number;
  readonly perThousandNodeDays: number;
  /** Failures of the job per day that no node causes: user code, quotas, manual preemption. */
  readonly otherPerDay: number;
  readonly restartSeconds: number;
  /** Time in seconds for which one checkpoint stops the job. */
  readonly stallSeconds: number;
  /** Checkpoint interval in seconds. If `undefined`, the best interval is used. */
  readonly intervalSeconds?: number | undefined;
  /** Share of time lost because some ranks are slower than others, beyond what the step time already includes. */
  readonly stragglerShare: number;
  readonly repairHours: number;
  readonly spareCoverage: number;
  readonly burstiness: number;
  /** The fleet on which the job runs. If `undefined`, the fleet has the size of the job. */
  readonly fleet?: Fleet | undefined;
  readonly domains: readonly { readonly name: string; readonly nodeCount: number }[];
}

export interface FailureReport {
  readonly mttfSeconds: number;
  readonly failuresPerDay: number;
  readonly intervals: {
    readonly young: number;
    readonly daly: number;
    readonly availability: number;
    readonly best: number;
  };
  readonly chosen: Goodput;
  /**
   * ETTR (expected share of time in which the job makes progress) at the chosen interval by Meta's linear form, for
   * comparison with published figures.
   */
  readonly ettrLinear: number;
  /**
   * Throughput with failures and slow ranks, as a share of the throughput of an undisturbed run: ETTR × (1 − share lost
   * to slow ranks).
   */
  readonly goodputShare: number;
  readonly spares: SpareAnswer;
  readonly domainLosses: readonly DomainLoss[];
}

export function sizeFailures(request: FailureSizing): FailureReport {
  const { nodeCount, perThousandNodeDays, otherPerDay, restartSeconds, stallSeconds, repairHours } = request;
  const mttfSeconds = jobMttfSeconds(nodeCount, perThousandNodeDays, otherPerDay);
  const cost = { mttfSeconds, restartSeconds, stallSeconds };
  const intervals = {
    young: youngInterval(cost),
    daly: dalyInterval(cost),
    availability: availabilityInterval(cost),
    best: bestInterval(cost),
  };
  const chosen = goodputAt(cost, request.intervalSeconds ?? intervals.best);
  const fleet: Fleet = {
    nodeCount: Math.max(nodeCount, request.fleet?.nodeCount ?? nodeCount),
    placement: request.fleet?.placement ?? "packed",
  };
  const job = {
    name: "job",
    jobCount: 1,
    nodesPerJob: nodeCount,
    acceleratorsPerNode: request.acceleratorsPerNode,
    intervalSeconds: chosen.intervalSeconds,
    restartSeconds,
  };
  return {
    mttfSeconds,
    failuresPerDay: 86_400 / mttfSeconds,
    intervals,
    chosen,
    ettrLinear: ettrLinear(cost, chosen.intervalSeconds),
    goodputShare: chosen.ettr * (1 - request.stragglerShare),
    spares: spareNodes({
      nodeCount,
      perThousandNodeDays,
      repairHours,
      coverage: request.spareCoverage,
      burstiness: request.burstiness,
    }),
    domainLosses: request.domains.map((domain) => domainLoss(fleet, [job], domain)),
  };
}
