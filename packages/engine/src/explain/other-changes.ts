/** Changes that others make, or that time brings: for each kind the values to try, the smallest change first, and what they are. */
import type { Input } from "../inputs.ts";
import type { NodeSpec } from "../model/fleet.ts";
import { nodeId } from "../model/ids.ts";
import { ALL_ACCELERATORS } from "../model/team.ts";
import type { Team } from "../model/team.ts";
import { stoppedByMs } from "../model/workload.ts";
import type { Attempt } from "../model/workload.ts";
import { expectedDurationMs } from "../schedule/backfill/expected-duration.ts";
import { emptyNodeWorkers } from "../schedule/place-on-type.ts";
import { matches } from "../schedule/place-wishes.ts";
import { amountAsked, quotaReached } from "../schedule/request.ts";
import { workloadOf } from "../state/entities.ts";
import { invariant } from "../state/invariant.ts";
import type { NodeSlot } from "../state/node-slot.ts";
import type { PlacementClass } from "../state/queue.ts";
import { ACCELERATORS_AT, CORES_AT, MEMORY_AT } from "../state/team-node.ts";
import type { TeamNode } from "../state/team-node.ts";
import type { World } from "../state/world.ts";
import type { Change } from "./change.ts";
import type { Values } from "./own-changes.ts";
import { trialCommand } from "./trials.ts";

export type OtherChange = Extract<
  Change,
  { readonly kind: "largerGuarantee" | "largerLimit" | "afterEnds" | "moreNodes" }
>;

/** What happens when it comes about. */
export function inputsOf(world: World, change: OtherChange, nowMs: number): readonly Input[] {
  switch (change.kind) {
    case "largerGuarantee":
    case "largerLimit":
      return [withTeam(world, change)];
    case "afterEnds":
      return expectedEnds(world, nowMs)
        .slice(0, change.count)
        .map(({ attempt }) => exitOf(attempt));
    default:
      return Array.from({ length: change.count }, (_, index) => ({
        kind: "nodeSeen",
        node: nodeLike(world, change.like, index),
      }));
  }
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
  return trialCommand({ kind: "apply", sites: [], pools: [], teams: [larger], workloads: [] });
}

const exitOf = ({ id, workers }: Attempt): Input => ({
  kind: "attemptExited",
  attemptId: id,
  exits: workers.map((_, worker) => ({ kind: "exited", worker, code: 0 })),
});

/** A node that is not there yet, in every way like one that is. */
function nodeLike({ state }: World, like: NodeSpec["id"], index: number): NodeSpec {
  const known = state.nodes.get(like);
  invariant(known !== undefined, `no node ${like}`);
  const { pool, fabric, acceleratorCount, coresMilli, memoryMib, labels, workersMax, acceleratorGroups } = known;
  return {
    id: nodeId(`${like}+${index + 1}`),
    pool,
    fabric,
    acceleratorCount,
    coresMilli,
    memoryMib,
    ...(labels === undefined ? {} : { labels }),
    ...(workersMax === undefined ? {} : { workersMax }),
    ...(acceleratorGroups === undefined ? {} : { acceleratorGroups }),
  };
}

interface Ending {
  readonly attempt: Attempt;
  readonly endMs: number;
}

/** Running attempts, those that are expected to end first before the others. */
function expectedEnds(world: World, nowMs: number): readonly Ending[] {
  return [...world.state.attempts.values()]
    .map((attempt): Ending => ({ attempt, endMs: expectedEndMs(world, attempt, nowMs) }))
    .toSorted((left, right) => left.endMs - right.endMs || left.attempt.placedSequence - right.attempt.placedSequence);
}

function expectedEndMs(world: World, { workloadId, stop, startedAtMs, placedAtMs }: Attempt, nowMs: number): number {
  const { spec } = workloadOf(world, workloadId);
  const endMs =
    stop === null
      ? (startedAtMs ?? placedAtMs) + expectedDurationMs(world, spec)
      : stoppedByMs(stop, spec.graceTimeoutMs);
  return Math.max(nowMs, endMs);
}

export function afterEnds(world: World, nowMs: number): Values<OtherChange> {
  const ends = expectedEnds(world, nowMs);
  return {
    count: ends.length,
    at: (index) => {
      const { attempt, endMs } = ends[index] as Ending;
      return { kind: "afterEnds", count: index + 1, workloadId: attempt.workloadId, expectedAtMs: endMs };
    },
  };
}

/** For each limit that is reached on a type that it accepts: what the limit would have to be, up to all that it needs. */
export function largerLimits(world: World, found: PlacementClass): readonly Values<OtherChange>[] {
  const reached = new Map<string, Values<OtherChange>>();
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
    reached.set(`${team} ${resource}`, { count: Math.ceil((most - from) / unit), at });
  }
  return [...reached.values()];
}

/** Where work that cannot be evicted stays within guarantees, where teams borrow, and where a guarantee is what others give way to. */
export function largerGuarantees(world: World, found: PlacementClass): readonly Values<OtherChange>[] {
  const { rules, teamUse } = world;
  const isReclaiming = rules.phases.some((phase) => phase === "reclaim" || phase === "refill");
  const isGuarded = world.capacity
    .acceptable(found.acceleratorTypes)
    .some(({ type }) => quotaReached(world, found, type) !== null);
  if (!isReclaiming && !isGuarded) return [];
  const lines: Values<OtherChange>[] = [];
  for (let node: TeamNode | null = teamUse.node(found.team); node !== null; node = node.parent)
    for (const resource of guaranteedResources(world, node, found))
      lines.push(guaranteeUp(world, { node, found, resource }));
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
  return { count: Math.max(0, most - least), at };
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

/** For each type that it accepts: nodes like the one beside which most is free, up to so many that they hold all of it. */
export function moreNodes(world: World, found: PlacementClass): readonly Values<OtherChange>[] {
  return world.capacity.acceptable(found.acceleratorTypes).flatMap(({ type, slots }) => {
    const like = besideMostFree(found, slots);
    if (like === null) return [];
    const most = Math.ceil(found.workers / emptyNodeWorkers(like, found.gang));
    const at = (index: number): OtherChange => ({
      kind: "moreNodes",
      count: index + 1,
      acceleratorType: type,
      like: like.node.id,
    });
    return [{ count: most, at }];
  });
}

/** A node that could hold a worker, in the narrowest domain that has most free; ties to the one that joined first. */
function besideMostFree({ gang, spec }: PlacementClass, slots: readonly NodeSlot[]): NodeSlot | null {
  const freeBeside = new Map<string, number>();
  const domainOf = ({ node }: NodeSlot): string => [node.pool, ...node.fabric].join("\u0000");
  for (const slot of slots)
    if (slot.usable) freeBeside.set(domainOf(slot), (freeBeside.get(domainOf(slot)) ?? 0) + slot.freeCount);
  let best: NodeSlot | null = null;
  for (const slot of slots) {
    if (emptyNodeWorkers(slot, gang) === 0 || (spec.nodeSelector !== undefined && !matches(slot, spec.nodeSelector)))
      continue;
    const free = (of: NodeSlot): number => freeBeside.get(domainOf(of)) ?? 0;
    if (best === null || free(slot) > free(best)) best = slot;
  }
  return best;
}
