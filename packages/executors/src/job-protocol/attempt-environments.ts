/** The environment variables and directories of an attempt's workers. */
import { randomUUID } from "node:crypto";
import { realpathSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import path from "node:path";
import type { LaunchGang, WorkerAllocation } from "@headroom/model";
import { makeDirectory } from "@headroom/platform";
import type { AttemptFiles } from "./attempt-files.ts";
import { checkpointRootOf } from "./attempt-files.ts";
import { ASIDE_PREFIX, taskDirName } from "./attempt-names.ts";
import type { FileOwner } from "./untrusted-files.ts";
import { ensureDirectory, inDirectory, isWithin, nameIn } from "./untrusted-files.ts";
import type { ResumePoint } from "./checkpoint-restore.ts";
import type { VisibleDevices } from "./worker-environment.ts";
import { workerEnvironments } from "./worker-environment.ts";

export interface EnvironmentSetup {
  readonly homeDir: string;
  readonly devicesOf: (worker: WorkerAllocation) => Promise<VisibleDevices>;
  /** User as whom the attempt runs. Absent: that of this process. */
  readonly owner?: FileOwner | undefined;
  /** Variables of a login of that user. Absent: those of this process. */
  readonly login?: Readonly<Record<string, string>> | undefined;
}

/**
 * Creates the checkpoint directory if it is on this machine. Failures are ignored: a workload that needs the directory
 * fails with its own error.
 */
export function checkpointDirOf(homeDir: string, launch: LaunchGang, owner: FileOwner | null = null): string {
  const { checkpointDir } = launch.spec;
  try {
    if (checkpointDir === null) makeOwnDirectory(checkpointRootOf(homeDir), taskDirName(launch).split("/"), owner);
    // A directory that another user names is created with the rights of that user: by the job.
    else if (owner === null && path.isAbsolute(checkpointDir) && isOpenToJobs(homeDir, checkpointDir))
      makeDirectory(checkpointDir);
  } catch {
    // The failure is ignored, as stated above.
  }
  return checkpointDir ?? path.join(checkpointRootOf(homeDir), taskDirName(launch));
}

/**
 * Whether a workload may name this directory. Checkpoints are the only part of the state directory that is open to jobs:
 * elsewhere the records of an attempt that is still to come could be created.
 */
export function isOpenToJobs(homeDir: string, directory: string): boolean {
  const resolved = realPath(path.resolve(directory));
  return !isWithin(realPath(homeDir), resolved) || isWithin(realPath(checkpointRootOf(homeDir)), resolved);
}

/** The path without links, as far as it exists. */
function realPath(directory: string): string {
  try {
    return realpathSync(directory);
  } catch {
    const parent = path.dirname(directory);
    return parent === directory ? directory : path.join(realPath(parent), path.basename(directory));
  }
}

/** An earlier attempt could have put a link in the place of a directory, so none is followed. */
function makeOwnDirectory(root: string, segments: readonly string[], owner: FileOwner | null): void {
  makeDirectory(root, 0o700);
  const trusted = realpathSync(root);
  for (const [depth, segment] of segments.entries())
    inDirectory(trusted, segments.slice(0, depth), (directory) => {
      if (owner === null) makeDirectory(nameIn(directory, segment), 0o700);
      else ensureDirectory(directory, segment, ASIDE_PREFIX + randomUUID(), depth === 0 ? owner : null);
    });
}

/** Environments by rank. */
export async function attemptEnvironments(
  setup: EnvironmentSetup,
  files: AttemptFiles,
  launch: LaunchGang,
  { joinerNumber, resume = null }: { joinerNumber?: (rank: number) => number; resume?: ResumePoint | null } = {},
): Promise<Readonly<Record<string, string>>[]> {
  const place = {
    progressFile: files.progressFile,
    checkpointRequestFile: files.checkpointRequestFile,
    checkpointDir: checkpointDirOf(setup.homeDir, launch, setup.owner),
    resume,
    session: { ...sessionOf(process.env), ...setup.login },
    devices: await Promise.all(launch.workers.map((worker) => setup.devicesOf(worker))),
  };
  return workerEnvironments(launch, place, joinerNumber);
}

/** Variables that a login sets. They are added if the control plane was started without a login, as a service. */
function sessionOf(environment: NodeJS.ProcessEnv): Readonly<Record<string, string | undefined>> {
  const { username, shell } = userInfo();
  return { HOME: homedir(), USER: username, LOGNAME: username, SHELL: shell ?? "/bin/sh", ...environment };
}
