import { attemptId, workloadId } from "@headroom/model";
import type { LaunchRecord } from "../../job-protocol/attempt-records.ts";

/** The record of a launch with one worker that runs `true`. */
export const launchRecord: LaunchRecord = {
  attemptId: attemptId("w1.1"),
  workloadId: workloadId("w1"),
  sequence: 1,
  bootId: "",
  run: "true",
  workingDir: "/",
  checkpointDir: "/",
  graceTimeoutMs: 5_000,
  log: { fileMaxBytes: 1_024, filesKept: 2 },
  environments: [{}],
};
