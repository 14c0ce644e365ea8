/** The store to which the checkpoints of an attempt are drained. Part of the launch record. */
import { checkpointArtifact } from "@headroom/model";
import type { LaunchGang } from "@headroom/model";
import type { UploadRecord } from "./upload-record.ts";

export interface DrainRecord extends UploadRecord {
  /** Name of the artifact whose versions the checkpoints are, without kind and team. */
  readonly name: string;
  readonly task: number;
  /** Checkpoints whose step is a multiple of it are drained even if a newer one waits. Absent: only the newest waits. */
  readonly every?: number;
}

/** `null`: the checkpoints stay where they are. */
export function drainOf({ spec, task }: LaunchGang): DrainRecord | null {
  if (spec.kind !== "train" || spec.checkpointStore === undefined) return null;
  return {
    store: spec.checkpointStore,
    team: spec.team,
    name: checkpointArtifact(spec).name,
    task,
    ...(spec.data?.rule === undefined ? {} : { rule: spec.data.rule }),
    ...(spec.checkpointKeepEvery === undefined ? {} : { every: spec.checkpointKeepEvery }),
  };
}
