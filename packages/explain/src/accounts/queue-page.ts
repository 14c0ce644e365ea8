/** The queue in the policy's order, merged from the sorted buckets. */
import { WHOLE_MILLI, wholeParts } from "@headroom/model";
import type { WorkloadId, Workload } from "@headroom/model";
import { clockOf, waitingTaskCount } from "@headroom/engine";
import type { Engine, WorkloadEntity } from "@headroom/engine";
import { worldOf, holdReasonBy, isAtTaskLimit } from "@headroom/engine/internals";
import type { Queue, HoldReasonBy } from "@headroom/engine/internals";

export interface QueuePage {
  readonly workloads: readonly {
    /** Number of workloads ahead of this one in the policy's order. */
    readonly position: number;
    readonly workload: Workload;
  }[];
  /** The last workload that was scanned, if more workloads may follow. `null` at the end of the queue. */
  readonly nextAfter: WorkloadId | null;
}

export interface QueueQuery {
  readonly after: WorkloadId | null;
  readonly limit: number;
  /** Filter of the listed workloads. Without it, all are listed. */
  readonly isWanted?: (workload: Workload) => boolean;
}

/**
 * Maximum number of workloads scanned for one page. A filter with few matches then gives several short pages instead of
 * one long stall.
 */
const SCAN_MAX = 10_000;

/**
 * Waiting workloads with an eligible task, in queue order, starting behind `after`. `after` itself may have left the
 * queue. Workloads in back-off are excluded. The cost is the size of the page times the number of buckets, at any
 * position in the queue.
 */
export function queuePage(engine: Engine, { after, limit, isWanted = () => true }: QueueQuery): QueuePage {
  const { queue, state } = worldOf(engine);
  const heads = headsBehind(queue, after === null ? undefined : state.workloads.get(after));
  const before = heads.reduce((sum, { skipped }) => sum + skipped, 0);
  let waiting = heads.filter(({ workload }) => workload !== undefined) as Head<Workload>[];
  const workloads: { readonly position: number; readonly workload: Workload }[] = [];
  let last = after;
  for (let lookedAt = 0; waiting.length > 0; lookedAt++) {
    if (workloads.length >= limit || lookedAt >= SCAN_MAX) return { workloads, nextAfter: last };
    const first = waiting.reduce((best, head) => (queue.compare(head.workload, best.workload) < 0 ? head : best));
    const { workload } = first;
    last = workload.id;
    if (isWanted(workload)) workloads.push({ position: before + lookedAt, workload });
    const next = first.rest.next();
    if (next.done === true) waiting = waiting.filter((head) => head !== first);
    else first.workload = next.value;
  }
  return { workloads, nextAfter: null };
}

interface Head<Next> {
  /** Number of the bucket's entries before the page. */
  readonly skipped: number;
  /** Next entry of the bucket; `rest` iterates over the entries after it. */
  workload: Next;
  readonly rest: Iterator<WorkloadEntity, void>;
}

function headsBehind(queue: Queue, after: WorkloadEntity | undefined): Head<Workload | undefined>[] {
  return queue.waitingClasses().map((bucket) => {
    const { waiting } = bucket;
    const skipped = after === undefined ? 0 : waiting.rank(after) + (queue.bucketIn(after) === bucket ? 1 : 0);
    const rest = waiting.from(skipped);
    const first = rest.next();
    return { skipped, rest, workload: first.done === true ? undefined : first.value };
  });
}

/**
 * Number of workloads that wait outside the queue, by hold reason. The key `nominated` counts workloads with a
 * nomination.
 */
export type HoldReason = Readonly<Record<HoldReasonBy | "backoff" | "nominated", number>>;

/** Counts hold reasons over all workloads. A listing computes this once, not for each of its pages. */
export function holdReason(engine: Engine, isWanted: (workload: Workload) => boolean): HoldReason {
  const { queue, state } = worldOf(engine);
  const nowMs = clockOf(engine);
  const counts = { held: 0, waitsFor: 0, notBefore: 0, startWindow: 0, backoff: 0, nominated: 0 };
  const nominated = new Set<WorkloadId>();
  for (const { workloadId, growth } of state.nominations.values()) if (!growth) nominated.add(workloadId);
  for (const workload of state.workloads.values()) {
    if (workload.endedAtMs !== null || queue.has(workload) || !isWanted(workload)) continue;
    if (nominated.has(workload.id)) counts.nominated++;
    else if (waitingTaskCount(workload) > 0 && !isAtTaskLimit(workload))
      counts[holdReasonBy(workload, nowMs) ?? "backoff"]++;
  }
  return counts;
}

/**
 * Totals over all workloads that may start now. A request for half an accelerator counts as 0.5. The cost is one step
 * for each bucket and each waiting array.
 */
export function waitingSummary(engine: Engine): {
  readonly workloads: number;
  readonly tasks: number;
  readonly accelerators: number;
} {
  let workloads = 0;
  let tasks = 0;
  let milli = 0;
  const { queue, teamUse } = worldOf(engine);
  for (const { waiting, waitingArrays, request } of queue.waitingClasses()) {
    let classTasks = waiting.length - waitingArrays.size;
    for (const workload of waitingArrays) classTasks += waitingTaskCount(workload);
    workloads += waiting.length;
    tasks += classTasks;
    milli += classTasks * teamUse.amountOfParts(wholeParts(request.gang), () => "").acceleratorsMilli;
  }
  return { workloads, tasks, accelerators: milli / WHOLE_MILLI };
}
