/**
 * Evictions of the newest batch: each lies in a recorded plan whose beneficiary got a place, each plan was carried out whole, and
 * nobody was taken who might not be (DESIGN §7.8, and the rights that the policy and the work itself state).
 */
import type { Event, PlannedVictim } from "../events.ts";
import type { AttemptId } from "../model/ids.ts";
import type { Attempt, Workload, WorkloadSpec } from "../model/workload.ts";
import { isPreemptible } from "../policy/preemptible.ts";
import { rulesOf } from "../policy/rules.ts";
import type { Ready } from "../ready.ts";
import type { ReadonlyState } from "../state/state.ts";
import type { Findings } from "./findings.ts";
import { amountsHeld, amountsOf, heldByTeam, withAncestors } from "./held-by-team.ts";
import { checkMinimal } from "./minimal-plans.ts";

type Planned = Event & { readonly kind: "evictionPlanned" };

export function checkEvictions(findings: Findings, state: ReadonlyState, { events, atMs }: Ready): void {
  const plans = events.filter((event): event is Planned => event.kind === "evictionPlanned");
  const planned = new Set<AttemptId>();
  for (const plan of plans) {
    const who = `${plan.workloadId} task ${plan.task}`;
    findings.expect(plan.victims.length > 0, () => `a plan for ${who} names no victims`);
    findings.expect(hasPlace(plan, events), () => `work was evicted for ${who}, which got no place`);
    for (const victim of plan.victims) {
      findings.expect(!planned.has(victim.attemptId), () => `${victim.attemptId} is a victim twice in one batch`);
      planned.add(victim.attemptId);
      checkVictim(findings, state, { plan, victim, atMs, wasAsked: wasAsked(victim, events) });
    }
  }
  for (const event of events) {
    const isEviction =
      event.kind === "gangShrinkRequested" ||
      (event.kind === "attemptStopRequested" && ["preempted", "reclaimed", "moved"].includes(event.reason));
    if (isEviction)
      findings.expect(planned.has(event.attemptId), () => `${event.attemptId} is evicted and no plan names it`);
  }
  checkMinimal(findings, state, events);
  const [plan] = plans;
  if (plan !== undefined && plans.length === 1 && plan.reason === "reclaimed") checkClaims(findings, state, plan);
}

/** After the plan, its beneficiary is placed, grown or promised a place. */
function hasPlace(plan: Planned, events: readonly Event[]): boolean {
  return events.slice(events.indexOf(plan)).some((event) => {
    if (event.kind === "gangPlaced") return event.workloadId === plan.workloadId;
    if (event.kind === "placePromised") return event.promise.workloadId === plan.workloadId;
    return event.kind === "gangGrown" && event.attemptId.startsWith(`${plan.workloadId}.`);
  });
}

const wasAsked = ({ attemptId, keeps }: PlannedVictim, events: readonly Event[]): boolean =>
  events.some((event) => {
    if (event.kind === "attemptStopRequested") return keeps === 0 && event.attemptId === attemptId;
    return event.kind === "gangShrinkRequested" && event.attemptId === attemptId && event.workers === keeps;
  });

interface Taken {
  readonly plan: Planned;
  readonly victim: PlannedVictim;
  readonly atMs: number;
  readonly wasAsked: boolean;
}

