/** Bounds over time, followed from the events: budget usage, dependencies, and the rate of defragmentation. */
import { MIGRATION_REST_MS } from "@headroom/model";
import type { Event, Nomination, TeamName, WorkloadId } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { SimulatedRound } from "../run/simulation.ts";
import { mustHold } from "./violation.ts";

const HOUR_MS = 3_600_000;
const MILLI = 1000;

/** Dependencies of one workload. */
type Awaited = NonNullable<(Event & { readonly kind: "workloadSubmitted" })["waitsFor"]>;

export class Bounds {
  /** Dependencies of every workload that are not met yet. */
  readonly #awaited = new Map<WorkloadId, Awaited>();
  /** Migrations caused by defragmentation, with time and workload, oldest first. */
  #migrations: { readonly atMs: number; readonly workloadId: WorkloadId }[] = [];
  /** Usage of each team with a budget, in thousandths of accelerators times ms, accumulated from round to round. */
  readonly #used = new Map<TeamName, number>();
  #rates: ReadonlyMap<TeamName, number> = new Map();
  #atMs = 0;

  onRound({ ready, engine: { state } }: SimulatedRound): void {
    this.#use(state, ready.atMs);
    for (const event of ready.events) {
      this.#await(event);
      if (event.kind === "workloadEnded") this.#settle(event);
      if (event.kind === "gangPlaced") this.#mayStart(event);
      if (event.kind === "evictionPlanned" && event.pairsGathered !== undefined) this.#onMigration(state, event);
    }
    mustKeepBudgets(state, this.#used);
    this.#rates = ratesOf(state);
  }

  fork(): Bounds {
    const copy = new Bounds();
    for (const [id, waits] of this.#awaited) copy.#awaited.set(id, waits);
    for (const [team, used] of this.#used) copy.#used.set(team, used);
    copy.#migrations = [...this.#migrations];
    copy.#rates = this.#rates;
    copy.#atMs = this.#atMs;
    return copy;
  }

  /** A submission, a rerun, and a change of dependencies say which dependencies are left. */
  #await(event: Event): void {
    const isAnew = event.kind === "workloadSubmitted" || event.kind === "workloadRerun";
    if (isAnew || (event.kind === "workloadChanged" && event.changes.after !== undefined))
      this.#awaited.set(event.workloadId, event.waitsFor ?? []);
  }

  #settle({ workloadId, phase }: Event & { readonly kind: "workloadEnded" }): void {
    for (const [id, waits] of this.#awaited) {
      const left = waits.filter(
        (wait) =>
          wait.workloadId !== workloadId ||
          (wait.on !== "any" && (wait.on === "artifact" || (wait.on === "ok") !== (phase === "succeeded"))),
      );
      this.#awaited.set(id, left);
    }
  }

  /** Another checker covers dependencies on artifacts. */
  #mayStart({ attemptId, workloadId }: Pick<Nomination, "attemptId" | "workloadId">): void {
    const wait = this.#awaited.get(workloadId)?.find(({ on }) => on !== "artifact");
    mustHold(
      wait === undefined,
      () => `${attemptId} was placed, and ${wait?.workloadId}, which it waits for, has not ended ${wait?.on}`,
    );
  }

  #onMigration({ policy }: ReadonlyState, { atMs, workloadId }: Event & { readonly kind: "evictionPlanned" }): void {
    const { migrationsPerHour = 0 } = policy.defragment ?? {};
    const last = this.#migrations.findLast((each) => each.workloadId === workloadId);
    mustHold(
      last === undefined || atMs >= last.atMs + MIGRATION_REST_MS,
      () => `${workloadId} was migrated at ${last?.atMs} ms and again at ${atMs}`,
    );
    this.#migrations.push({ atMs, workloadId });
    const lately = this.#migrations.filter((each) => each.atMs > atMs - HOUR_MS).length;
    mustHold(
      lately <= migrationsPerHour,
      () => `${lately} migrations within an hour, the policy allows ${migrationsPerHour}`,
    );
  }

  #use({ accounts }: ReadonlyState, nowMs: number): void {
    for (const [team, rate] of this.#rates)
      this.#used.set(team, (this.#used.get(team) ?? 0) + rate * (nowMs - this.#atMs));
    for (const team of this.#used.keys()) if (!accounts.has(team)) this.#used.delete(team);
    this.#atMs = nowMs;
  }
}

/** Accelerators in use by each team with a budget, subteams included, counted from placement to end. */
function ratesOf(state: ReadonlyState): ReadonlyMap<TeamName, number> {
  const rates = new Map<TeamName, number>();
  if (state.accounts.size === 0) return rates;
  for (const { workloadId, workers, terminating = [] } of state.attempts.values()) {
    const spec = state.workloads.get(workloadId)?.spec;
    if (spec === undefined) continue;
    const milli = [...workers, ...terminating].reduce((sum, { taskGroup }) => {
      const shape = taskGroup === undefined ? spec.gang : (spec.gang.taskGroups?.[taskGroup] ?? spec.gang);
      return sum + shape.accelerators * (shape.profile === undefined ? (shape.shareMilli ?? MILLI) : Number.NaN);
    }, 0);
    for (let at: TeamName | null = spec.team; at !== null; at = state.teams.get(at)?.parent ?? null)
      if (state.accounts.has(at)) rates.set(at, (rates.get(at) ?? 0) + milli);
  }
  return rates;
}

/**
 * If a team exceeds its GPU-hours, the events must record that its budget is used up. The check tolerates the engine's
 * rounding of fractions.
 */
function mustKeepBudgets({ teams, accounts }: ReadonlyState, used: ReadonlyMap<TeamName, number>): void {
  for (const [team, milliMs] of used) {
    const { gpuHours, period } = teams.get(team)?.budget ?? {};
    if (gpuHours === undefined || period !== "total" || Number.isNaN(milliMs)) continue;
    const isSpent = accounts.get(team)?.crossed?.percent === 100;
    mustHold(
      isSpent || milliMs < gpuHours * HOUR_MS * MILLI,
      () => `${team} has used ${milliMs / MILLI / HOUR_MS} of ${gpuHours} hours, and nobody says that they are used up`,
    );
  }
}
