/** How the attempts of this machine use stores: staged inputs, uploads of what they make, stored checkpoints. */
import path from "node:path";
import { NodeCache } from "@headroom/stores";
import type { StoreSet } from "@headroom/stores";
import type { ExecutorInput } from "../executor.ts";
import { CheckpointDrain } from "../job-protocol/checkpoint-drain.ts";
import { InputStaging } from "../job-protocol/input-staging.ts";
import { OutputUpload } from "../job-protocol/output-upload.ts";

interface StoreAccessSetup {
  readonly homeDir: string;
  readonly bootId: string;
  readonly emit: (input: ExecutorInput) => void;
  readonly onProblem: (message: string) => void;
}

export interface StoreAccess {
  readonly cache: NodeCache;
  readonly staging: InputStaging;
  readonly outputs: OutputUpload;
  readonly drain: CheckpointDrain;
}

/** `null` if no stores are declared for the executor. */
export function storeAccess(stores: StoreSet | undefined, setup: StoreAccessSetup): StoreAccess | null {
  if (stores === undefined) return null;
  const { homeDir, bootId, emit } = setup;
  const cache = openCache(stores, homeDir, bootId);
  const outputs = new OutputUpload(stores, path.join(homeDir, "cache", "uploads"), emit);
  return {
    cache,
    staging: new InputStaging({ stores, cache, onTransferred: emit }),
    outputs,
    drain: new CheckpointDrain({ ...setup, outputs, dir: path.join(homeDir, "cache", "drains"), homes: { homeDir } }),
  };
}

/** The cache of this machine. A declared store of the type local moves or bounds it, from the next start on. */
function openCache({ declarations }: StoreSet, homeDir: string, bootId: string): NodeCache {
  const declared = declarations.find((each) => each.type === "local");
  const dir = declared?.path ?? path.join(homeDir, "cache", "inputs");
  return new NodeCache({ dir, capacity: declared?.capacity, bootId });
}
