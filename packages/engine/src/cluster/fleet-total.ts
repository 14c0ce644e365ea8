import { ACCELERATORS_AT, CORES_AT, MEMORY_AT } from "./team-node.ts";
import type { World } from "./world.ts";

/** Total cores, memory and accelerators of all usable nodes, and accelerators of each compared type, by position. */
export function fleetTotal({ capacity, teamUse }: World): readonly number[] {
  const total = [0, 0, 0];
  const named = new Map(teamUse.compared.map((position) => [teamUse.resources[position], position]));
  for (const position of teamUse.compared) total[position] = 0;
  for (const type of capacity.allTypes) {
    total[CORES_AT] = (total[CORES_AT] as number) + type.usableCoresMilli;
    total[MEMORY_AT] = (total[MEMORY_AT] as number) + type.usableMemoryMib;
    total[ACCELERATORS_AT] = (total[ACCELERATORS_AT] as number) + type.usableCount * 1000;
    for (const name of type.family === undefined ? [type.type] : [type.type, type.family]) {
      const position = named.get(name);
      if (position !== undefined) total[position] = (total[position] ?? 0) + type.usableCount * 1000;
    }
  }
  return total;
}
