/**
 * Checks the evictions of the newest batch: each eviction belongs to a recorded plan whose preemptor got a placement,
 * each plan was carried out completely, and every victim was eligible (DESIGN §7.8, and the rules of policy and
 * workload).
 */
import {
  ALL_ACCELERATORS,
  isPlannedEviction,
  preemptibilityOf,
  RESOURCES_BESIDE_TYPES,
  rulesOf,
  typesOfGroup,
} from "@headroom/model";
import type {
  Amounts,
  Attempt,
  AttemptId,
  Event,
  GangSpec,
  PlannedVictim,
  TeamName,
  Workload,
  WorkloadSpec,
} from "@headroom/model";
import type { ReadonlyState, Ready } from "@headroom/engine";
import { withAncestors } from "@headroom/engine/internals";
import type { Findings } from "@headroom/engine/internals";
import { acceptsType, amountsHeld, amountsOf, heldByTeam, typeInFamily } from "./held-by-team.ts";
import { checkMinimal } from "./minimal-plans.ts";

type PlannedEviction = Event & { readonly kind: "evictionPlanned" };

export function checkEvictions(findings: Findings, state: ReadonlyState, { events, atMs }: Ready): void {
  const plans = events.filter((event): event is PlannedEviction => event.kind === "evictionPlanned");
  const planned = new Set<AttemptId>();
  for (const plan of plans) {
    const who = `${plan.workloadId} task ${plan.task}`;
    findings.expect(plan.victims.length > 0, () => `a plan for ${who} names no victims`);
    findings.expect(placeGiven(plan, events) !== undefined, () => `work was evicted for ${who}, which got no place`);
    for (const victim of plan.victims) {
      findings.expect(!planned.has(victim.attemptId), () => `${victim.attemptId} is a victim twice in one batch`);
      planned.add(victim.attemptId);
      const isNominated = hasPlaceElsewhere(victim, events);
      checkVictim(findings, state, { plan, victim, atMs, wasAsked: wasAsked(victim, events), isNominated });
    }
  }
  for (const event of events) {
    const isEvicting =
      event.kind === "gangShrinkRequested" ||
      (event.kind === "attemptStopRequested" && isPlannedEviction(event.reason));
    if (isEvicting)
      findings.expect(planned.has(event.attemptId), () => `${event.attemptId} is evicted and no plan names it`);
  }
  checkMinimal(findings, state, events);
  const [plan] = plans;
  if (plan === undefined || plans.length > 1 || plan.reason !== "reclaimed") return;
  if (rulesOf(state.policy).phases.includes("rebalance")) checkRefilled(findings, state, plan);
  else checkEntitlements(findings, state, { plan, asked: askedFor(state, plan, placeGiven(plan, events)) });
}

/** The event that placed, grew or nominated the plan's preemptor after the plan, or `undefined` if there is none. */
function placeGiven(plan: PlannedEviction, events: readonly Event[]): Event | undefined {
  return events.slice(events.indexOf(plan)).find((event) => {
    if (event.kind === "gangPlaced") return event.workloadId === plan.workloadId;
    if (event.kind === "placementNominated") return event.nomination.workloadId === plan.workloadId;
    return event.kind === "gangGrown" && event.attemptId.startsWith(`${plan.workloadId}.`);
  });
}

const wasAsked = ({ attemptId, keeps }: PlannedVictim, events: readonly Event[]): boolean =>
  events.some((event) => {
    if (event.kind === "attemptStopRequested") return keeps === 0 && event.attemptId === attemptId;
    return event.kind === "gangShrinkRequested" && event.attemptId === attemptId && event.workers === keeps;
  });

/** Whether the victim's task is nominated for another place, where it starts after the victim has ended. */
const hasPlaceElsewhere = ({ attemptId }: PlannedVictim, events: readonly Event[]): boolean =>
  events.some((event) => event.kind === "placementNominated" && event.nomination.afterAttempt === attemptId);

