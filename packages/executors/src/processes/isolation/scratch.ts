/** Removes what only the running workers of an attempt need: their /tmp and their shared memory. */
import { rmdirSync } from "node:fs";
import type { LaunchRecord } from "../../job-protocol/attempt-records.ts";
import { TreeRemover } from "../tree-remover.ts";
import { hasCode } from "../../job-protocol/untrusted-files.ts";

const remover = new TreeRemover();

/** Call it only when no process of the attempt runs. A failure is ignored: the end of the attempt must not depend on it. */
export async function removeScratch({ isolation }: LaunchRecord): Promise<void> {
  const full = (isolation?.bubblewrap?.scratchDirs ?? []).filter((directory) => !isRemovedEmpty(directory));
  await remover.remove(full).catch(() => undefined);
}

/** Most are empty, and no process is needed for them. */
function isRemovedEmpty(directory: string): boolean {
  try {
    rmdirSync(directory);
    return true;
  } catch (error) {
    return hasCode(error, "ENOENT");
  }
}
