/** Names for the ids in events: from the events themselves, from who runs now, and from the newest workloads. */
import type { Event, EventEnvelope, Node, WorkloadSummary } from "@headroom/protocol";

export interface WorkloadName {
  readonly name: string;
  readonly team: string;
}

export interface EventNames {
  readonly workloads: ReadonlyMap<string, WorkloadName>;
  /** The workload of each attempt, and the attempt's number. */
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

/** The engine composes the id of an attempt: workload, task in a batch array, number. */
function attemptOf(
  id: string,
  { workloads, attempts }: EventNames,
): { workloadId: string; number: number | null } | null {
  const known = attempts.get(id);
  if (known !== undefined && known.number !== null) return known;
  const [, workloadId = "", number] = /^(.+?)(?:\.\d+)?\.(\d+)$/.exec(id) ?? [];
  return workloads.has(workloadId) ? { workloadId, number: Number(number) } : (known ?? null);
}

/** The workload that an event is about; `null`: none, or not known any more. */
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

/** The sentence with names where it has ids. */
export function withNames(sentence: string, names: EventNames): string {
  const { workloads } = names;
  return sentence.replaceAll(/[\w-]+(?:\.\d+)*/g, (word) => {
    const workload = workloads.get(word);
    if (workload !== undefined) return workload.name;
    const attempt = attemptOf(word, names);
    const name = attempt === null ? undefined : workloads.get(attempt.workloadId)?.name;
    if (attempt === null || name === undefined) return word;
    return attempt.number === null ? `of ${name}` : `${attempt.number} of ${name}`;
  });
}
