/** The batch script of every job. It is fixed text: the attempt comes in arguments, which Slurm passes on as words. */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { randomUUID } from "node:crypto";
import path from "node:path";
import { fileURLToPath } from "node:url";

const SCRIPT = `#!/bin/sh
# Runs one attempt of Headroom. Arguments: Node.js, the supervisor, the shared directory, the attempt, KillWait in ms.
NODE_COMPILE_CACHE="$3/cache"
export NODE_COMPILE_CACHE
exec "$1" "$2" "$3" "$4" "$5"
`;

const supervisorPath = fileURLToPath(new URL("../agent/job-supervisor.ts", import.meta.url));

/** Writes the script if it is missing or differs. `sbatch` copies it at each submission, so it is out of reach of jobs. */
export function writeJobScript(directory: string): string {
  const file = path.join(directory, "headroom-job.sh");
  if (readIfThere(file) === SCRIPT) return file;
  const draft = `${file}.${randomUUID()}`;
  writeFileSync(draft, SCRIPT, { mode: 0o700, flag: "wx" });
  renameSync(draft, file);
  return file;
}

function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}

export const supervisorFile = (program: string | undefined): string =>
  program === undefined ? supervisorPath : path.join(program, path.basename(supervisorPath));
