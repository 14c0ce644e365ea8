/**
 * Limits of all values in the API. Each limit exists so that one request cannot exhaust the control plane's memory or
 * block its event loop; each is far above ordinary use.
 */
import { z } from "zod";

/** Maximum size of a request body in bytes. A larger body is refused with 413 before it is read to its end. */
export const BODY_BYTES_MAX = 1_048_576;
export const PAGE_ITEMS_DEFAULT = 50;
export const PAGE_ITEMS_MAX = 500;
/** Paths of teams are the longest names (`names.teamName`). */
export const CURSOR_CHARS_MAX = 512;
export const ID_CHARS_MAX = 200;
export const IDEMPOTENCY_KEY_CHARS_MAX = 128;
/** Maximum length of a user name. Linux account names have at most 32 characters; names with a domain are longer. */
export const USER_CHARS_MAX = 64;
export const SEARCH_CHARS_MAX = 200;
export const REASON_CHARS_MAX = 200;

/**
 * Maximum number of sizes in an elastic gang's throughput curve. The curve names every size, so this limits the work of
 * a round when the gang grows.
 */
export const THROUGHPUT_SIZES_MAX = 1024;
/** Maximum throughput: a million times that of one worker. */
export const THROUGHPUT_MILLI_MAX = 1_000_000_000;
/**
 * Maximum number of workers of a gang, beyond any machine built so far (100,000 accelerators with 8 for each worker
 * make 12,500 workers).
 */
export const WORKERS_MAX = 20_000;
/**
 * Maximum number of accelerators of one node. The largest node on the market has 72 (GB200 NVL72); the limit is more
 * than ten times that.
 */
export const ACCELERATORS_PER_NODE_MAX = 1_024;
export const CORES_MILLI_MAX = 100_000_000;
/** Maximum memory of a node: one pebibyte. */
export const MEMORY_MIB_MAX = 1_073_741_824;
export const PRIORITY_MAX = 1_000_000;
export const TASKS_MAX = 1_000_000;
/** A round considers all replicas of one endpoint together. */
export const REPLICAS_MAX = 1_000;
export const RETRIES_MAX = 1_000;
/**
 * Minimum half-life of usage in ms. Usage with a shorter half-life would have decayed before the next round could use
 * it.
 */
export const HALF_LIFE_MS_MIN = 60_000;
/**
 * Maximum duration: ten years of 365 days, longer than any hardware generation. Added to any clock, it stays a safe
 * integer.
 */
export const DURATION_MS_MAX = 315_360_000_000;
/** Maximum number of runs remembered for each kind of work. */
export const PREDICT_FROM_MAX = 8;
export const GRACE_MS_MAX = 86_400_000;
export const COMMAND_CHARS_MAX = 65_536;
export const PATH_CHARS_MAX = 4_096;
export const ENVIRONMENT_ENTRIES_MAX = 500;
export const ENVIRONMENT_VALUE_CHARS_MAX = 32_768;
export const SECRETS_MAX = 50;
export const ACCELERATOR_TYPES_MAX = 16;
export const FABRIC_LEVELS_MAX = 8;
/**
 * Maximum depth of the team tree, deeper than any organisation. A path of this many names must still fit into
 * `names.teamName`.
 */
export const TEAM_DEPTH_MAX = 64;
/** Limits for amounts of a node or team. A larger amount is a typing error. */
export const ACCELERATOR_LIMIT_MAX = 100_000_000;
/**
 * Limits for a whole fleet: cores in thousandths, and memory in MiB, an exbibyte. The numbers stay safe integers in
 * thousandths.
 */
