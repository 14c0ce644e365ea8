/**
 * Running work by expected end: the predicted end, the end by walltime, or the end by the policy's assumption. It is
 * updated as attempts start and end, so the search for a protected start reads only the next ends. It is empty while
 * the policy protects no starts.
 */
import { IdMap, SortedList } from "@headroom/model";
import type { AttemptId, Attempt, GangSpec, WorkloadSpec, Rules } from "@headroom/model";
import { expectedEndMs } from "../usage/expected-duration.ts";

export interface ExpectedCompletion {
  readonly attempt: Attempt;
  readonly gang: GangSpec;
  /** Expected end, ms. It may be in the past: work that has exceeded its expected end may end at any moment. */
  readonly endMs: number;
}

export class CompletionIndex {
  #rules: Rules;
  #list: SortedList<ExpectedCompletion> = new SortedList(compareCompletions);
  /**
   * Entries that were added since the order was last read. They are not sorted yet, because on an idle fleet most work
   * ends before the order is read.
   */
  readonly #unsorted = new Set<ExpectedCompletion>();
  readonly #byAttempt = new IdMap<AttemptId, ExpectedCompletion>();

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  inOrder(): Iterator<ExpectedCompletion, void> {
    return this.#sorted().from(0);
  }

  /** The first expected end, which may be in the past, or `null` if there is none. */
  first(): number | null {
    return this.#sorted().first()?.endMs ?? null;
  }

  /** The first expected end after an instant, or `null` if there is none. */
  nextAfter(atMs: number): number | null {
    const list = this.#sorted();
    if (list.length === 0) return null;
    return list.at(list.rank(justAfter(atMs)))?.endMs ?? null;
  }

  #sorted(): SortedList<ExpectedCompletion> {
    if (this.#unsorted.size > 0) {
      for (const completion of this.#unsorted) this.#list.insert(completion);
      this.#unsorted.clear();
    }
    return this.#list;
  }

  /** Adds an attempt at its present expected end. */
  file(attempt: Attempt, spec: WorkloadSpec): void {
    if (this.#rules.backfill.protectedStarts === 0) return;
    const endMs = expectedEndMs(this.#rules, attempt, spec);
    const known = this.#byAttempt.get(attempt.id);
    // The end of most attempts is already known when they are placed and does not change.
    if (known?.endMs === endMs && known.attempt === attempt) return;
    if (known !== undefined) this.#unlist(known);
    const completion: ExpectedCompletion = { attempt, gang: spec.gang, endMs };
    this.#unsorted.add(completion);
    this.#byAttempt.set(attempt.id, completion);
  }

  remove({ id }: Attempt): void {
    if (this.#byAttempt.size === 0) return;
    const known = this.#byAttempt.get(id);
    if (known === undefined) return;
    this.#unlist(known);
    this.#byAttempt.delete(id);
  }

  #unlist(completion: ExpectedCompletion): void {
    if (!this.#unsorted.delete(completion)) this.#list.remove(completion);
  }

  reset(rules: Rules): void {
    this.#rules = rules;
    this.#list = new SortedList(compareCompletions);
    this.#unsorted.clear();
    this.#byAttempt.clear();
  }
}

/** A key that sorts after every end at the instant and before all later ones. */
const justAfter = (endMs: number): ExpectedCompletion =>
  ({ endMs, attempt: { placedSequence: Number.MAX_SAFE_INTEGER } }) as ExpectedCompletion;

const compareCompletions = (left: ExpectedCompletion, right: ExpectedCompletion): number =>
  left.endMs - right.endMs || left.attempt.placedSequence - right.attempt.placedSequence;
