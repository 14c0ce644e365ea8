/** A failure domain: a node, a rack, a switch, a power feed, a storage shelf. */
export interface FailureDomain {
  readonly name: string;
  readonly nodeCount: number;
  /** Failures of one such domain per 1,000 days; `undefined`: only the size of a loss is needed. */
  readonly perThousandDays?: number;
}

/** Jobs of one kind in the fleet. A job is a gang: it stops when any of its nodes fails. */
export interface RunningJobs {
  readonly name: string;
  readonly jobCount: number;
  readonly nodesPerJob: number;
  readonly acceleratorsPerNode: number;
  readonly intervalSeconds: number;
  readonly restartSeconds: number;
}

export interface DomainLoss {
  readonly domain: string;
  /** Mean number of jobs that one failure of a domain stops. */
  readonly jobsStopped: number;
  /**
   * Accelerator-hours lost by one failure: for every stopped job, half a checkpoint interval of repeated work and a
   * restart.
   */
  readonly acceleratorHours: number;
  readonly acceleratorHoursPerYear: number | undefined;
}

export interface Fleet {
  readonly nodeCount: number;
  /** `packed`: nodes of a job are adjacent, like those of a domain; `scattered`: they lie anywhere. */
  readonly placement: "packed" | "scattered";
}

/** Loss when one domain fails, and loss per year over all such domains of the fleet. */
export function domainLoss(fleet: Fleet, jobs: readonly RunningJobs[], domain: FailureDomain): DomainLoss {
  const size = Math.min(domain.nodeCount, fleet.nodeCount);
  let jobsStopped = 0;
  let acceleratorSeconds = 0;
  for (const job of jobs) {
    const stopped = job.jobCount * touchedShare(fleet, Math.min(job.nodesPerJob, fleet.nodeCount), size);
    const accelerators = job.nodesPerJob * job.acceleratorsPerNode;
    jobsStopped += stopped;
    acceleratorSeconds += stopped * accelerators * (job.intervalSeconds / 2 + job.restartSeconds);
  }
  const acceleratorHours = acceleratorSeconds / 3600;
  const rate = domain.perThousandDays;
  const perYear = rate === undefined ? undefined : ((rate * 365) / 1000) * (fleet.nodeCount / size) * acceleratorHours;
  return { domain: domain.name, jobsStopped, acceleratorHours, acceleratorHoursPerYear: perYear };
}

/** Probability that a domain of `size` nodes contains a node of a job of `nodes` nodes. */
function touchedShare(fleet: Fleet, nodes: number, size: number): number {
  const total = fleet.nodeCount;
  if (fleet.placement === "packed") return Math.min(1, (nodes + size - 1) / total);
  // 1 − C(total − nodes, size) ÷ C(total, size): one minus the probability that the domain contains none of the job's
  // nodes. The formula is symmetric in both numbers, so the loop runs over the smaller one.
  const few = Math.min(size, nodes);
  const many = Math.max(size, nodes);
  let spared = 1;
  for (let index = 0; index < few && spared > 0; index += 1)
    spared *= Math.max(0, total - many - index) / (total - index);
  return 1 - spared;
}