export const AMOUNT_MAX = 1_099_511_627_776;
export const AMOUNT_KINDS_MAX = 64;
export const TEAM_SHAPES_MAX = 64;
export const SHAPE_NODES_MAX = 10_000;
export const WEIGHT_MAX = 1_000_000;
/** Maximum number of steps that a pipeline declares. A run considers all of them together. */
export const PIPELINE_STEPS_MAX = 1_000;
/** Maximum number of steps for which one step waits. */
export const STEP_AFTER_MAX = 200;
export const PIPELINE_PARAMS_MAX = 100;
export const STEP_CONDITIONS_MAX = 20;
/** Maximum length of the value of a parameter. Each is an environment variable of every worker. */
export const PARAM_CHARS_MAX = 4_096;
/** Maximum number of items of a fan-out that are written down. Items that a step reports can be more. */
export const FAN_OUT_ITEMS_MAX = 1_000;
/** Maximum number of workloads of a run, or of a step, at one time. */
export const STEPS_AT_ONCE_MAX = 5_000;
/** Maximum number of pipelines in one request. */
export const APPLY_PIPELINES_MAX = 100;
/** Maximum number of hot spares of one pool, which is the maximum number of its nodes. */
export const HOT_SPARES_MAX = 100_000;
/** Maximum number of nodes of one capacity order. Larger purchases are several orders, which come at different times. */
export const ORDER_NODES_MAX = 10_000;
/** Maximum number of nodes of a pool that have labels of their own. */
export const LABELLED_NODES_MAX = 20_000;
/** Maximum number of labels of one node or one selector. */
export const LABELS_MAX = 64;
export const SLICES_MAX = 4;
/** Maximum number of task groups of one gang; serving and training systems have a handful of roles. */
export const GROUPS_MAX = 8;
/** Maximum number of anti-affinity sets that a workload belongs to or excludes. */
export const SETS_MAX = 16;
/** Maximum number of data sets that one workload reads or one place holds. */
export const DATASETS_MAX = 1_000;
export const DATASET_CHARS_MAX = 1_024;
export const DATA_RULES_MAX = 64;
/**
 * Maximum price of power: one hundred dollars per kilowatt-hour, a hundred times the highest hourly prices of any grid.
 */
export const MICRO_USD_PER_KWH_MAX = 100_000_000;
/** Minimum price of power. Prices are negative when there is more power than demand. */
export const MICRO_USD_PER_KWH_MIN = -MICRO_USD_PER_KWH_MAX;
/** Maximum carbon intensity. Power from lignite causes about 1,100 grams of carbon dioxide per kilowatt-hour. */
export const GRAMS_PER_KWH_MAX = 100_000;
/** Maximum number of steps in a series of prices or carbon: a month of hours. */
export const SERIES_STEPS_MAX = 744;
/** Minimum length of a step. Power markets use steps of a quarter of an hour or five minutes. */
export const SERIES_STEP_MS_MIN = 60_000;
export const ARTIFACTS_MAX = 64;
/** Places, inputs and aliases of one version of an artifact. */
export const PLACES_MAX = 128;
export const ARTIFACT_INPUTS_MAX = 256;
export const ALIASES_MAX = 64;
/** Metrics, parameters or tags of one version of an artifact. */
export const ARTIFACT_FIELDS_MAX = 64;
export const KEEP_VERSIONS_MAX = 10_000;
export const ARTIFACT_REF_CHARS_MAX = 600;
/** Maximum number of dependencies of one workload. */
export const PREDECESSORS_MAX = 64;
/** Maximum number of typical worker shapes in a policy. Published lists have a few hundred. */
export const TYPICAL_DEMAND_MAX = 2_000;
/** Maximum price of an accelerator: a million dollars per hour. */
export const PRICE_MICRO_USD_MAX = 1_000_000_000_000;

export const APPLY_SITES_MAX = 100;
export const POWER_CAPS_MAX = 2_000;
export const WATTS_MAX = 10_000_000_000;
export const APPLY_POOLS_MAX = 1_000;
export const APPLY_TEAMS_MAX = 10_000;
export const APPLY_WORKLOADS_MAX = 2_000;
export const APPLY_CALENDAR_MAX = 1_000;
/** A billion dollars. */
export const BUDGET_MICRO_USD_MAX = 1_000_000_000_000_000;
export const RESERVATION_USERS_MAX = 1_000;

/** An integer between two limits, both included. NaN, infinities, fractions and unsafe integers are refused. */
export function integer(min: number, max: number): z.ZodInt {
  return z.int(`must be a whole number between ${min} and ${max}`).min(min).max(max);
}

/** Rows of use that an imported history may have, and runs that are kept of it. Both are in every snapshot. */
export const PAST_USES_MAX = 4_000;
export const PAST_RUNS_MAX = 2_000;

/** An instant: milliseconds since the epoch of the control plane's clock. */
export const instantMs = z.int();
/** A count of things; never negative. */
export const count = z.int().nonnegative();
