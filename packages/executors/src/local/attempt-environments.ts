/** The environment variables and directories of an attempt's workers. */
import { homedir, userInfo } from "node:os";
import path from "node:path";
import type { LaunchGang, WorkerAllocation } from "@headroom/model";
import { makeDirectory } from "@headroom/platform";
import type { AttemptFiles } from "./attempt-files.ts";
import { taskDirName } from "./attempt-names.ts";
import type { VisibleDevices } from "./worker-environment.ts";
import { workerEnvironments } from "./worker-environment.ts";

export interface EnvironmentSetup {
  readonly homeDir: string;
  readonly devicesOf: (worker: WorkerAllocation) => Promise<VisibleDevices>;
}

/** Creates the checkpoint directory if it is on this machine. */
export function checkpointDirOf({ homeDir }: EnvironmentSetup, launch: LaunchGang): string {
  const checkpointDir = launch.spec.checkpointDir ?? path.join(homeDir, "checkpoints", taskDirName(launch));
  if (launch.spec.checkpointDir === null) makeCheckpointDir(checkpointDir, 0o700);
  else if (path.isAbsolute(checkpointDir)) makeCheckpointDir(checkpointDir);
  return checkpointDir;
}

/** Environments by rank. */
export async function attemptEnvironments(
  setup: EnvironmentSetup,
  files: AttemptFiles,
  launch: LaunchGang,
  joinerNumber?: (rank: number) => number,
): Promise<Readonly<Record<string, string>>[]> {
  const place = {
    progressFile: files.progressFile,
    checkpointRequestFile: files.checkpointRequestFile,
    checkpointDir: checkpointDirOf(setup, launch),
    session: sessionOf(process.env),
    devices: await Promise.all(launch.workers.map((worker) => setup.devicesOf(worker))),
  };
  return workerEnvironments(launch, place, joinerNumber);
}

/** Failures are ignored: a workload that needs the directory fails with its own error. */
function makeCheckpointDir(directory: string, mode?: number): void {
  try {
    makeDirectory(directory, mode);
  } catch {
    // The failure is ignored, as stated above.
  }
}

/** Variables that a login sets. They are added if the control plane was started without a login, as a service. */
function sessionOf(environment: NodeJS.ProcessEnv): Readonly<Record<string, string | undefined>> {
  const { username, shell } = userInfo();
  return { HOME: homedir(), USER: username, LOGNAME: username, SHELL: shell ?? "/bin/sh", ...environment };
}
