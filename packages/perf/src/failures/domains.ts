/** A failure domain, for example a node, a rack, a switch, a power feed or a storage shelf. */
export interface FailureDomain {
  readonly name: string;
  readonly nodeCount: number;
  /**
   * Number of failures of one such domain in 1,000 days. It can be `undefined` if only the loss from a single failure
   * is needed.
   */
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
   * Accelerator-hours lost by one failure. Each stopped job loses a restart and half a checkpoint interval of repeated
   * work.
   */
  readonly acceleratorHours: number;
  readonly acceleratorHoursPerYear: number | undefined;
}

export interface Fleet {
  readonly nodeCount: number;
  /**
   * `packed`: the nodes of a job are adjacent, like the nodes of a domain. `scattered`: the nodes of a job can be
   * anywhere in the fleet.
   */
  readonly placement: "packed" | "scattered";
}

/** Loss from one failure of a domain, and loss in a year from failures of all such domains of the fleet. */
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

/** Probability that a domain of `size` nodes contains at least one node of a job with `nodes` nodes. */
function touchedShare(fleet: Fleet, nodes: number, size: number): number {
  const total = fleet.nodeCount;
  if (fleet.placement === "packed") return Math.min(1, (nodes + size - 1) / total);
  // The probability is 1 − C(total − nodes, size) ÷ C(total, size): one minus the probability that the domain contains
  // no node of the job. The formula is symmetric in the two numbers of nodes, so the loop runs over the smaller number.
  const few = Math.min(size, nodes);
  const many = Math.max(size, nodes);
  let spared = 1;
  for (let index = 0; index < few && spared > 0; index += 1)
    spared *= Math.max(0, total - many - index) / (total - index);
  return 1 - spared;
}
