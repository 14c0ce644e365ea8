/** Components that fail as a unit: a node, a rack, a switch, a power feed, a storage shelf. */
export interface FailureDomain {
  readonly name: string;
  readonly nodeCount: number;
  /** Failures of one such domain per 1,000 days; undefined if only the size of the loss is needed. */
  readonly perThousandDays?: number;
}

/** Jobs of one kind in the fleet. A job is a gang: it stops when any of its nodes does. */
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
  /** Mean number of jobs that one failure stops, over all domains. */
  readonly jobsStopped: number;
  /** Accelerator-hours lost by one failure: half an interval of repeated work and a restart, for every job it stops. */
  readonly acceleratorHours: number;
  readonly acceleratorHoursPerYear: number | undefined;
}

export interface Fleet {
  readonly nodeCount: number;
  /** `packed`: a job's nodes are adjacent, like those of a domain; `scattered`: anywhere. */
  readonly placement: "packed" | "scattered";
}

/** Loss in flight when one domain fails, and per year with as many such domains as the fleet has. */
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

/** Probability that a domain of `size` nodes holds a node of a job of `nodes` nodes. */
function touchedShare(fleet: Fleet, nodes: number, size: number): number {
  const total = fleet.nodeCount;
  if (fleet.placement === "packed") return Math.min(1, (nodes + size - 1) / total);
  // 1 − C(total − nodes, size) ÷ C(total, size): none of the domain's nodes is one of the job's.
  // Symmetric in the two, so the smaller one is counted through.
  const few = Math.min(size, nodes);
  const many = Math.max(size, nodes);
  let spared = 1;
  for (let index = 0; index < few && spared > 0; index += 1)
    spared *= Math.max(0, total - many - index) / (total - index);
  return 1 - spared;
}
