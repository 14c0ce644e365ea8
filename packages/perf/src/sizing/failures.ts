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

/** One job on part of a fleet, and what is known of the fleet's failures. Times in seconds. */
export interface FailureSizing {
  /** Nodes of the job. */
  readonly nodeCount: number;
  readonly acceleratorsPerNode: number;
  readonly perThousandNodeDays: number;
  /** Failures of the job per day that belong to no node: user code, quotas, preemption by hand. */
  readonly otherPerDay: number;
  readonly restartSeconds: number;
  /** For how long one checkpoint stops the job. */
  readonly stallSeconds: number;
  /** Between checkpoints; undefined: the best one. */
  readonly intervalSeconds?: number | undefined;
  /** Share of the time lost to ranks that are slower than the others, beyond what the step time already holds. */
  readonly stragglerShare: number;
  readonly repairHours: number;
  readonly spareCoverage: number;
  readonly burstiness: number;
  /** Where the job runs; undefined: on a fleet of its own size. */
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
  /** Meta's linear form at the chosen interval, for comparison with published figures. */
  readonly ettrLinear: number;
  /** ETTR × (1 − stragglers): share of the time of an undisturbed run that becomes tokens. */
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
