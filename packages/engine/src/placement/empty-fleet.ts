/** The fleet without running work: placement on it shows whether the fleet could ever hold a request. */
import { Capacity } from "../cluster/capacity.ts";
import { Slot } from "../cluster/scratch.ts";
import type { World } from "../cluster/world.ts";

/**
 * A view of the world in which nothing runs. Scores and the placement strategy are switched off there, because they
 * depend on running work.
 */
export function emptied(world: World): World {
  const { rules } = world;
  return Object.assign(Object.create(world) as World, {
    capacity: emptyCapacity(world),
    rules: { ...rules, placement: "pack", fabric: { ...rules.fabric, placedBy: null } },
  });
}

/** Capacity of the usable fleet with nothing running, as of a `Capacity.fleetEpoch`. */
const emptiedCapacity = new Slot(() => ({ fleetEpoch: -1, capacity: new Capacity() }), { survivesUndo: true });

function emptyCapacity(world: World): Capacity {
  const { fleetEpoch, nodesEpoch } = world.capacity;
  const known = world.scratch.get(emptiedCapacity);
  if (known.fleetEpoch === fleetEpoch) return known.capacity;
  const capacity = new Capacity();
  for (const { foreignUse: _none, ...node } of world.state.nodes.values())
    capacity.join(node, world.capacity.slot(node.id).isOpened);
  // The copy has the same nodes as the fleet, so caches of fabric positions are valid for both.
  capacity.nodesEpoch = nodesEpoch;
  capacity.meterPower(world.state);
  world.scratch.set(emptiedCapacity, { fleetEpoch, capacity });
  return capacity;
}
