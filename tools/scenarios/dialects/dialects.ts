import type { Scenario } from "../scenario-file.ts";
import { playArmada } from "./armada.ts";
import { playKai } from "./kai.ts";
import { playVolcano } from "./volcano.ts";

/** Plays a scenario and returns how it came out otherwise than expected. */
export type Player = (scenario: Scenario) => readonly string[];

export const dialects: ReadonlyMap<string, Player> = new Map<string, Player>([
  ["armada", playArmada],
  ["kai", playKai],
  ["volcano-capacity", playVolcano],
]);
