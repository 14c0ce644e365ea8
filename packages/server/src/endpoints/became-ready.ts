/** Replicas that became ready lately: one that fails before the next look at its endpoint was ready all the same. */

/** Beyond this number, replicas that became ready in one interval are forgotten. */
const IDS_MAX = 10_000;

export class BecameReady {
  #recent = new Set<string>();
  #before: ReadonlySet<string> = new Set();

  add(attemptId: string): void {
    if (this.#recent.size < IDS_MAX) this.#recent.add(attemptId);
  }

  has(attemptId: string): boolean {
    return this.#recent.has(attemptId) || this.#before.has(attemptId);
  }

  /** Called after a look at all endpoints. The ids stay for one further look: a report is known before the state shows it. */
  looked(): void {
    this.#before = this.#recent;
    this.#recent = new Set();
  }
}