function checkVictim(findings: Findings, state: ReadonlyState, { plan, victim, atMs, wasAsked: asked }: Taken): void {
  const { attemptId, keeps } = victim;
  findings.expect(asked, () => `${attemptId} is a victim and is not asked to leave`);
  const attempt = state.attempts.get(attemptId);
  const workload = attempt === undefined ? undefined : state.workloads.get(attempt.workloadId);
  if (attempt === undefined || workload === undefined) return;
  const { spec } = workload;
  // Tasks of an array may make room for one another by moving, and what a quota does not cover any more is filled up with other ones.
  const refills = rulesOf(state.policy).phases.includes("refill");
  const moves = refills || plan.reason === "moved" || attempt.stop?.reason === "moved";
  findings.expect(moves || workload.id !== plan.workloadId, () => `${attemptId} is evicted for itself`);
  findings.expect(isPreemptible(rulesOf(state.policy), spec), () => `${attemptId} is evicted and is not preemptible`);
  const ranMs = atMs - attempt.placedAtMs;
  findings.expect(
    ranMs >= (spec.minRuntimeMs ?? 0),
    () => `${attemptId} is evicted after ${ranMs} of ${spec.minRuntimeMs} ms`,
  );
  const least = spec.gang.minWorkers ?? spec.gang.workers;
  findings.expect(keeps === 0 || keeps >= least, () => `${attemptId} keeps ${keeps} workers, it needs ${least}`);
  const beneficiary = state.workloads.get(plan.workloadId);
  if (beneficiary !== undefined) checkRight(findings, { refills, plan, victim, attempt, spec, beneficiary });
}

interface Right {
  readonly refills: boolean;
  readonly plan: Planned;
  readonly victim: PlannedVictim;
  readonly attempt: Attempt;
  readonly spec: WorkloadSpec;
  readonly beneficiary: Workload;
}

/** Within a team only lower priority gives way; what is reclaimed belongs to somebody else. */
function checkRight(findings: Findings, { refills, plan, victim, attempt, spec, beneficiary }: Right): void {
  const isSameTeam = spec.team === beneficiary.spec.team;
  const isLower = spec.priority < beneficiary.spec.priority;
  // What uses idle accelerators alone gives way to whoever is guaranteed them.
  if (plan.reason === "preempted" && victim.right !== "reclaimGuarantee")
    findings.expect(
      isSameTeam && isLower,
      () => `${attempt.id} is preempted by work of no higher priority in its team`,
    );
  // Filling up anew takes from whoever is served last, in whatever team.
  if (plan.reason === "reclaimed" && victim.right === undefined && !refills && attempt.stop?.reason !== "moved")
    findings.expect(!isSameTeam, () => `${attempt.id} is reclaimed for its own team`);
}

/**
 * Nothing is reclaimed from a side that keeps within its guarantee of all that is asked for, where the sides are the teams
 * below the lowest one that both lie below. Where several plans were made, who held what in between is not known here.
 */
function checkClaims(findings: Findings, state: ReadonlyState, plan: Planned): void {
  const { spec } = state.workloads.get(plan.workloadId) ?? {};
  if (spec === undefined) return;
  const own = new Set(withAncestors(state, spec.team));
  const held = heldByTeam(state);
  for (const { attemptId, keeps, right } of plan.victims) {
    const attempt = state.attempts.get(attemptId);
    const workload = attempt === undefined ? undefined : state.workloads.get(attempt.workloadId);
    if (attempt === undefined || workload === undefined || right !== undefined) continue;
    const side = withAncestors(state, workload.spec.team)
      .filter((team) => !own.has(team))
      .at(-1);
    const guarantee = side === undefined ? undefined : state.teams.get(side)?.guarantee;
    if (side === undefined || guarantee === undefined) continue;
    const { gang } = workload.spec;
    const gave =
      gang.groups === undefined
        ? amountsOf(gang, Math.max(1, attempt.workers.length - keeps), attempt.acceleratorType)
        : amountsHeld(state, gang, attempt.workers.slice(Math.min(keeps, attempt.workers.length - 1)));
    const isAbove = [...amountsOf(spec.gang, 1, "")].some(([resource, asked]) => {
      const before = (held.get(side)?.get(resource) ?? 0) + (gave.get(resource) ?? 0);
      return asked > 0 && before > (guarantee[resource] ?? Number.POSITIVE_INFINITY);
    });
    const statesWhatIsAsked = [...amountsOf(spec.gang, 1, "")].every(
      ([resource, asked]) => asked === 0 || resource in guarantee,
    );
    findings.expect(
      isAbove || !statesWhatIsAsked,
      () => `${attemptId} is reclaimed from ${side}, which is within its guarantee`,
    );
  }
}
