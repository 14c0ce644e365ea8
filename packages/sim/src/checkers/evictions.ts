/**
 * Rules across batches: while conditions stay the same, no work is evicted twice, and no two workloads evict each other
 * (DESIGN §7.6 and 7.8). Inputs from outside and the passing of time change the conditions; the end of evicted work
 * does not.
 */
import { isPlannedEviction, kindRules } from "@headroom/model";
import type { AttemptId, Event, Input } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { SimulatedRound } from "../run/simulation.ts";
import { mustHold } from "./violation.ts";

/** Kinds of input that are executors' answers to effects. */
const answers: ReadonlySet<Input["kind"]> = new Set([
  "attemptRunning",
  "replicaReady",
  "replicaNotReady",
  "attemptExited",
  "workersLeft",
]);

type Planned = Event & { readonly kind: "evictionPlanned" };

interface Judged {
  readonly state: ReadonlyState;
  readonly waived: ReadonlySet<number>;
}

/** Invariants that the checkers skip under the policy. */
export type Waived = (policy: ReadonlyState["policy"]) => ReadonlySet<number>;

export class Evictions {
  readonly #waivedUnder: Waived;
  /** Evicted attempts that have not ended. */
  readonly #terminating = new Set<AttemptId>();
  /** Tasks evicted since conditions last changed, with their preemptors. */
  readonly #evicted = new Set<string>();
  readonly #taken = new Set<string>();

  constructor(waivedUnder: Waived) {
    this.#waivedUnder = waivedUnder;
  }

  onRound({ inputs, ready: { events }, engine: { state } }: SimulatedRound): void {
    const isNew = inputs.some(({ kind }) => !answers.has(kind)) || events.some((event) => this.#endsByItself(event));
    if (isNew) {
      this.#evicted.clear();
      this.#taken.clear();
    }
    const waived = this.#waivedUnder(state.policy);
    for (const event of events) {
      if (event.kind === "attemptStopRequested" && isPlannedEviction(event.reason))
        this.#terminating.add(event.attemptId);
      if (event.kind === "evictionPlanned" && event.reason !== "migrated") this.#onPlan(event, { state, waived });
    }
  }

  fork(): Evictions {
    const copy = new Evictions(this.#waivedUnder);
    for (const id of this.#terminating) copy.#terminating.add(id);
    for (const task of this.#evicted) copy.#evicted.add(task);
    for (const pair of this.#taken) copy.#taken.add(pair);
    return copy;
  }

  #endsByItself(event: Event): boolean {
    return event.kind === "attemptEnded" && !(this.#terminating.delete(event.attemptId) && event.outcome === "stopped");
  }

  #onPlan({ workloadId, task: number, victims }: Planned, { state, waived }: Judged): void {
    const spec = state.workloads.get(workloadId)?.spec;
    const taker = spec !== undefined && kindRules(spec).hasTasks ? `${workloadId}.${number}` : workloadId;
    for (const { attemptId, keeps } of victims) {
      const task = attemptId.slice(0, attemptId.lastIndexOf("."));
      mustHold(waived.has(6) || !this.#taken.has(`${taker} by ${task}`), () => `${taker} and ${task} evict each other`);
      this.#taken.add(`${task} by ${taker}`);
      if (keeps > 0) continue;
      mustHold(waived.has(8) || !this.#evicted.has(task), () => `${task} is evicted twice under the same conditions`);
      this.#evicted.add(task);
    }
  }
}
