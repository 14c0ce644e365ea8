/** Records that an attempt never starts, or is lost. */
import type { LossCause } from "@headroom/model";
import { makeDirectory } from "@headroom/platform";
import type { AttemptFiles } from "./attempt-files.ts";
import { isMissing } from "./attempt-files.ts";

/** Claims an unclaimed attempt, so that it never starts. Returns false if a supervisor has already claimed it. */
export function voidAttempt(files: AttemptFiles, detail: string, cause?: LossCause): boolean {
  if (!files.create("claim.json", { kind: "void", detail })) return false;
  recordLost(files, { detail, cause });
  return true;
}

/** Records the loss durably; the first record of an end is kept. */
export function recordLost(
  files: AttemptFiles,
  { detail, cause }: { readonly detail: string; readonly cause?: LossCause | undefined },
): void {
  const record = { kind: "lost", endedAtMs: Date.now(), detail, ...(cause === undefined ? {} : { cause }) } as const;
  try {
    files.createDurably("exit.json", record);
  } catch (error) {
    if (!isMissing(error)) throw error;
    // All records were removed. The end is recorded, so that the next start of the control plane finds it on disk.
    makeDirectory(files.recordsDir, 0o700);
    files.createDurably("exit.json", record);
  }
}
