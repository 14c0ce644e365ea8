/**
 * The rule `nonPreemptible: unguaranteed`. Non-preemptible work within its team's own guarantee starts. Above this
 * guarantee, work may use idle capacity as long as the unused guarantees of other teams remain covered: by idle
 * capacity, and by preemptible work above guarantees, which can be reclaimed for them. So the guarantee of a team, or
 * of a team above it, never prevents a start that would be possible without this guarantee.
 */
import { isPreemptible } from "@headroom/model";
import type { TeamName } from "@headroom/model";
import { addAmount, passes, passesOtherType } from "./amount-vectors.ts";
import { amountHeld } from "./amounts.ts";
import { workloadOf } from "./entities.ts";
import { fleetTotal } from "./fleet-total.ts";
import { countsForTeam } from "./holdings.ts";
import type { NodeSlot } from "./node-slot.ts";
import { Slot } from "./scratch.ts";
import { amountAt, statedAmount } from "./team-node.ts";
import type { Amount, TeamNode } from "./team-node.ts";
import type { QuotaReached } from "./team-use.ts";
import type { Commitment } from "./unused-guarantees.ts";
import type { World } from "./world.ts";

/**
 * The first resource of which other teams' unused guarantees would not remain covered, or `null` if there is none. With
 * `usage` `none`, the check is made as if no other work ran; `limit` is then the largest amount that the guarantees
 * allow.
 */
export function unguaranteedReached(
  world: World,
  team: TeamName,
  amount: Amount,
  usage: "present" | "none",
): QuotaReached | null {
  const { unused, resources } = world.teamUse;
  const isAlone = usage === "none";
  const node = world.teamUse.node(team);
  if (isWithinOwn(node, isAlone ? [] : node.fixed, amount)) return null;
  const more = (position: number): number => amountAt(amount, position);
  const found = firstNotCovered(world, isAlone ? unused.leastRaisedBy(node, more) : unused.raisedBy(node, more));
  if (found === null) return null;
  const { position, coverable } = found;
  const others = found.committed - found.more;
  return {
    bound: "unguaranteed",
    team,
    resource: resources[position] as string,
    limit: statedAmount(position, isAlone ? Math.max(0, coverable - others) : coverable),
    used: isAlone ? 0 : statedAmount(position, others),
  };
}

/**
 * Whether this amount of non-preemptible work, added to the used amounts, stays within the guarantee that the team
 * itself states.
 */
const isWithinOwn = (node: TeamNode, used: readonly number[], amount: Amount): boolean =>
  node.guarantee.length > 0 && passesOtherType(node, amount) < 0 && passes(used, node.guarantee, amount) < 0;

function firstNotCovered(
  world: World,
  commitments: Iterable<Commitment>,
): (Commitment & { readonly coverable: number }) | null {
  let fleet: readonly number[] | null = null;
  for (const commitment of commitments) {
    fleet ??= fleetTotal(world);
    const { position, committed } = commitment;
    const usable = fleet[position] ?? 0;
    if (committed <= usable) continue;
    const coverable = usable + (heldOnClosedNodes(world)[position] ?? 0);
    if (committed > coverable) return { ...commitment, coverable };
  }
  return null;
}

interface HeldOnClosed {
  /** Key made of the epochs at which the amounts were counted. */
  readonly key: string;
  readonly amounts: readonly number[];
}
const knownHeld = new Slot<HeldOnClosed>(() => ({ key: "", amounts: [] }), { survivesUndo: false });

/**
 * Non-preemptible usage on nodes that take no work: it counts for its teams, but uses up nothing of the usable nodes.
 * No work starts there, so it changes only with these epochs.
 */
function heldOnClosedNodes(world: World): readonly number[] {
  const { capacity, teamUse, scratch } = world;
  const key = `${capacity.freedEpoch} ${capacity.fleetEpoch} ${teamUse.limitEpoch}`;
  const known = scratch.get(knownHeld);
  if (known.key === key) return known.amounts;
  const amounts: number[] = [];
  for (const { slots } of capacity.allTypes)
    for (const slot of slots) if (!slot.usable && slot.attempts.size > 0) addHeldOn(world, slot, amounts);
  scratch.set(knownHeld, { key, amounts });
  return amounts;
}

function addHeldOn(world: World, { node, attempts }: NodeSlot, amounts: number[]): void {
  for (const id of attempts.keys()) {
    const attempt = world.state.attempts.get(id);
    if (attempt === undefined || !countsForTeam(attempt)) continue;
    const { spec } = workloadOf(world, attempt.workloadId);
    if (isPreemptible(world.rules, spec)) continue;
    const workers = attempt.workers.filter((worker) => worker.node === node.id);
    const { acceleratorType } = attempt;
    if (workers.length > 0) addAmount(amounts, amountHeld(world, spec.gang, { workers, acceleratorType }), 1);
  }
}
