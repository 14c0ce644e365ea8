/**
 * Events and reports of a workload. Events are read from about the time of its submission on and then followed live.
 * Reports come from the telemetry store.
 */
import type { EventEnvelope } from "@headroom/protocol";
import { Story, type StoryLine } from "@headroom/views";

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
  readonly checkpoints: readonly CheckpointMark[];
  /** Decisions and events of the workload, oldest first. */
  readonly story: readonly StoryLine[];
}

export const emptyHistory: History = { checkpoints: [], story: [] };

const CHECKPOINTS_MAX = 500;
/**
 * Maximum number of lines of the history. An array of many tasks has a long history, so only the newest part is kept.
 */
const STORY_MAX = 500;

/** Adds a batch of events. Attempts of the workload are recognised from the events themselves. */
export function extend(history: History, batch: readonly EventEnvelope[], told: Story): History {
  const checkpoints: CheckpointMark[] = [];
  const story: StoryLine[] = [];
  for (const envelope of batch) {
    const { event } = envelope;
    const line = told.tell(envelope);
    if (line !== null) story.push(line);
    if (!("attemptId" in event) || !told.knows(event.attemptId)) continue;
    if (event.kind === "checkpointRecorded")
      checkpoints.push({ atMs: event.atMs, step: event.step, attemptId: event.attemptId });
  }
  if (checkpoints.length === 0 && story.length === 0) return history;
  return {
    story: [...history.story, ...story].slice(-STORY_MAX),
    checkpoints: [...history.checkpoints, ...checkpoints].slice(-CHECKPOINTS_MAX),
  };
}

/** One curve over the steps. If an attempt repeats steps after a failure, the later report counts. */
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

/** Metrics by name. The loss comes first. */
export function metricNames(points: readonly ProgressPoint[]): readonly string[] {
  const names = new Set(points.flatMap(({ metrics }) => Object.keys(metrics)));
  return [...names].toSorted((left, right) => rank(left) - rank(right) || (left < right ? -1 : 1));
}

const rank = (name: string): number => (name === "loss" ? 0 : name.toLowerCase().includes("loss") ? 1 : 2);
