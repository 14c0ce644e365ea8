/**
 * Inputs and uploads of pods through the directory that all nodes share: the control plane brings inputs into a cache there before the
 * pods are created, and uploads what they make. A pod sees the entries of its own inputs alone, and only to read them.
 */
import path from "node:path";
import { NodeCache } from "@headroom/stores";
import type { StoreSet } from "@headroom/stores";
import type { ExecutorInput } from "../../executor.ts";
import { InputStaging } from "../../job-protocol/input-staging.ts";
import { JobTransfers } from "../../job-protocol/job-transfers.ts";
import { readBootId } from "../../processes/process-table.ts";
import type { KubernetesSettings } from "../settings.ts";

export interface PodTransfers {
  readonly cache: NodeCache;
  readonly staging: InputStaging;
  /** `null`: what pods make stays where they write it. */
  readonly outputs: JobTransfers | null;
}

interface PodTransferSetup {
  readonly settings: KubernetesSettings;
  /** Directory of the executor on this machine, out of reach of pods. */
  readonly stateDir: string;
  readonly emit: (input: ExecutorInput) => void;
  readonly onProblem: (message: string) => void;
}

/** Whether pods get copies of their inputs. */
export const bringsInputs = ({ directory, readsStores }: KubernetesSettings): boolean =>
  directory !== undefined && !readsStores;

/** `null`: no stores are declared, no directory is shared, or pods read stores themselves. */
export function podTransfers(stores: StoreSet | undefined, setup: PodTransferSetup): PodTransfers | null {
  const { settings, stateDir, emit, onProblem } = setup;
  const { directory, leavesOutputs, uploadsOutputs } = settings;
  if (stores === undefined || directory === undefined || !bringsInputs(settings)) return null;
  const cache = new NodeCache({ dir: path.join(directory, "cache", "inputs"), bootId: readBootId() });
  /** Paths in file systems that are declared as stores; volumes of pods can have other bytes at the same path. */
  const isSeen = (at: string): boolean => stores.placeOf(`file://${path.resolve(at)}`) !== null;
  const dir = path.join(stateDir, "transfers");
  return {
    cache,
    staging: new InputStaging({ stores, cache, isSeen, onTransferred: emit }),
    outputs:
      leavesOutputs || !uploadsOutputs ? null : new JobTransfers({ stores, dir, shared: directory, emit, onProblem }),
  };
}
