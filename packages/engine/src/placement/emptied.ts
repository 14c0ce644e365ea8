/** The fleet as it would be if nothing ran, to ask the placing code what it could ever hold. */
import { Capacity } from "../cluster/capacity.ts";
import type { World } from "../cluster/world.ts";

/** Places by counts and wishes alone: neither scores nor cells, which know of what runs, have a say. */
export function emptied(world: World): World {
  const { rules } = world;
  const { shapes: _shapes, ...teams } = rules.teams;
  const fabric = rules.fabric.choose === "cells" ? ({ ...rules.fabric, choose: "fullest" } as const) : rules.fabric;
  return Object.assign(Object.create(world) as World, {
    capacity: emptyCapacity(world),
    rules: { ...rules, placement: "pack", teams, fabric },
  });
}

function emptyCapacity(world: World): Capacity {
  const { fleetEpoch, nodesEpoch } = world.capacity;
  if (world.emptied?.fleetEpoch === fleetEpoch) return world.emptied.capacity;
  const capacity = new Capacity();
  for (const node of world.state.nodes.values()) capacity.join(node, world.capacity.slot(node.id).isOpened);
  // The same nodes: what is remembered of their places in the fabric is true of both.
  capacity.nodesEpoch = nodesEpoch;
  world.emptied = { fleetEpoch, capacity };
  return capacity;
}
