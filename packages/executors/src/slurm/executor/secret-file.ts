/** The file through which the batch script of a job gets the secret of its attempt's records. It removes the file when it claims the attempt. */
import path from "node:path";
import type { AttemptFiles } from "../../job-protocol/attempt-files.ts";

export const secretFileOf = ({ recordsDir }: AttemptFiles): string => path.join(recordsDir, "secret");
