/** Finds names for the ids in events: from the events themselves, from running work, and from the newest workloads. */
import type { Event, EventEnvelope, Node, WorkloadSummary } from "@headroom/protocol";

export interface WorkloadName {
  readonly name: string;
  readonly team: string;
}

export interface EventNames {
  readonly workloads: ReadonlyMap<string, WorkloadName>;
  /** The workload and the attempt's number, by attempt id. */
  readonly attempts: ReadonlyMap<string, { readonly workloadId: string; readonly number: number | null }>;
}

interface Sources {
  readonly events: readonly EventEnvelope[];
  readonly nodes: readonly Node[];
  readonly newest: readonly WorkloadSummary[];
}

export function eventNames({ events, nodes, newest }: Sources): EventNames {
  const workloads = new Map<string, WorkloadName>();
  const attempts = new Map<string, { readonly workloadId: string; readonly number: number | null }>();
  for (const { id, name, team } of newest) workloads.set(id, { name, team });
  for (const { attemptId, workloadId, workloadName, team } of nodes.flatMap(({ holders }) => holders)) {
    workloads.set(workloadId, { name: workloadName, team });
    attempts.set(attemptId, { workloadId, number: null });
  }
  for (const { event } of events) {
    if (event.kind === "workloadSubmitted") workloads.set(event.workloadId, event.spec);
    if (event.kind === "gangPlaced") attempts.set(event.attemptId, event);
    if (event.kind === "placementNominated") attempts.set(event.nomination.attemptId, event.nomination);
  }
  return { workloads, attempts };
}

interface NamedAttempt {
  readonly workloadId: string;
  readonly number: number | null;
  /** Index of the task in its array; `null`: not an array, or not known. */
  readonly task: number | null;
}

/** The id of an attempt consists of the workload, the task if it is a batch array, and a number. */
function attemptOf(id: string, { workloads, attempts }: EventNames): NamedAttempt | null {
  const known = attempts.get(id);
  const [, prefix = "", task, number] = /^(.+?)(?:\.(\d+))?\.(\d+)$/.exec(id) ?? [];
  const workloadId = known?.workloadId ?? prefix;
  if (known === undefined && !workloads.has(prefix)) return null;
  return {
    workloadId,
    number: known?.number ?? (number === undefined ? null : Number(number)),
    task: task === undefined ? null : Number(task),
  };
}

/** The workload that an event is about; `null`: it is about none, or the workload is no longer known. */
export function workloadOfEvent(event: Event, names: EventNames): string | null {
  if (event.kind === "placementNominated") return event.nomination.workloadId;
  if ("workloadId" in event) return event.workloadId;
  return "attemptId" in event ? (attemptOf(event.attemptId, names)?.workloadId ?? null) : null;
}

export function teamOfEvent(event: Event, names: EventNames): string | null {
  if (event.kind === "teamDefined") return event.team.name;
  if ("team" in event) return event.team;
  const workloadId = workloadOfEvent(event, names);
  return workloadId === null ? null : (names.workloads.get(workloadId)?.team ?? null);
}

/** A word that may be an id: one inside a path or a file name is part of that. */
const WORD = /(?<![\w./-])[\w-]+(?:\.\d+)*(?![\w/]|\.\w)/g;

/** The sentence of an event, with names instead of ids. Paths stay as they are. */
export function withNames(sentence: string, names: EventNames): string {
  const { workloads } = names;
  return sentence.replaceAll(WORD, (word) => {
    const workload = workloads.get(word);
    if (workload !== undefined) return workload.name;
    const attempt = attemptOf(word, names);
    const name = attempt === null ? undefined : workloads.get(attempt.workloadId)?.name;
    if (attempt === null || name === undefined) return word;
    const work = attempt.task === null ? name : `task ${attempt.task} of ${name}`;
    return attempt.number === null ? `of ${work}` : `${attempt.number} of ${work}`;
  });
}

/**
 * The sentence of an event, with instants in the reader's time zone: `6 Jan 17:00:00` instead of
 * `2026-01-06T17:00:00Z`.
 */
export function withLocalTimes(sentence: string, textOf: (atMs: number) => string): string {
  return sentence.replaceAll(/\b\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z/g, (instant) =>
    textOf(Date.parse(instant)),
  );
}
