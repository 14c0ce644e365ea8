/**
 * The history of a workload as an API resource. It is read from the events since its submission, and can be limited to
 * one attempt.
 */
import { firstSequenceToRead, refuse } from "@headroom/protocol";
import type { EventEnvelope, HeadroomClient, HistoryItem, WorkloadHistory } from "@headroom/protocol";
import { Story } from "./workload-story.ts";

interface KnownAttempt {
  readonly id: string;
  readonly task: number;
  readonly number: number;
}

interface Past {
  readonly workloadId: string;
  readonly submittedAtMs: number;
  /** Attempts that are already known, for a history whose beginning is not read. */
  readonly attempts: readonly KnownAttempt[];
  /** The newest sequence that is read. */
  readonly head: number;
  /** Only events of this attempt; absent: events of all attempts. */
  readonly attemptId?: string | undefined;
}

export interface HistorySource extends Pick<HeadroomClient, "events"> {
  /**
   * Recorded events that name the workload or its attempts, with other events among them; absent: `events` is read in
   * full.
   */
  mentions?(range: { readonly from: number }): AsyncIterable<EventEnvelope>;
}

export async function readHistory(
  source: HistorySource,
  { workloadId, submittedAtMs, attempts, head, attemptId }: Past,
): Promise<WorkloadHistory> {
  const { from, isCut } = await firstSequenceToRead(source, { submittedAtMs, head });
  const ledger = new HistoryLedger(workloadId, attempts);
  if (from <= head)
    for await (const envelope of source.mentions?.({ from }) ?? source.events({ from })) {
      ledger.take(envelope);
      if (envelope.sequence >= head) break;
    }
  const { items, attempts: known } = ledger;
  if (attemptId === undefined) return { items, attempts: known, isCut };
  if (!known.some(({ id }) => id === attemptId))
    throw refuse("unknownAttempt", `Workload ${workloadId} has no attempt ${attemptId}, or only the journal has it.`);
  return { items: items.filter((item) => item.attemptIds.includes(attemptId)), attempts: known, isCut };
}

class HistoryLedger {
  readonly #story: Story;
  readonly items: HistoryItem[] = [];
  /** By task: index of the plan that evicts work for its next attempt, or for additional workers of the present one. */
  readonly #planned = new Map<number, number>();

  constructor(workloadId: string, attempts: readonly KnownAttempt[]) {
    this.#story = new Story(workloadId);
    for (const attempt of attempts) this.#story.learn(attempt);
  }

  get attempts(): KnownAttempt[] {
    return this.#story.attempts();
  }

  take(envelope: EventEnvelope): void {
    const line = this.#story.tell(envelope);
    if (line === null) return;
    const { plan, attemptIds, ...said } = line;
    if (plan !== undefined && attemptIds.length === 0) this.#planned.set(plan.task, this.items.length);
    else this.#settle(envelope, attemptIds);
    this.items.push({ ...said, attemptIds: [...attemptIds], ...(plan === undefined ? {} : { plan }) });
  }

  /** The attempt that benefits from a plan is known at its nomination or placement. */
  #settle({ event }: EventEnvelope, attemptIds: readonly string[]): void {
    if (event.kind !== "gangPlaced" && event.kind !== "placementNominated" && event.kind !== "gangGrown") return;
    const task = this.#story.taskOf(attemptIds[0] ?? "");
    if (task === null) return;
    const at = this.#planned.get(task);
    const item = at === undefined ? undefined : this.items[at];
    if (at === undefined || item === undefined) return;
    this.items[at] = { ...item, attemptIds: [...attemptIds] };
    this.#planned.delete(task);
  }
}
