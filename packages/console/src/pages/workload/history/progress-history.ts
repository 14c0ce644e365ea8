/**
 * What a workload reported so far. The API keeps only the newest report; the course of it is in the events, so those are
 * read from about the time of the submission on, at most `EVENTS_MAX` of them, and then followed live.
 */
import type { EventEnvelope, HeadroomClient } from "@headroom/protocol";

export interface ProgressPoint {
  readonly atMs: number;
  readonly step: number;
  readonly metrics: Readonly<Record<string, number>>;
}

export interface CheckpointMark {
  readonly atMs: number;
  readonly step: number;
  readonly attemptId: string;
}

export interface History {
  readonly points: readonly ProgressPoint[];
  readonly checkpoints: readonly CheckpointMark[];
}

export const emptyHistory: History = { points: [], checkpoints: [] };

/** A second or so over HTTP; a workload whose course is longer than that shows its newest part. */
export const EVENTS_MAX = 50_000;
/** More points than a screen has pixels; beyond it every second one goes. */
const POINTS_MAX = 4_000;
const CHECKPOINTS_MAX = 500;

/** Whoever it belongs to: attempts are learned on the way, from the workload and from placements. */
export function extend(
  history: History,
  batch: readonly EventEnvelope[],
  isOurs: (attemptId: string) => boolean,
): History {
  const points: ProgressPoint[] = [];
  const checkpoints: CheckpointMark[] = [];
  for (const { event } of batch) {
    if (!("attemptId" in event) || !isOurs(event.attemptId)) continue;
    if (event.kind === "progressRecorded") points.push({ atMs: event.atMs, step: event.step, metrics: event.metrics });
    else if (event.kind === "checkpointRecorded") {
      checkpoints.push({ atMs: event.atMs, step: event.step, attemptId: event.attemptId });
    }
  }
  if (points.length === 0 && checkpoints.length === 0) return history;
  return {
    points: thinned([...history.points, ...points]),
    checkpoints: [...history.checkpoints, ...checkpoints].slice(-CHECKPOINTS_MAX),
  };
}

function thinned(points: readonly ProgressPoint[]): readonly ProgressPoint[] {
  if (points.length <= POINTS_MAX) return points;
  return points.filter((_, index) => index % 2 === 0 || index === points.length - 1);
}

/** One curve over the steps: where an attempt repeated steps after a failure, the later report holds. */
export function seriesOf(
  points: readonly ProgressPoint[],
  metric: string,
): { readonly steps: number[]; readonly values: number[] } {
  const byStep = new Map<number, number>();
  for (const { step, metrics } of points) {
    const value = metrics[metric];
    if (value !== undefined && Number.isFinite(value)) byStep.set(step, value);
  }
  const steps = [...byStep.keys()].toSorted((left, right) => left - right);
  return { steps, values: steps.map((step) => byStep.get(step) ?? 0) };
}

/** The metrics by name, the loss first: that is what people look for. */
export function metricNames(points: readonly ProgressPoint[]): readonly string[] {
  const names = new Set(points.flatMap(({ metrics }) => Object.keys(metrics)));
  return [...names].toSorted((left, right) => rank(left) - rank(right) || (left < right ? -1 : 1));
}

const rank = (name: string): number => (name === "loss" ? 0 : name.toLowerCase().includes("loss") ? 1 : 2);

type EventsClient = Pick<HeadroomClient, "events">;

/** The first sequence whose event is not older than `atMs`, by halving; times never decrease along the journal. */
export async function sequenceAt(client: EventsClient, atMs: number, head: number): Promise<number> {
  let [low, high] = [1, head + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const at = await timeOf(client, middle);
    if (at !== null && at < atMs) low = middle + 1;
    else high = middle;
  }
  return low;
}

async function timeOf(client: EventsClient, sequence: number): Promise<number | null> {
  const abort = new AbortController();
  for await (const { event } of client.events({ from: sequence, signal: abort.signal })) return event.atMs;
  return null;
}

/** Where to begin reading: at the submission, or later where that is too long ago. */
export async function firstSequenceToRead(
  client: EventsClient,
  { submittedAtMs, head }: { readonly submittedAtMs: number; readonly head: number },
): Promise<{ readonly from: number; readonly isCut: boolean }> {
  const oldest = Math.max(1, head - EVENTS_MAX + 1);
  const begun = await sequenceAt(client, submittedAtMs, head);
  return begun >= oldest ? { from: begun, isCut: false } : { from: oldest, isCut: true };
}
