/** Resources held by placed workers, by the accelerator type of their nodes. */
import { partsOf } from "@headroom/model";
import type { GangPart, GangSpec, WorkerAllocation } from "@headroom/model";
import type { Amount } from "./team-node.ts";
import type { World } from "./world.ts";

export interface Held {
  readonly workers: readonly WorkerAllocation[];
  readonly acceleratorType: string;
}

export function amountHeld(world: Pick<World, "teamUse" | "capacity">, gang: GangSpec, held: Held): Amount {
  if (gang.taskGroups === undefined && gang.acceleratorMemoryMib === undefined)
    return world.teamUse.amountOf(gang, held.workers.length, held.acceleratorType);
  return amountOfUnlike(world, gang, held);
}

/** Adds up workers that differ in their amounts: task groups, or shares of accelerators with different memory. */
function amountOfUnlike(
  { teamUse, capacity }: Pick<World, "teamUse" | "capacity">,
  gang: GangSpec,
  held: Held,
): Amount {
  const { workers, acceleratorType } = held;
  if (gang.taskGroups === undefined) return teamUse.amountOfParts(partsOf(gang, workers), () => acceleratorType);
  return teamUse.amountOfParts(partsOf(gang, workers), (part) => typeOfPart(capacity, held, part));
}

/** The workers of each kind, with their accelerator type. Kinds without workers are left out. */
export function partsByType(
  { capacity }: Pick<World, "capacity">,
  gang: GangSpec,
  held: Held,
): readonly (GangPart & { readonly type: string })[] {
  if (gang.taskGroups === undefined)
    return partsOf(gang, held.workers).map((part) => ({ ...part, type: held.acceleratorType }));
  return partsOf(gang, held.workers)
    .filter(({ workers }) => workers > 0)
    .map((part) => ({ ...part, type: typeOfPart(capacity, held, part) }));
}

function typeOfPart(capacity: World["capacity"], { workers }: Held, { group }: GangPart): string {
  const first = workers.find((worker) => worker.taskGroup === group);
  return first === undefined ? "" : capacity.slot(first.node).node.acceleratorType;
}
