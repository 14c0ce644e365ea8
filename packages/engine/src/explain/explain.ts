import type { Engine } from "../ready.ts";
import type { WorkloadId } from "../model/ids.ts";
import type { Verdict } from "../verdicts.ts";

/** Why a workload waits, computed on demand from the engine's state and indexes; `notWaiting` for everything else. */
export function explain(_engine: Engine, _id: WorkloadId): Verdict {
  throw new Error("being written");
}
