/**
 * What every executor must do, as cases that run real processes and need no test framework: a case passes when its `run`
 * resolves. Each gets a world of its own; whoever runs them gives them a time limit.
 */
import { gangCases } from "./gang-cases.ts";
import { lifeCases } from "./life-cases.ts";
import { outputCases } from "./output-cases.ts";
import type { ConformanceSubject } from "./conformance-world.ts";
import { ConformanceWorld } from "./conformance-world.ts";

export interface ConformanceCase {
  readonly name: string;
  run(world: ConformanceWorld): Promise<void>;
}

export const conformanceCases: readonly ConformanceCase[] = [...lifeCases, ...gangCases, ...outputCases];

export async function runConformanceCase(subject: ConformanceSubject, conformanceCase: ConformanceCase): Promise<void> {
  const world = await ConformanceWorld.create(subject);
  try {
    await conformanceCase.run(world);
  } finally {
    await world.dispose();
  }
}
