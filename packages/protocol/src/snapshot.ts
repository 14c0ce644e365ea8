/** The present state of a control plane as bytes, for whoever wants to try things on it elsewhere. */
import { z } from "zod";
import { count, instantMs } from "@headroom/spec";
import { queryInteger } from "./page.ts";

export const snapshotQuery = z.strictObject({
  maxBytes: queryInteger(1, 999_999_999_999_999)
    .optional()
    .meta({ description: "A state that is larger is refused instead of sent." }),
});

export const snapshot = z.object({
  /** The engine of the same version restores itself from them; the form is that of the journal's snapshots, and no promise. */
  bytes: z.custom<Uint8Array>((value) => value instanceof Uint8Array),
  sequence: count,
  nowMs: instantMs,
});

/** Beside the bytes stand, as headers of the answer, the newest event of the state and the control plane's time. */
export const snapshotHeaders = {
  sequence: { name: "headroom-sequence", description: "The newest event that the state has taken in." },
  nowMs: { name: "headroom-now-ms", description: "The control plane's time when it was taken, ms since 1970." },
} as const;

export type SnapshotQuery = z.output<typeof snapshotQuery>;
export type Snapshot = z.output<typeof snapshot>;
