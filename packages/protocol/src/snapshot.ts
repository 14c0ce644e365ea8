/** The present state of a control plane as bytes, for clients that try changes on a copy. */
import { z } from "zod";
import { count, instantMs } from "@headroom/spec";
import { queryInteger } from "./page.ts";

export const snapshotQuery = z.strictObject({
  maxBytes: queryInteger(1, 999_999_999_999_999)
    .optional()
    .meta({ description: "Size limit in bytes: a larger state is refused instead of sent." }),
});

export const snapshot = z.object({
  /**
   * The bytes, from which an engine of the same version can be restored. They have the format of the journal's
   * snapshots, which can change.
   */
  bytes: z.custom<Uint8Array>((value) => value instanceof Uint8Array),
  sequence: count,
  nowMs: instantMs,
});

/** Headers that accompany the bytes: the sequence of the state's newest event, and the control plane's time. */
export const snapshotHeaders = {
  sequence: { name: "headroom-sequence", description: "Sequence number of the newest event in the state." },
  nowMs: {
    name: "headroom-now-ms",
    description: "The control plane's time at which the bytes were made, in ms since 1970.",
  },
} as const;

export type SnapshotQuery = z.output<typeof snapshotQuery>;
export type Snapshot = z.output<typeof snapshot>;
