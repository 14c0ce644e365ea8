/**
 * `checkpoint-request.json` asks the workers of an attempt for a checkpoint. It is in a directory that an isolated job
 * sees and cannot write to. Without isolation a job can write there, so the file is not a trusted record: the caller
 * limits the values that it reads, and an unreadable file counts as no request.
 */
import { closeSync, fstatSync, readFileSync, unlinkSync } from "node:fs";
import { z } from "zod";
import type { AttemptFiles } from "./attempt-files.ts";
import { inDirectory, nameIn, openRegular, replaceFile } from "./untrusted-files.ts";

const checkpointRequest = z.object({
  requestedAtMs: z.number(),
  /** Time in ms until which the stop waits for the checkpoint. */
  untilMs: z.number(),
});

/** Maximum size of the file. A request has about a hundred bytes; a larger file was not written by Headroom. */
const REQUEST_MAX_BYTES = 4096;
const REQUEST_FILE = "checkpoint-request.json";

/** Time in ms until which a checkpoint is awaited; `null`: none was requested. */
export function requestedUntilMs(files: AttemptFiles): number | null {
  try {
    return inDirectory(files.requestRoot, [files.key.name], (directory) => {
      const file = openRegular(directory, REQUEST_FILE);
      try {
        if (fstatSync(file).size > REQUEST_MAX_BYTES) return null;
        return checkpointRequest.parse(JSON.parse(readFileSync(file, "utf8"))).untilMs;
      } finally {
        closeSync(file);
      }
    });
  } catch {
    return null;
  }
}

export function requestCheckpoint(files: AttemptFiles, untilMs: number): void {
  const request = JSON.stringify({ version: 1, requestedAtMs: Date.now(), untilMs });
  inDirectory(files.requestRoot, [files.key.name], (directory) => replaceFile(directory, REQUEST_FILE, request));
}

export function withdrawCheckpointRequest(files: AttemptFiles): void {
  try {
    inDirectory(files.requestRoot, [files.key.name], (directory) => unlinkSync(nameIn(directory, REQUEST_FILE)));
  } catch {
    // The request does not exist any more, or was replaced by something else, so there is nothing to withdraw.
  }
}
