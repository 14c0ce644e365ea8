/**
 * Running work by when it is expected to end: as was predicted of it, by its walltime, else as long as the policy assumes. Kept up to date as attempts
 * come and go, so that a protected start is found by looking at the next ends alone. Empty while nothing is protected.
 */
import type { AttemptId } from "../model/ids.ts";
import type { Attempt, GangSpec, WorkloadSpec } from "../model/workload.ts";
import type { Rules } from "../policy/rules.ts";
import { expectedEndMs } from "../usage/expected-duration.ts";
import { SortedList } from "../base/collections/sorted-list.ts";

export interface Ending {
  readonly attempt: Attempt;
  readonly gang: GangSpec;
  /** May lie in the past: work that runs over its time ends at any moment. */
  readonly endMs: number;
}

export class Endings {
  #rules: Rules;
  #list: SortedList<Ending> = new SortedList(compareEndings);
  /** Filed since anybody asked for the order: where there is room for all, most work ends before anybody does. */
  readonly #unsorted = new Set<Ending>();
  readonly #byAttempt = new Map<AttemptId, Ending>();

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  /** The next first. */
  inOrder(): Iterator<Ending, void> {
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

  #sorted(): SortedList<Ending> {
    if (this.#unsorted.size > 0) {
      for (const ending of this.#unsorted) this.#list.insert(ending);
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
    const ending: Ending = { attempt, gang: spec.gang, endMs };
    this.#unsorted.add(ending);
    this.#byAttempt.set(attempt.id, ending);
  }

  remove({ id }: Attempt): void {
    const known = this.#byAttempt.get(id);
    if (known === undefined) return;
    this.#unlist(known);
    this.#byAttempt.delete(id);
  }

  #unlist(ending: Ending): void {
    if (!this.#unsorted.delete(ending)) this.#list.remove(ending);
  }

  /** Starts over, with nothing filed. */
  reset(rules: Rules): void {
    this.#rules = rules;
    this.#list = new SortedList(compareEndings);
    this.#unsorted.clear();
    this.#byAttempt.clear();
  }
}

/** Comes after every ending at the instant and before all later ones. */
const justAfter = (endMs: number): Ending =>
  ({ endMs, attempt: { placedSequence: Number.MAX_SAFE_INTEGER } }) as Ending;

const compareEndings = (left: Ending, right: Ending): number =>
  left.endMs - right.endMs || left.attempt.placedSequence - right.attempt.placedSequence;
