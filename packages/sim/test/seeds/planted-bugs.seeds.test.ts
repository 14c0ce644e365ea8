import { describe, expect, it } from "vitest";
import { Violation } from "@headroom/sim";
import type { PlantedBug } from "./bent-views.ts";
import { plantedBugs, plantedEngines } from "./planted-bugs.ts";
import { runSeed } from "./run-seed.ts";
import { someOf } from "../../../../tools/testing/rotating.ts";

/**
 * Maximum number of seeds to find a planted bug. Most bugs are found within the first few seeds, bugs of rare
 * constraints within tens of seeds.
 */
const seedsMax = 1000;

function findBug(bug: PlantedBug): string {
  for (let seed = 1; seed <= seedsMax; seed++) {
    try {
      runSeed({ seed, restarts: "crashed", engines: plantedEngines(bug) });
    } catch (error) {
      if (error instanceof Violation) return error.message;
      throw error;
    }
  }
  return `not found in ${seedsMax} seeds`;
}

describe("the checkers find planted bugs", () => {
  it.each(someOf(plantedBugs, { suiteParts: 6 }))("$name", (bug) => {
    expect(findBug(bug)).toMatch(bug.found);
  });
});
