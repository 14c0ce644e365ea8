/** Installs the strategies that decide preemption and placement. */
import type { VictimRule } from "../policy/strategies.ts";
import type { World } from "../cluster/world.ts";
import { installPlacement } from "../placement/strategy.ts";
import { lowestCost } from "../preemption/lowest-cost/lowest-cost.ts";
import { type PreemptionStrategy, installPreemption } from "../preemption/strategy.ts";
import { publishedScore } from "./fgd/scores.ts";
import { hived } from "./hived/hived.ts";
import { cellPlacement } from "./hived/place-in-cells.ts";
import { kai } from "./kai/kai.ts";
import { classical, fairSharing } from "./kueue/kueue.ts";
import { volcano } from "./volcano/volcano.ts";

/** Preemption strategies by the victim rule that the policy names. */
const strategies: { readonly [Name in VictimRule]: PreemptionStrategy } = {
  cells: hived,
  "lowest-cost": lowestCost,
  "kueue-fair-sharing": fairSharing,
  "kueue-classical": classical,
  volcano,
  kai,
};

/** Installs the strategies for an engine state whose indexes were just built. */
export function installStrategies(world: World): void {
  installPreemption(world, ({ rules }) => strategies[rules.eviction.search]);
  installPlacement(world, cellPlacement, publishedScore);
}