interface Taken {
  readonly plan: PlannedEviction;
  readonly victim: PlannedVictim;
  readonly atMs: number;
  readonly wasAsked: boolean;
  readonly isNominated: boolean;
}

function checkVictim(
  findings: Findings,
  state: ReadonlyState,
  { plan, victim, atMs, wasAsked: asked, isNominated }: Taken,
): void {
  const { attemptId, keeps } = victim;
  findings.expect(asked, () => `${attemptId} is a victim and gets no stop request`);
  // Under a policy that forgets nominations after a round, a migrating victim may have none: the place is requested
  // again in the next round.
  findings.expect(
    victim.migrates !== true || keeps > 0 || isNominated || rulesOf(state.policy).eviction.nominations !== "kept",
    () => `${attemptId} is to migrate and has no nomination`,
  );
  const attempt = state.attempts.get(attemptId);
  const workload = attempt === undefined ? undefined : state.workloads.get(attempt.workloadId);
  if (attempt === undefined || workload === undefined) return;
  const { spec } = workload;
  // A workload may be its own victim in two cases: one of its tasks migrates for another, or rebalancing gives freed
  // quota to its other tasks.
  const refills = rulesOf(state.policy).phases.includes("rebalance");
  const mayBeItsOwn = refills || plan.reason === "migrated" || attempt.stop?.reason === "migrated";
  findings.expect(mayBeItsOwn || workload.id !== plan.workloadId, () => `${attemptId} is evicted for itself`);
  const preemptibility = preemptibilityOf(rulesOf(state.policy), spec);
  findings.expect(
    preemptibility === "always" || (preemptibility === "aboveGuarantee" && plan.reason === "reclaimed"),
    () => `${attemptId} is evicted (${plan.reason}) and is preemptible ${preemptibility}`,
  );
  const ranMs = atMs - attempt.placedAtMs;
  findings.expect(
    ranMs >= (spec.minRuntimeMs ?? 0),
    () => `${attemptId} is evicted after ${ranMs} of ${spec.minRuntimeMs} ms`,
  );
  const least = spec.gang.minWorkers ?? spec.gang.workers;
  findings.expect(keeps === 0 || keeps >= least, () => `${attemptId} keeps ${keeps} workers, it needs ${least}`);
  const preemptor = state.workloads.get(plan.workloadId);
  if (preemptor !== undefined) checkGround(findings, { refills, plan, victim, attempt, spec, preemptor });
}

interface EvictionGround {
  readonly refills: boolean;
  readonly plan: PlannedEviction;
  readonly victim: PlannedVictim;
  readonly attempt: Attempt;
  readonly spec: WorkloadSpec;
  readonly preemptor: Workload;
}

/** Checks that victims of the same team have lower priority, and that reclaimed work belongs to another team. */
function checkGround(findings: Findings, { refills, plan, victim, attempt, spec, preemptor }: EvictionGround): void {
  const isSameTeam = spec.team === preemptor.spec.team;
  const isLower = spec.priority < preemptor.spec.priority;
  // Opportunistic work on idle accelerators may be evicted for guaranteed work.
  if (plan.reason === "preempted" && victim.ground !== "reclaimGuarantee")
    findings.expect(
      isSameTeam && isLower,
      () => `${attempt.id} is preempted by work of no higher priority in its team`,
    );
  // Rebalancing may evict work of any team. It evicts the work that comes last in the fair order.
  if (plan.reason === "reclaimed" && victim.ground === undefined && !refills && attempt.stop?.reason !== "migrated")
    findings.expect(!isSameTeam, () => `${attempt.id} is reclaimed for its own team`);
}

/**
 * Resources that the plan's preemptor requested, by the names that teams use. An accelerator type is included only if
 * the preemptor accepts no other type.
 */
