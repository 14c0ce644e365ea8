/**
 * `checkpoint-request.json`: asks the workers of an attempt for a checkpoint. It lies where they can write, so it is no record: what is
 * read back is bounded by the caller, and what cannot be read counts as not asked.
 */
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { z } from "zod";
import type { AttemptFiles } from "./attempt-files.ts";

const checkpointRequest = z.object({
  requestedAtMs: z.number(),
  /** How long the stop waits for the checkpoint. */
  untilMs: z.number(),
});

/** Some hundred bytes; what is larger was not written here. */
const REQUEST_MAX_BYTES = 4096;

/** Until when a checkpoint is waited for; `null`: none was asked for. */
export function requestedUntilMs({ checkpointRequestFile }: AttemptFiles): number | null {
  try {
    const stat = statSync(checkpointRequestFile);
    if (!stat.isFile() || stat.size > REQUEST_MAX_BYTES) return null;
    return checkpointRequest.parse(JSON.parse(readFileSync(checkpointRequestFile, "utf8"))).untilMs;
  } catch {
    return null;
  }
}

export function requestCheckpoint({ checkpointRequestFile }: AttemptFiles, untilMs: number): void {
  const draft = `${checkpointRequestFile}.${process.pid}`;
  writeFileSync(draft, JSON.stringify({ version: 1, requestedAtMs: Date.now(), untilMs }), { mode: 0o600 });
  rmSync(checkpointRequestFile, { recursive: true, force: true });
  renameSync(draft, checkpointRequestFile);
}

export function withdrawCheckpointRequest({ checkpointRequestFile }: AttemptFiles): void {
  try {
    rmSync(checkpointRequestFile, { recursive: true, force: true });
  } catch {
    // Nothing is asked for any more, which is what was wanted.
  }
}
