/**
 * KAI's order of victims: the reverse of queue order. The team that would be served last loses work first, and within
 * it the workload that would be served last. A gang above its minimum loses its last worker; any other gang is evicted
 * completely.
 */
import { withoutLast, minWorkersOf, comparisons } from "@headroom/model";
import type { Attempt, Nomination, Workload } from "@headroom/model";
import { workloadOf } from "../../cluster/entities.ts";
import { partsOfUnit } from "../../preemption/plan.ts";
import type { VictimUnit } from "../../preemption/plan.ts";
import type { TeamNode } from "../../cluster/team-node.ts";
import { ACCELERATORS_AT, CORES_AT, MEMORY_AT, NOTHING } from "../../cluster/team-node.ts";
import type { World } from "../../cluster/world.ts";
import type { TeamShare, TeamShares } from "../../ordering/team-share.ts";
import { teamComparison } from "../../ordering/team-comparison.ts";
import type { Seen } from "../../ordering/team-comparison.ts";

/** An attempt or a nomination that can give up capacity. */
export interface Donor {
  readonly attempt: Attempt;
  readonly nomination: Nomination | null;
}

interface HeldUnits extends Donor {
  readonly workload: Workload;
  /** Number of workers that are not evicted yet. */
  left: number;
}

interface Branch {
  readonly node: TeamNode;
  readonly held: HeldUnits[];
  readonly children: Branch[];
  readonly parent: Branch | null;
  /** Capacity that was evicted so far from the team and the teams below it, by resource position. */
  readonly taken: number[];
}

export class VictimOrder {
  readonly #world: World;
  readonly #teamShares: TeamShares;
  readonly #branches = new Map<TeamNode, Branch>();
  readonly #top: Branch[] = [];
  readonly #compareTeams: (left: Seen, right: Seen) => number;

  constructor(world: World, teamShares: TeamShares, donors: readonly Donor[]) {
    this.#world = world;
    this.#teamShares = teamShares;
    this.#compareTeams = teamComparison(world.rules.teams.order);
    for (const { attempt, nomination } of donors) {
      const workload = workloadOf(world, attempt.workloadId);
      const branch = this.#branch(world.teamUse.node(workload.spec.team));
      branch.held.push({ attempt, nomination, workload, left: attempt.workers.length });
    }
  }

  #branch(node: TeamNode): Branch {
    const known = this.#branches.get(node);
    if (known !== undefined) return known;
    const parent = node.parent === null ? null : this.#branch(node.parent);
    const branch: Branch = { node, held: [], children: [], parent, taken: [0, 0, 0] };
    this.#branches.set(node, branch);
    (parent?.children ?? this.#top).push(branch);
    return branch;
  }

  /** The next unit to evict, or `null` if no unit is left. */
  next(): VictimUnit | null {
    let branch = this.#last(this.#top);
    while (branch !== null) {
      if (branch.held.length > 0) return this.#take(branch);
      branch = this.#last(branch.children);
    }
    return null;
  }

  /** The sibling team that would be served last, among teams that still have work to evict. */
  #last(branches: readonly Branch[]): Branch | null {
    let last: Branch | null = null;
    for (const branch of branches) {
      if (!holdsAnything(branch)) continue;
      if (last === null || this.#compareTeams(this.#seen(branch), this.#seen(last)) > 0) last = branch;
    }
    return last;
  }

  #seen({ node, taken }: Branch): Seen {
    return { teamShare: this.#teamShares.get(node) as TeamShare, request: NOTHING, taken };
  }

  #take(branch: Branch): VictimUnit {
    const { teamUse } = this.#world;
    const last = branch.held.reduce((found, held) => (compareHeld(this.#world, held, found) > 0 ? held : found));
    const { attempt, nomination, workload, left } = last;
    const { gang } = workload.spec;
    const least = minWorkersOf(gang);
    const isAbove = nomination === null && left > least;
    const keeps = isAbove ? Math.max(least, withoutLast(workload.spec, attempt.workers, left)) : 0;
    const unit: VictimUnit = { attempt, nomination, workload, keeps, upTo: left };
    const amount = teamUse.amountOfParts(partsOfUnit(unit), () => "");
    for (let at: Branch | null = branch; at !== null; at = at.parent) {
      at.taken[CORES_AT] = (at.taken[CORES_AT] as number) + amount.coresMilli;
      at.taken[MEMORY_AT] = (at.taken[MEMORY_AT] as number) + amount.memoryMib;
      at.taken[ACCELERATORS_AT] = (at.taken[ACCELERATORS_AT] as number) + amount.acceleratorsMilli;
    }
    last.left = keeps;
    if (keeps === 0) branch.held.splice(branch.held.indexOf(last), 1);
    return unit;
  }
}

const holdsAnything = (branch: Branch): boolean => branch.held.length > 0 || branch.children.some(holdsAnything);

/** The queue order of two donors in one team. A gang above its minimum comes after a gang at its minimum. */
function compareHeld({ rules }: World, left: HeldUnits, right: HeldUnits): number {
  const isAbove = ({ left: workers, workload }: HeldUnits): number =>
    Number(workers > minWorkersOf(workload.spec.gang));
  for (const key of rules.order) {
    const difference =
      key === "starting" ? isAbove(left) - isAbove(right) : (comparisons[key]?.(left.workload, right.workload) ?? 0);
    if (difference !== 0) return difference;
    if (key === "submitted") break;
  }
  return left.workload.ordinal - right.workload.ordinal || left.attempt.task - right.attempt.task;
}