function askedFor(state: ReadonlyState, plan: PlannedEviction, given: Event | undefined): readonly string[] {
  const { spec } = state.workloads.get(plan.workloadId) ?? {};
  if (spec === undefined) return [];
  const all = [...amountsOf(spec.gang, 1, { acceleratorType: "" })]
    .filter(([, amount]) => amount > 0)
    .map(([resource]) => resource);
  const lists =
    spec.gang.taskGroups === undefined
      ? [spec.gang.accelerators > 0 ? typesFor(state, spec, given) : []]
      : spec.gang.taskGroups.map((group) => (group.accelerators > 0 ? typesOfGroup(spec, group) : []));
  return [...new Set([...all, ...lists.flatMap((types) => (types.length === 1 ? types : []))])];
}

/** Accelerator types of the fleet that the preemptor accepts. A running gang grows on its own type. */
function typesFor(
  state: ReadonlyState,
  { acceleratorTypes }: WorkloadSpec,
  given: Event | undefined,
): readonly string[] {
  if (given?.kind === "placementNominated" && given.nomination.growth) return [given.nomination.acceleratorType];
  const grown = given?.kind === "gangGrown" ? state.attempts.get(given.attemptId) : undefined;
  if (grown !== undefined) return [grown.acceleratorType];
  const accepted = [...state.nodes.values()].filter((node) => acceptsType(state, acceleratorTypes, node));
  return [...new Set(accepted.map((node) => node.acceleratorType))];
}

interface Entitled {
  readonly plan: PlannedEviction;
  readonly asked: readonly string[];
}

/**
 * Checks that no work was reclaimed from a side that is within its guarantee for all requested resources. The two sides
 * are children of the lowest common ancestor of the victim's team and the preemptor's team: each is the child above one
 * of them. A team below a protected side is protected too, if each guarantee above it covers the sum of its children's
 * guarantees. Not checked for several plans in one batch, because the usage between them is unknown.
 */
function checkEntitlements(findings: Findings, state: ReadonlyState, { plan, asked }: Entitled): void {
  const { spec } = state.workloads.get(plan.workloadId) ?? {};
  if (spec === undefined) return;
  const own = new Set(withAncestors(state, spec.team));
  const held = heldByTeam(state);
  for (const { attemptId, keeps, ground, migrates = false } of plan.victims) {
    const attempt = state.attempts.get(attemptId);
    const workload = attempt === undefined ? undefined : state.workloads.get(attempt.workloadId);
    if (attempt === undefined || workload === undefined || ground !== undefined || migrates) continue;
    const gave = givenBy(state, { attempt, gang: workload.spec.gang, keeps });
    const [side, ...below] = withAncestors(state, workload.spec.team)
      .filter((team) => !own.has(team))
      .toReversed();
    if (side === undefined) continue;
    for (const team of [side, ...below]) {
      const ofType = Object.keys(state.teams.get(team)?.guarantee ?? {}).filter((name) => !ofAllTypes.has(name));
      for (const type of ofType)
        findings.expect(
          (gave.get(type) ?? 0) === 0 ||
            (held.get(team)?.get(type) ?? 0) + (gave.get(type) ?? 0) > rightfulOf(state, team, type),
          () => `${attemptId} is reclaimed from ${team}, which holds no more ${type} than it is guaranteed`,
        );
    }
    const first = below.findIndex((team) => !coversTeams(state, state.teams.get(team)?.parent ?? null, asked));
    for (const team of [side, ...(first < 0 ? below : below.slice(0, first))]) {
      const { guarantee } = state.teams.get(team) ?? {};
      if (guarantee === undefined || !asked.every((resource) => isNamed(guarantee, resource))) continue;
      const isAbove = asked.some((resource) => {
        const given = gave.get(resource) ?? 0;
        return given > 0 && (held.get(team)?.get(resource) ?? 0) + given > rightfulOf(state, team, resource);
      });
      findings.expect(isAbove, () => `${attemptId} is reclaimed from ${team}, which is within its guarantee`);
    }
  }
}

interface EvictionRecord {
  readonly attempt: Attempt;
  readonly gang: GangSpec;
  readonly keeps: number;
}

