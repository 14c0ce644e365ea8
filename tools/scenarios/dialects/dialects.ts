import type { Scenario } from "../scenario-file.ts";
import { playArmada } from "./armada.ts";
import { playHived } from "./hived.ts";
import { playKai } from "./kai.ts";
import { playKueueQuota } from "./kueue-quota.ts";
import { playKueueTopology } from "./kueue-topology.ts";
import { playVolcano } from "./volcano.ts";

/** Plays a scenario and returns the differences from the expected result. */
export type Player = (scenario: Scenario) => readonly string[];

export const dialects: ReadonlyMap<string, Player> = new Map<string, Player>([
  ["armada", playArmada],
  ["hived", playHived],
  ["kai", playKai],
  ["kueue-classic-hierarchical", playKueueQuota],
  ["kueue-fair-sharing", playKueueQuota],
  ["kueue-tas", playKueueTopology],
  ["volcano-capacity", playVolcano],
]);
