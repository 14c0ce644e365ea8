/**
 * The bounds of everything that crosses the wire. A bound exists so that one request cannot cost the control plane its
 * memory or its event loop; each is far above honest use and far below harm.
 */
import { z } from "zod";

/** A larger body is refused with 413 before it is read to its end. */
export const BODY_BYTES_MAX = 1_048_576;
export const PAGE_ITEMS_DEFAULT = 50;
export const PAGE_ITEMS_MAX = 500;
/** The longest names are the paths of teams (`names.teamName`). */
export const CURSOR_CHARS_MAX = 512;
export const ID_CHARS_MAX = 200;
export const IDEMPOTENCY_KEY_CHARS_MAX = 128;
/** Account names of Linux have at most 32; with a domain behind them they are longer. */
export const USER_CHARS_MAX = 64;
export const SEARCH_CHARS_MAX = 200;
export const REASON_CHARS_MAX = 200;

/** A gang this wide is beyond any machine built so far (100,000 accelerators at 8 a worker are 12,500 workers). */
/** A curve of an elastic gang names every size: a bound for what a round looks at when the gang grows. */
export const THROUGHPUT_SIZES_MAX = 1024;
/** A million times what one worker gets done. */
export const THROUGHPUT_MILLI_MAX = 1_000_000_000;
export const WORKERS_MAX = 20_000;
/** Accelerators of one node: the widest single-node domain on the market has 72 (GB200 NVL72); room for ten times that. */
export const ACCELERATORS_PER_NODE_MAX = 1_024;
export const CORES_MILLI_MAX = 100_000_000;
/** One pebibyte. */
export const MEMORY_MIB_MAX = 1_073_741_824;
export const PRIORITY_MAX = 1_000_000;
export const TASKS_MAX = 1_000_000;
export const RETRIES_MAX = 1_000;
/** Ten years of 365 days: longer than any hardware generation, and a safe integer added to any clock. */
/** Shorter than this nothing is remembered that a round would not see anyway. */
export const HALF_LIFE_MS_MIN = 60_000;
export const DURATION_MS_MAX = 315_360_000_000;
/** Of each kind of work so many runs are remembered. */
export const PREDICT_FROM_MAX = 8;
export const GRACE_MS_MAX = 86_400_000;
export const COMMAND_CHARS_MAX = 65_536;
export const PATH_CHARS_MAX = 4_096;
export const ENVIRONMENT_ENTRIES_MAX = 500;
export const ENVIRONMENT_VALUE_CHARS_MAX = 32_768;
export const ACCELERATOR_TYPES_MAX = 16;
export const FABRIC_LEVELS_MAX = 8;
/** Deeper than any organisation is; a path of so many names still has to fit into `names.teamName`. */
export const TEAM_DEPTH_MAX = 64;
/** A node or team limit beyond this is a slip of the finger. */
export const ACCELERATOR_LIMIT_MAX = 100_000_000;
/** Cores in thousandths and memory in MiB of a whole fleet: an exbibyte, and a safe integer when counted in thousandths. */
export const AMOUNT_MAX = 1_099_511_627_776;
export const AMOUNT_KINDS_MAX = 64;
export const TEAM_SHAPES_MAX = 64;
export const SHAPE_NODES_MAX = 10_000;
export const WEIGHT_MAX = 1_000_000;
/** Nodes of a pool that have labels of their own. */
/** Nodes of one pool that may be kept as spares: as many as a pool may have. */
export const HOT_SPARES_MAX = 100_000;
export const LABELLED_NODES_MAX = 20_000;
/** Labels of one node, or one selector. */
export const LABELS_MAX = 64;
export const SLICES_MAX = 4;
/** Kinds of worker in one gang; roles of a serving or training system are a handful. */
export const GROUPS_MAX = 8;
/** Sets that one workload belongs to, or keeps away from. */
export const SETS_MAX = 16;
/** What one workload reads, or one place holds. */
export const DATASETS_MAX = 1_000;
export const DATASET_CHARS_MAX = 1_024;
export const DATA_RULES_MAX = 64;
/** Workloads that one may wait for. */
/** A hundred dollars for a kilowatt-hour: a hundred times what the dearest grids asked for in an hour of need. */
export const MICRO_USD_PER_KWH_MAX = 100_000_000;
/** Markets pay whoever takes power that nobody wants. */
export const MICRO_USD_PER_KWH_MIN = -MICRO_USD_PER_KWH_MAX;
/** Burning lignite gives off about 1,100. */
export const GRAMS_PER_KWH_MAX = 100_000;
/** Steps of a series of prices or carbon: a month by the hour. */
export const SERIES_STEPS_MAX = 744;
/** Markets go by the quarter of an hour, or by five minutes. */
export const SERIES_STEP_MS_MIN = 60_000;
export const ARTIFACTS_MAX = 64;
export const PREDECESSORS_MAX = 64;
/** Kinds of worker that a policy calls typical: the published lists have a few hundred. */
export const TYPICAL_DEMAND_MAX = 2_000;
/** A million dollars an hour. */
export const PRICE_MICRO_USD_MAX = 1_000_000_000_000;

export const APPLY_SITES_MAX = 100;
export const APPLY_POOLS_MAX = 1_000;
export const APPLY_TEAMS_MAX = 10_000;
export const APPLY_WORKLOADS_MAX = 2_000;
export const APPLY_CALENDAR_MAX = 1_000;
/** A billion dollars. */
export const BUDGET_MICRO_USD_MAX = 1_000_000_000_000_000;
export const RESERVATION_USERS_MAX = 1_000;

/** An integer between two bounds, both inclusive; NaN, infinities, fractions and unsafe integers are refused. */
export function integer(min: number, max: number): z.ZodInt {
  return z.int(`must be a whole number between ${min} and ${max}`).min(min).max(max);
}

/** An instant: milliseconds since the epoch of the control plane's clock. */
export const instantMs = z.int();
/** A count of things; never negative. */
export const count = z.int().nonnegative();
