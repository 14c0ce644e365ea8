/** Slow ranks and the bottleneck of the running attempts of a workload, from telemetry. */
import { bottleneckOf } from "@headroom/health";
import { acceleratorIndices } from "@headroom/model";
import type { Attempt, WorkloadId } from "@headroom/model";
import { measuredStepOf } from "@headroom/perf";
import { refuse } from "@headroom/protocol";
import type { AttemptMetrics, AttemptPerformance, WorkloadPerformance } from "@headroom/protocol";
import { acceleratorSubject, performanceSentences, ranksInPlace } from "@headroom/views";
import type { ControlPlane } from "./control-plane.ts";

/** Attempts in one answer, each of which costs some reads of the store. */
const ATTEMPTS_MAX = 20;
/** Accelerators whose counters are read for an attempt: its work is the same on all of them. */
const ACCELERATORS_READ = 4;
const POINTS_READ = 600;
const COUNTER_POINTS = 20;

export async function performanceOf(plane: ControlPlane, workloadId: string): Promise<WorkloadPerformance> {
  const attempts = await plane.driver.read(({ state }) => {
    const workload = state.workloads.get(workloadId as WorkloadId);
    if (workload === undefined) return null;
    return [...state.attempts.values()]
      .filter((attempt) => attempt.workloadId === workload.id && attempt.startedAtMs !== null)
      .slice(0, ATTEMPTS_MAX);
  });
  if (attempts === null)
    throw refuse("unknownWorkload", `There is no workload ${workloadId}; it may have ended long ago.`);
  return { items: await Promise.all(attempts.map((attempt) => performanceOfAttempt(plane, attempt))) };
}

async function performanceOfAttempt({ telemetry }: ControlPlane, attempt: Attempt): Promise<AttemptPerformance> {
  const { id, workloadId } = attempt;
  const page = await telemetry.read({ workloadId, attemptId: id, after: 0, limit: 1, points: POINTS_READ });
  const [metrics] = page.items;
  const step = metrics === undefined ? undefined : measuredStepOf(metrics.progress);
  const { compute = null, network = null, storage = null } = step?.reported ?? {};
  const stepSeconds = step?.seconds ?? null;
  const idleShare = metrics === undefined ? null : idleShareOf(metrics);
  const found = bottleneckOf({
    stepSeconds,
    compute,
    network,
    storage,
    idleShare,
    ...(await countersOf(telemetry, attempt)),
  });
  const compared = telemetry.newest.get(id)?.stragglers;
  const stragglers =
    compared === undefined
      ? null
      : { ...compared, ranks: ranksInPlace(attempt, compared).map((each) => ({ ...each })) };
  const bottleneck = found === null ? null : { ...found, stepSeconds };
  return { attemptId: id, stragglers, bottleneck, sentences: [...performanceSentences({ stragglers, bottleneck })] };
}

function idleShareOf({ utilization }: AttemptMetrics): number | null {
  const reports = utilization.reduce((sum, point) => sum + point.reports, 0);
  if (reports === 0) return null;
  return 1 - utilization.reduce((sum, { busyMilli, reports: count }) => sum + (busyMilli / 1_000) * count, 0) / reports;
}

interface Counters {
  readonly tensorPercent: number | null;
  readonly dramPercent: number | null;
}

/** Means since the start of the attempt, over some of its accelerators that nobody else uses. */
async function countersOf(telemetry: ControlPlane["telemetry"], { workers, startedAtMs }: Attempt): Promise<Counters> {
  const subjects = workers
    .flatMap(({ node, accelerators }) =>
      acceleratorIndices(accelerators).map((index) => acceleratorSubject(node, index)),
    )
    .slice(0, ACCELERATORS_READ);
  const series = await Promise.all(
    subjects.map((subject) => telemetry.series({ subject, points: COUNTER_POINTS, fromMs: startedAtMs ?? 0 })),
  );
  const meanOf = (name: string): number | null => {
    const values = series
      .flatMap(({ metrics }) => metrics.filter((metric) => metric.name === name))
      .flatMap((metric) => metric.values.filter((value) => value !== null));
    return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
  };
  return { tensorPercent: meanOf("tensorPercent"), dramPercent: meanOf("dramPercent") };
}
