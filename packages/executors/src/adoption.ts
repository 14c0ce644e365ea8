/**
 * Work that exists in the system behind an executor and waits until this control plane places it, such as pods that name it as their
 * scheduler. The control plane submits a workload for it; the launch of that workload places the existing work and creates nothing.
 */
import type { WorkloadSpec } from "@headroom/model";

/** Variable of a workload's environment with the key of the work that it stands for. Users cannot set it. */
export const ADOPTED_WORK_VARIABLE = "HEADROOM_PODS";

export interface WaitingWork {
  /** Names the work for ever: other work, or the same work with other members, has another key. At most 128 characters. */
  readonly key: string;
  /** User to whom the workload belongs. */
  readonly actor: string;
  /** Its environment has the key as `ADOPTED_WORK_VARIABLE`. */
  readonly spec: WorkloadSpec;
}

/** A sentence for the owner of the work. A repeated sentence is shown once. */
export interface AdoptionNote {
  /** `refused`: the work is not placed until its owner changes something. `preempted`: it is ended for other work. */
  readonly kind: "waiting" | "refused" | "preempted";
  readonly message: string;
}

export interface WorkAdoption {
  /** Work that waits. `null`: the executor has no reliable view of it at present, which says nothing about any work. */
  waiting(): readonly WaitingWork[] | null;
  /**
   * Whether the system itself denies that the work waits: its view alone can be wrong, such as after an empty list. Throws if the system
   * does not answer.
   */
  isGone(key: string): Promise<boolean>;
  /** Shows a sentence where the owner of the work looks. It never throws; without contact the sentence is dropped. */
  tell(key: string, note: AdoptionNote): void;
}
