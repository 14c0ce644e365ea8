/** Nodes that do not respond to Slurm. After a restart of slurmctld all do so for a moment, which must not take hot spares or proofs from them. */
import type { HeldAmounts } from "../../job-protocol/attempt-records.ts";
import type { Cluster } from "./cluster-nodes.ts";

/** Three looks of the executor. */
const LASTS_MS = 15_000;

export class SilentNodes {
  /** Time of the first look at which the node was silent, by its name at Slurm. */
  #since: ReadonlyMap<string, number> = new Map();

  /** Amounts that new work cannot have: none of a node that has been silent for some looks, until SlurmdTimeout decides. */
  usedIn({ silent, used }: Pick<Cluster, "silent" | "used">, nowMs: number): ReadonlyMap<string, HeldAmounts> {
    const since = new Map([...silent.keys()].map((name) => [name, this.#since.get(name) ?? nowMs]));
    this.#since = since;
    const lasting = [...silent].filter(([name]) => nowMs - (since.get(name) ?? nowMs) >= LASTS_MS);
    return new Map([...used, ...lasting]);
  }
}
