/**
 * `checkpoint-request.json` asks the workers of an attempt for a checkpoint. Workers can write to this file, so it is
 * not a trusted record: the caller limits the values that it reads, and an unreadable file counts as no request.
 */
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { z } from "zod";
import type { AttemptFiles } from "./attempt-files.ts";

const checkpointRequest = z.object({
  requestedAtMs: z.number(),
  /** Time in ms until which the stop waits for the checkpoint. */
  untilMs: z.number(),
});

/** Maximum size of the file. A request has about a hundred bytes; a larger file was not written by Headroom. */
const REQUEST_MAX_BYTES = 4096;

/** Time in ms until which a checkpoint is awaited; `null`: none was requested. */
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
    // The request does not exist any more, so there is nothing to withdraw.
  }
}