function givenBy(state: ReadonlyState, { attempt, gang, keeps }: EvictionRecord): ReadonlyMap<string, number> {
  return gang.taskGroups === undefined
    ? amountsOf(gang, Math.max(1, attempt.workers.length - keeps), typeInFamily(state, attempt.acceleratorType))
    : amountsHeld(state, gang, attempt.workers.slice(Math.min(keeps, attempt.workers.length - 1)));
}

/**
 * A rebalance records the first request that it starts as the preemptor of all victims, so the requested resources are
 * not known. The check is therefore that the team of each victim held more than its guarantee of some resource that the
 * victim released.
 */
function checkRefilled(findings: Findings, state: ReadonlyState, { victims }: PlannedEviction): void {
  const gave = new Map<TeamName, Map<string, number>>();
  const given = victims.flatMap(({ attemptId, keeps, team }) => {
    const attempt = state.attempts.get(attemptId);
    const gang = attempt === undefined ? undefined : state.workloads.get(attempt.workloadId)?.spec.gang;
    if (attempt === undefined || gang === undefined) return [];
    const amounts = givenBy(state, { attempt, gang, keeps });
    const sum = gave.get(team) ?? new Map<string, number>();
    for (const [resource, amount] of amounts) sum.set(resource, (sum.get(resource) ?? 0) + amount);
    gave.set(team, sum);
    return [{ attemptId, team, amounts }];
  });
  const held = heldByTeam(state);
  for (const { attemptId, team, amounts } of given) {
    if (state.teams.get(team)?.guarantee === undefined) continue;
    const isAbove = [...amounts].some(([resource, amount]) => {
      const before = (held.get(team)?.get(resource) ?? 0) + (gave.get(team)?.get(resource) ?? 0);
      return amount > 0 && before > rightfulOf(state, team, resource);
    });
    findings.expect(isAbove, () => `${attemptId} is reclaimed from ${team}, which is within its guarantee`);
  }
}

/** A team's guarantee of a resource, capped by the team's limit. Unlimited if the team states neither. */
function rightfulOf(state: ReadonlyState, team: TeamName, resource: string): number {
  const { guarantee = {}, limit = {} } = state.teams.get(team) ?? {};
  const ofTypes = Object.entries(guarantee).filter(([name]) => !ofAllTypes.has(name));
  const isType = !ofAllTypes.has(resource);
  let guaranteed = guarantee[resource] ?? Number.POSITIVE_INFINITY;
  // A guarantee that is stated by type applies to these types only. A guarantee that is stated as a number of
  // accelerators applies to all types.
  if (!(resource in guarantee) && (isType || resource === ALL_ACCELERATORS)) {
    if (isType) guaranteed = guarantee[ALL_ACCELERATORS] ?? (ofTypes.length > 0 ? 0 : guaranteed);
    else if (ofTypes.length > 0) guaranteed = ofTypes.reduce((sum, [, amount]) => sum + amount, 0);
  }
  return Math.min(guaranteed, limit[resource] ?? Number.POSITIVE_INFINITY);
}

const ofAllTypes: ReadonlySet<string> = new Set(RESOURCES_BESIDE_TYPES);

/**
 * Whether the guarantee states an amount for the resource. For a type, a stated total of accelerators is sufficient.
 */
const isNamed = (guarantee: Amounts, resource: string): boolean =>
  resource in guarantee || (!ofAllTypes.has(resource) && ALL_ACCELERATORS in guarantee);

/** Whether all child teams state guarantees whose sum does not exceed the team's own guarantee. */
function coversTeams(state: ReadonlyState, above: TeamName | null, resources: readonly string[]): boolean {
  const below = [...state.teams.values()].filter(({ parent }) => parent === above);
  return resources.every((resource) => {
    if (!below.every(({ guarantee = {} }) => isNamed(guarantee, resource))) return false;
    const sum = below.reduce((total, { name }) => total + rightfulOf(state, name, resource), 0);
    return above === null || sum <= rightfulOf(state, above, resource);
  });
}
