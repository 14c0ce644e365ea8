import type { Scenario } from "../scenario-file.ts";
import { playKai } from "./kai.ts";

/** Plays a scenario and returns how it came out otherwise than expected. */
export type Player = (scenario: Scenario) => readonly string[];

export const dialects: ReadonlyMap<string, Player> = new Map<string, Player>([["kai", playKai]]);
