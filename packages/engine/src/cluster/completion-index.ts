/**
 * Running work by when it is expected to end: as was predicted of it, by its walltime, else as long as the policy assumes. Kept up to date as attempts
 * come and go, so that a protected start is found by looking at the next ends alone. Empty while nothing is protected.
 */
import type { AttemptId } from "../model/ids.ts";
import type { Attempt, GangSpec, WorkloadSpec } from "../model/workload.ts";
import type { Rules } from "../policy/rules.ts";
import { expectedEndMs } from "../usage/expected-duration.ts";
import { SortedList } from "../base/collections/sorted-list.ts";

export interface ExpectedCompletion {
  readonly attempt: Attempt;
  readonly gang: GangSpec;
  /** May lie in the past: work that runs over its time ends at any moment. */
  readonly endMs: number;
}

export class CompletionIndex {
  #rules: Rules;
  #list: SortedList<ExpectedCompletion> = new SortedList(compareCompletions);
  /** Filed since anybody asked for the order: where there is room for all, most work ends before anybody does. */
  readonly #unsorted = new Set<ExpectedCompletion>();
  readonly #byAttempt = new Map<AttemptId, ExpectedCompletion>();

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  /** The next first. */
  inOrder(): Iterator<ExpectedCompletion, void> {
    return this.#sorted().from(0);
  }

  /** The first end that is expected, whether or not it is overdue; `null`: none. */
  first(): number | null {
    return this.#sorted().first()?.endMs ?? null;
  }

  /** The first end that is expected after an instant; `null`: none. */
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

  /** Files an attempt by what is known of it now. */
  file(attempt: Attempt, spec: WorkloadSpec): void {
    if (this.#rules.backfill.reserve === "none") return;
    const endMs = expectedEndMs(this.#rules, attempt, spec);
    const known = this.#byAttempt.get(attempt.id);
    // Most that start do so when they are placed: nothing else is known of their ends then.
    if (known?.endMs === endMs && known.attempt === attempt) return;
    if (known !== undefined) this.#unlist(known);
    const completion: ExpectedCompletion = { attempt, gang: spec.gang, endMs };
    this.#unsorted.add(completion);
    this.#byAttempt.set(attempt.id, completion);
  }

  remove({ id }: Attempt): void {
    const known = this.#byAttempt.get(id);
    if (known === undefined) return;
    this.#unlist(known);
    this.#byAttempt.delete(id);
  }

  #unlist(completion: ExpectedCompletion): void {
    if (!this.#unsorted.delete(completion)) this.#list.remove(completion);
  }

  /** Starts over, with nothing filed. */
  reset(rules: Rules): void {
    this.#rules = rules;
    this.#list = new SortedList(compareCompletions);
    this.#unsorted.clear();
    this.#byAttempt.clear();
  }
}

/** Comes after every ending at the instant and before all later ones. */
const justAfter = (endMs: number): ExpectedCompletion =>
  ({ endMs, attempt: { placedSequence: Number.MAX_SAFE_INTEGER } }) as ExpectedCompletion;

const compareCompletions = (left: ExpectedCompletion, right: ExpectedCompletion): number =>
  left.endMs - right.endMs || left.attempt.placedSequence - right.attempt.placedSequence;
