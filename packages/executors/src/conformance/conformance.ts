/**
 * Cases that every executor must pass. They run real processes and need no test framework: a case passes when its `run`
 * resolves. Each case has its own executor and directories.
 */
import type { ExecutorAbility, ExecutorCapabilities } from "@headroom/model";
import { gangCases } from "./gang-cases.ts";
import { lifeCases } from "./life-cases.ts";
import { sizeCases } from "./size-cases.ts";
import { outputCases } from "./output-cases.ts";
import type { ConformanceSubject, OptionalOutput } from "./conformance-world.ts";
import { ConformanceWorld } from "./conformance-world.ts";

export interface ConformanceCase {
  readonly name: string;
  /** Capability without which the case does not apply. Absent: it applies to every executor. */
  readonly needs?: ExecutorAbility;
  /** Output without which the case does not apply. Absent: it applies to every executor. */
  readonly about?: OptionalOutput;
  run(world: ConformanceWorld): Promise<void>;
}

const resizing = sizeCases.map((each) => ({ ...each, needs: "resize" as const }));
export const conformanceCases: readonly ConformanceCase[] = [...lifeCases, ...gangCases, ...resizing, ...outputCases];

/** The cases for an executor with these capabilities. */
export const conformanceCasesFor = (
  capabilities: Partial<ExecutorCapabilities>,
  lacks: readonly OptionalOutput[] = [],
): readonly ConformanceCase[] =>
  conformanceCases.filter(
    ({ needs, about }) =>
      (needs === undefined || capabilities[needs] === true) && (about === undefined || !lacks.includes(about)),
  );

/** The time limit is here and not in the test framework, so that a case that hangs still cleans up. */
const CASE_TIMEOUT_MS = 45_000;

export async function runConformanceCase(subject: ConformanceSubject, conformanceCase: ConformanceCase): Promise<void> {
  const world = await ConformanceWorld.create(subject);
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`not done after ${CASE_TIMEOUT_MS} ms`)), CASE_TIMEOUT_MS);
  try {
    await Promise.race([conformanceCase.run(world), promise]);
  } finally {
    clearTimeout(timer);
    await world.dispose();
  }
}
