/** Changes that others make, or that time brings: for each kind the values to try, the smallest change first, and what they are. */
import type { Input } from "../inputs.ts";
import type { TeamName } from "../model/ids.ts";
import { acceleratorsIn, partsOf } from "../model/gang.ts";
import { ALL_ACCELERATORS } from "../model/team.ts";
import type { Team } from "../model/team.ts";
import type { Attempt } from "../model/workload.ts";
import { expectedEndMs } from "../schedule/backfill/expected-duration.ts";
import { emptyNodeWorkers } from "../schedule/place-on-type.ts";
import { matches } from "../schedule/place-wishes.ts";
import { dataPlaces } from "../schedule/data-places.ts";
import { amountAsked, quotaReached } from "../schedule/request.ts";
import { workloadOf } from "../state/entities.ts";
import { invariant } from "../state/invariant.ts";
import type { NodeSlot } from "../state/node-slot.ts";
import type { PlacementClass } from "../state/queue.ts";
import { ACCELERATORS_AT, CORES_AT, MEMORY_AT } from "../state/team-node.ts";
import type { TeamNode } from "../state/team-node.ts";
import type { World } from "../state/world.ts";
import type { Change } from "./change.ts";
import type { OtherHope } from "./other-hope.ts";
import { isAlike, nodeLike } from "./node-like.ts";
import { trialCommand } from "./trials.ts";
import { growing } from "./values.ts";
import type { Values } from "./values.ts";

export type OtherChange = Extract<
  Change,
  {
    readonly kind:
      | "largerGuarantee"
      | "largerLimit"
      | "resumeNodes"
      | "laterWindow"
      | "fewerSpares"
      | "admitData"
      | "afterEnds"
      | "moreNodes";
  }
>;

/** Values of one kind, what happens when one of them comes about, and how they are looked at before any is tried. */
export interface OtherLine {
  readonly values: Values<OtherChange>;
  /** What leads to a value from another one that has come about (`null`: from none); `null`: nothing does. */
  inputs(change: OtherChange, from: OtherChange | null): readonly Input[] | null;
  /** What states things as they were before any of them; `null`: they are taken back one by one. */
  readonly before: readonly Input[] | null;
  /** The first that is not ruled out; their count: all are. */
  firstHope(hope: OtherHope): number;
  /** The first value beyond one that brings so many accelerators more; absent: values bring none, or cannot be told apart by them. */
  beyond?(index: number, missing: number): number;
}

/** Amounts of a team, larger and larger. */
function teamLine(world: World, values: Values<OtherChange>, name: TeamName): OtherLine {
  const inputs = (change: OtherChange): readonly Input[] =>
    change.kind === "largerLimit" || change.kind === "largerGuarantee" ? [withTeam(world, change)] : [];
  const before = [asDefined(world.state.teams.get(name) as Team)];
  return {
    values,
    inputs,
    before,
    firstHope: (hope) => {
      try {
        return hope.underTeam(values, inputs);
      } finally {
        hope.takeIn(before);
      }
    },
  };
}

function withTeam({ state }: World, change: OtherChange & { readonly kind: "largerGuarantee" | "largerLimit" }): Input {
  const team = state.teams.get(change.team);
  invariant(team !== undefined, `no team ${change.team}`);
  const amount = { [change.resource]: change.to };
  const larger: Team =
    change.kind === "largerGuarantee"
      ? { ...team, guarantee: { ...team.guarantee, ...amount } }
      : change.user === undefined
        ? { ...team, limit: { ...team.limit, ...amount } }
        : { ...team, userLimit: { ...team.userLimit, ...amount } };
  return asDefined(larger);
}

const asDefined = (team: Team): Input =>
  trialCommand({ kind: "apply", sites: [], pools: [], teams: [team], workloads: [] });

const exitOf = ({ id, workers }: Attempt): Input => ({
  kind: "attemptExited",
  attemptId: id,
  exits: workers.map((_, worker) => ({ kind: "exited", worker, code: 0 })),
});

const countOf = (change: OtherChange | null): number => (change !== null && "count" in change ? change.count : 0);

/** Of so many that happen one after the other those that are still to come; `null`: too many have happened. */
function furtherOf(all: readonly Input[], change: OtherChange, from: OtherChange | null): readonly Input[] | null {
  return countOf(from) > countOf(change) ? null : all.slice(countOf(from), countOf(change));
}

