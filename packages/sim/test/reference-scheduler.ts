/**
 * An independent implementation of the three policies on a pool without topology, written from the published rules with
 * plain arrays. The rules say: "At one timestamp: all completions, then arrivals in file order, then one dispatch pass.
 * fifo and sjf block at their head; fifo and fifo-skip order by submission, then file order; sjf by duration, then
 * submission, then file order; fifo-skip starts anything that fits, in order, without reservations. Jobs with duration
 * 0 or no GPU are left out, jobs larger than the pool rejected; means are over the jobs kept, rounded half up to one
 * decimal."
 */
export interface ReferenceJob {
  readonly submittedS: number;
  readonly durationS: number;
  readonly gpus: number;
}

export interface ReferenceRow {
  readonly jobs: number;
  readonly rejected_larger_than_pool: number;
  readonly mean_wait_s: number;
  readonly mean_completion_s: number;
  readonly max_wait_s: number;
  readonly utilisation: number;
}

interface Tracked extends ReferenceJob {
  readonly row: number;
  startS: number;
}

export function referenceSchedule(file: readonly ReferenceJob[], gpus: number, policy: string): ReferenceRow {
  const real = file
    .map((job, row): Tracked => ({ ...job, row, startS: -1 }))
    .filter((job) => job.durationS > 0 && job.gpus > 0);
  const kept = real.filter((job) => job.gpus <= gpus);
  const byArrival = kept.toSorted((a, b) => a.submittedS - b.submittedS || a.row - b.row);
  let running: Tracked[] = [];
  let waiting: Tracked[] = [];
  let arrived = 0;
  while (arrived < byArrival.length || running.length > 0) {
    const instants = running.map((job) => job.startS + job.durationS);
    if (arrived < byArrival.length) instants.push(byArrival[arrived]!.submittedS);
    const now = Math.min(...instants);
    running = running.filter((job) => job.startS + job.durationS > now);
    while (byArrival[arrived]?.submittedS === now) waiting.push(byArrival[arrived++]!);
    if (policy === "sjf") {
      waiting.sort((a, b) => a.durationS - b.durationS || a.submittedS - b.submittedS || a.row - b.row);
    }
    let free = gpus - running.reduce((sum, job) => sum + job.gpus, 0);
    const left: Tracked[] = [];
    for (const job of waiting) {
      const isBlocked = policy !== "fifo-skip" && left.length > 0;
      if (isBlocked || job.gpus > free) left.push(job);
      else {
        job.startS = now;
        free -= job.gpus;
        running.push(job);
      }
    }
    waiting = left;
  }
  return row(kept, real.length - kept.length, gpus);
}

function row(kept: readonly Tracked[], rejected: number, gpus: number): ReferenceRow {
  const waits = kept.map((job) => job.startS - job.submittedS);
  const completions = kept.map((job) => job.startS + job.durationS - job.submittedS);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  const halfUp = (numerator: number, denominator: number): number =>
    denominator === 0 ? 0 : Math.floor((2 * numerator + denominator) / (2 * denominator));
  const busy = sum(kept.map((job) => job.gpus * job.durationS));
  const spanS =
    Math.max(0, ...kept.map((job) => job.startS + job.durationS)) - Math.min(...kept.map((job) => job.submittedS));
  return {
    jobs: kept.length,
    rejected_larger_than_pool: rejected,
    mean_wait_s: halfUp(10 * sum(waits), kept.length) / 10,
    mean_completion_s: halfUp(10 * sum(completions), kept.length) / 10,
    max_wait_s: Math.max(0, ...waits),
    utilisation: kept.length === 0 ? 0 : halfUp(10_000 * busy, gpus * spanS) / 10_000,
  };
}
