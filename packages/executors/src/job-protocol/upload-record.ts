/** The store to which the artifacts of an attempt are uploaded. */
import type { LaunchGang } from "@headroom/model";

/** Part of the launch record, so that a later process uploads to the same place. */
export interface UploadRecord {
  readonly store: string;
  readonly team: string;
  /** Rule of the workload's data. Absent: none. */
  readonly rule?: string;
}

export const uploadOf = ({ spec }: LaunchGang): UploadRecord | null =>
  spec.data?.store === undefined
    ? null
    : {
        store: spec.data.store,
        team: spec.team,
        ...(spec.data.rule === undefined ? {} : { rule: spec.data.rule }),
      };