interface Ending {
  readonly attempt: Attempt;
  readonly endMs: number;
}

/** Running attempts, those that are expected to end first before the others. */
function expectedEnds(world: World, nowMs: number): readonly Ending[] {
  return [...world.state.attempts.values()]
    .map((attempt): Ending => {
      const { spec } = workloadOf(world, attempt.workloadId);
      return { attempt, endMs: Math.max(nowMs, expectedEndMs(world.rules, attempt, spec)) };
    })
    .toSorted((left, right) => left.endMs - right.endMs || left.attempt.placedSequence - right.attempt.placedSequence);
}

/**
 * Beyond those that make room for the work in question so many more ends are considered, which those take who are ahead of it. Where
 * they are not enough it waits for its turn, and that is what start estimates are about.
 */
const ENDS_FOR_OTHERS_MAX = 64;

/** Among others who wait it may be the first ends that let it pass, before there is room for those who are ahead. */
export function afterEnds(world: World, nowMs: number): OtherLine {
  const ends = expectedEnds(world, nowMs);
  const exits = ends.map(({ attempt }) => exitOf(attempt));
  const held = ends.map(({ attempt }) =>
    acceleratorsIn(partsOf(workloadOf(world, attempt.workloadId).spec.gang, attempt.workers)),
  );
  const at = (index: number): OtherChange => {
    const { attempt, endMs } = ends[index] as Ending;
    return { kind: "afterEnds", count: index + 1, workloadId: attempt.workloadId, expectedAtMs: endMs };
  };
  return {
    values: { count: ends.length, isMonotone: false, reach: ENDS_FOR_OTHERS_MAX, at },
    inputs: (change, from) => furtherOf(exits, change, from),
    before: null,
    firstHope: (hope) => hope.afterEnds(ends.map(({ attempt }) => attempt)) - 1,
    beyond: (index, missing) => {
      let next = index + 1;
      for (let still = missing - (held[next] ?? 0); still > 0 && next < held.length; still -= held[next] ?? 0) next++;
      return next;
    },
  };
}

/** For each limit that is reached on a type that it accepts: what the limit would have to be, up to all that it needs. */
export function largerLimits(world: World, found: PlacementClass): readonly OtherLine[] {
  const reached = new Map<string, OtherLine>();
  for (const { type } of world.capacity.acceptable(found.acceleratorTypes)) {
    const amount = amountAsked(world, found, type);
    const limit = world.teamUse.limitReached(found, amount);
    if (limit === null) continue;
    const { team, resource, limit: from, used, user } = limit;
    const unit = unitOf(resource);
    const most = used + neededOf(world, found, resource);
    const at = (index: number): OtherChange => ({
      kind: "largerLimit",
      team,
      resource,
      from,
      to: Math.min(most, from + (index + 1) * unit),
      ...(user === undefined ? {} : { user }),
    });
    const values = growing(Math.ceil((most - from) / unit), at);
    reached.set(`${team} ${resource}`, teamLine(world, values, team));
  }
  return [...reached.values()];
}

/** Where work that cannot be evicted stays within guarantees, where teams borrow, and where a guarantee is what others give way to. */
export function largerGuarantees(world: World, found: PlacementClass): readonly OtherLine[] {
  const { rules, teamUse } = world;
  const isReclaiming = rules.phases.some((phase) => phase === "reclaim" || phase === "refill");
  const isGuarded = world.capacity
    .acceptable(found.acceleratorTypes)
    .some(({ type }) => quotaReached(world, found, type) !== null);
  if (!isReclaiming && !isGuarded) return [];
  const lines: OtherLine[] = [];
  for (let node: TeamNode | null = teamUse.node(found.team); node !== null; node = node.parent)
    for (const resource of guaranteedResources(world, node, found))
      lines.push(teamLine(world, guaranteeUp(world, { node, found, resource }), node.name));
  return lines;
}

/** The resources of the request of which the team states a guarantee; accelerators of any type where it states none. */
function guaranteedResources(
  { capacity }: World,
  { team }: TeamNode,
  { gang, acceleratorTypes }: PlacementClass,
): readonly string[] {
  const asked = new Set(capacity.acceptable(acceleratorTypes).map(({ type }) => type));
  const stated = Object.keys(team.guarantee ?? {}).filter(
    (resource) => asked.has(resource) || resource === ALL_ACCELERATORS,
  );
  return stated.length > 0 || gang.accelerators === 0 ? stated : [ALL_ACCELERATORS];
}

