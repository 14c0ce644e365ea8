/** Environment variables of a workload: names, values, and the variables that Headroom sets itself. */
import { z } from "zod";
import * as notation from "../encoding/notation.ts";
import { readText } from "../encoding/read-values.ts";
import * as limits from "../limits.ts";
import * as names from "../names.ts";
import { read, refuse, type Reading } from "../notation/reading.ts";

/**
 * Variables that the executor sets for every worker. If a manifest could set them, workers would not find each other or
 * their checkpoints.
 */
const reservedEnv: readonly string[] = [
  "RANK",
  "WORLD_SIZE",
  "LOCAL_RANK",
  "LOCAL_WORLD_SIZE",
  "GROUP_RANK",
  "NODE_RANK",
  "NNODES",
  "NPROC_PER_NODE",
  "MASTER_ADDR",
  "MASTER_PORT",
  "CUDA_VISIBLE_DEVICES",
  "ROCR_VISIBLE_DEVICES",
  "HEADROOM_WORKLOAD_ID",
  "HEADROOM_WORKLOAD_NAME",
  "HEADROOM_ATTEMPT_ID",
  "HEADROOM_TASK_INDEX",
  "HEADROOM_GROUP",
  "HEADROOM_GROUP_RANK",
  "HEADROOM_GROUP_SIZE",
  "HEADROOM_WORKERS_MIN",
  "HEADROOM_WORKERS_MAX",
  "HEADROOM_WORKER_ID",
  "HEADROOM_ACCELERATOR_PROFILE",
  "HEADROOM_ACCELERATOR_SLICE",
  "HEADROOM_CHECKPOINT_DIR",
  "HEADROOM_CHECKPOINT_EVERY_SECONDS",
  "HEADROOM_CHECKPOINT_REQUEST_FILE",
  "HEADROOM_PROGRESS_FILE",
  "HEADROOM_RESUME_CHECKPOINT",
  "HEADROOM_RESUME_STEP",
  "HEADROOM_PODS",
];

/** Whether Headroom sets the variable for every worker. */
export const isReservedVariable = (name: string): boolean => reservedEnv.includes(name);

function readEnvValue(name: string, value: unknown): Reading<string> {
  if (!names.environmentName.safeParse(name).success) return refuse("is not a valid name for an environment variable");
  if (isReservedVariable(name)) return refuse("is set by Headroom for every worker and cannot be set here");
  if (typeof value === "boolean" || Number.isSafeInteger(value)) return read(String(value));
  if (typeof value === "string" && value.trim() === "") return read(value);
  return readText(value, { lengthMax: limits.ENVIRONMENT_VALUE_CHARS_MAX, form: "a text" });
}

/** Variables of a workload, by name. */
export const environment = notation.entriesOf({
  wire: z
    .record(names.environmentName, names.environmentValue)
    .refine((entries) => Object.keys(entries).length <= limits.ENVIRONMENT_ENTRIES_MAX, {
      message: `must have at most ${limits.ENVIRONMENT_ENTRIES_MAX} entries`,
    }),
  kind: "mapping of names to texts",
  editor: { additionalProperties: { type: ["string", "number", "boolean"] } },
  max: limits.ENVIRONMENT_ENTRIES_MAX,
  readEntry: readEnvValue,
});
