/** The file through which the batch script of a job gets the secret of its attempt's records. It removes the file when it claims the attempt. */
import path from "node:path";
import { attemptsDirOf } from "../../job-protocol/attempt-files.ts";
import type { AttemptFiles } from "../../job-protocol/attempt-files.ts";
import { inDirectory, replaceFile } from "../../job-protocol/untrusted-files.ts";

const SECRET_FILE = "secret";

export const secretFileOf = ({ recordsDir }: AttemptFiles): string => path.join(recordsDir, SECRET_FILE);

/** Jobs on the nodes run as the same user and could have put a link in its place, to a file of the control plane's machine. */
export function writeSecret({ key }: AttemptFiles): void {
  inDirectory(attemptsDirOf(key.homeDir), [key.name], (directory) => replaceFile(directory, SECRET_FILE, key.secret));
}