interface Guarantee {
  readonly node: TeamNode;
  readonly found: PlacementClass;
  readonly resource: string;
}

function guaranteeUp(world: World, { node, found, resource }: Guarantee): Values<OtherChange> {
  const position = world.teamUse.position(resource);
  const used = (node.used[position] ?? 0) / (position >= ACCELERATORS_AT ? 1000 : 1);
  const from = node.team.guarantee?.[resource] ?? null;
  const most = Math.ceil(used + neededOf(world, found, resource));
  const least = Math.floor(from ?? 0);
  const at = (index: number): OtherChange => ({
    kind: "largerGuarantee",
    team: node.name,
    resource,
    from,
    to: least + index + 1,
  });
  return growing(most - least, at);
}

/** Cores by the whole one, memory by the GiB, accelerators one by one. */
function unitOf(resource: string): number {
  if (resource === "cores") return 1000;
  return resource === "memory" ? 1024 : 1;
}

/** What the request asks of a resource, in the unit in which teams state it. */
function neededOf(world: World, found: PlacementClass, resource: string): number {
  const amount = amountAsked(world, found, "");
  const position = world.teamUse.position(resource);
  if (position === CORES_AT) return amount.coresMilli;
  return position === MEMORY_AT ? amount.memoryMib : amount.acceleratorsMilli / 1000;
}

/** So many kinds of nodes of a type are told apart; of more it is the one beside which most is free. */
const KINDS_MAX = 4;

/** For each type that it accepts: nodes like one of each kind that could hold a worker, up to so many that they hold all of it. */
export function moreNodes(world: World, found: PlacementClass): readonly OtherLine[] {
  return world.capacity
    .acceptable(found.acceleratorTypes)
    .flatMap(({ slots }) => kindsOfNodes(world, found, slots).map((like) => joining(found, like)));
}

function joining({ workers, gang }: PlacementClass, like: NodeSlot): OtherLine {
  const { id, acceleratorType } = like.node;
  const most = Math.ceil(workers / emptyNodeWorkers(like, gang));
  const at = (index: number): OtherChange => ({ kind: "moreNodes", count: index + 1, acceleratorType, like: id });
  const nodes = Array.from({ length: most }, (_, index): Input => ({
    kind: "nodeSeen",
    node: nodeLike(like.node, index),
  }));
  return {
    values: growing(most, at),
    inputs: (change, from) => furtherOf(nodes, change, from),
    before: null,
    firstHope: (hope) => Math.min(most, (hope.nodesLike(id) ?? most + 1) - 1),
    beyond: (index, missing) => index + Math.max(1, Math.ceil(missing / Math.max(1, like.totalCount))),
  };
}

/** One of each kind of those that could hold a worker; first the one in the narrowest domain that has most free, ties to who joined first. */
function kindsOfNodes(world: World, found: PlacementClass, slots: readonly NodeSlot[]): readonly NodeSlot[] {
  const { gang, spec } = found;
  const data = dataPlaces(world, spec);
  const could = slots.filter(
    (slot) =>
      data.admits(slot) &&
      emptyNodeWorkers(slot, gang) > 0 &&
      (spec.nodeSelector === undefined || matches(slot, spec.nodeSelector)),
  );
  const best = besideMostFree(slots, could);
  if (best === null) return [];
  const kinds = [best];
  for (const slot of could) {
    if (kinds.some(({ node }) => isAlike(node, slot.node))) continue;
    if (kinds.length === KINDS_MAX) return [best];
    kinds.push(slot);
  }
  return kinds;
}

function besideMostFree(slots: readonly NodeSlot[], among: readonly NodeSlot[]): NodeSlot | null {
  const freeBeside = new Map<string, number>();
  const domainOf = ({ node }: NodeSlot): string => [node.pool, ...node.fabric].join("\u0000");
  for (const slot of slots)
    if (slot.usable) freeBeside.set(domainOf(slot), (freeBeside.get(domainOf(slot)) ?? 0) + slot.freeCount);
  const free = (of: NodeSlot): number => freeBeside.get(domainOf(of)) ?? 0;
  return among.reduce<NodeSlot | null>((best, slot) => (best === null || free(slot) > free(best) ? slot : best), null);
}
