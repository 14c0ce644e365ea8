/**
 * Every option of `sbatch` (Slurm 22.05's manual page and `sbatch --help`, and the options of later versions): its names, its
 * argument, its variable, and what it becomes in Headroom, or why it is not honoured. `docs/reference/sbatch.md` is
 * generated from this table.
 */

export interface SlurmOption {
  readonly long: string;
  readonly short?: string;
  readonly argument: "none" | "required" | "optional";
  /** Variable of the submitter's environment that sets the option. */
  readonly variable?: string;
  /** Field of the workload, or other effect. Absent: the option is not honoured. */
  readonly becomes?: string;
  /** Why the option is not honoured; with `becomes`: which of its values are not. */
  readonly ignored?: string;
  /** Added after Slurm 22.05. An abbreviation prefers options that 22.05 has. */
  readonly isLater?: true;
}

const NO_PARTITIONS =
  "Headroom has no partitions; accelerator types (--gres=gpu:TYPE:N), node labels (--constraint) and teams choose the place";
const NO_BINDING = "Headroom does not bind processes to cores, sockets or devices";
const NO_TOPOLOGY = "Headroom reserves cores, not sockets or threads";
const PLUGIN = "belongs to a plugin that Headroom does not have";
const OF_SUBMISSION = "concerns the sbatch command, not the job";
const ADMINISTRATION = "is decided by the administrator of Headroom";
const NO_POWER = "Headroom does not set frequencies or power";

const honoured = (
  names: string,
  argument: SlurmOption["argument"],
  becomes: string,
  more: Pick<SlurmOption, "variable" | "ignored" | "isLater"> = {},
): SlurmOption => ({ ...namesOf(names), argument, becomes, ...more });

const refused = (
  names: string,
  argument: SlurmOption["argument"],
  ignored: string,
  more: Pick<SlurmOption, "variable" | "isLater"> = {},
): SlurmOption => ({ ...namesOf(names), argument, ignored, ...more });

function namesOf(names: string): Pick<SlurmOption, "long" | "short"> {
  const [long = "", short] = names.split(" ");
  return short === undefined ? { long } : { long, short };
}

const later = { isLater: true } as const;

export const slurmOptions: readonly SlurmOption[] = [
  honoured("account A", "required", "`team`", { variable: "SBATCH_ACCOUNT" }),
  refused("acctg-freq", "required", "Headroom samples at intervals of its own", { variable: "SBATCH_ACCTG_FREQ" }),
  honoured("array a", "required", "`kind: batch`, `tasks`; `%N`: `tasksAtOnce`", { variable: "SBATCH_ARRAY_INX" }),
  refused("batch", "required", "the script runs on the first worker", { variable: "SBATCH_BATCH" }),
  refused("bb", "required", PLUGIN),
  refused("bbf", "required", PLUGIN),
  honoured("begin b", "required", "`notBefore`"),
  honoured("chdir D", "required", "`dir`"),
  refused("cluster-constraint", "required", "Headroom has one queue over all pools"),
  refused("clusters M", "required", "Headroom has one queue over all pools", { variable: "SBATCH_CLUSTERS" }),
  refused("comment", "required", "Headroom keeps no comments"),
  refused("consolidate-segments", "none", NO_TOPOLOGY, later),
  honoured("constraint C", "required", "`accelerator` for accelerator types, else `selector`", {
    variable: "SBATCH_CONSTRAINT",
    ignored: "alternatives of labels, counts and brackets",
  }),
  refused("container", "required", "is a bundle of OCI, not an image; image in a workload file names one", {
    variable: "SBATCH_CONTAINER",
  }),
  refused("container-id", "required", "is a bundle of OCI, not an image; image in a workload file names one", later),
  refused("contiguous", "none", "nodes have no order in Headroom; `fabric` keeps workers near each other"),
  refused("core-spec S", "required", NO_TOPOLOGY, { variable: "SBATCH_CORE_SPEC" }),
  refused("cores-per-socket", "required", NO_TOPOLOGY),
  refused("cpu-freq", "required", NO_POWER),
  honoured("cpus-per-gpu", "required", "`gang.cores`", { variable: "SBATCH_CPUS_PER_GPU" }),
  honoured("cpus-per-task c", "required", "`gang.cores`"),
  honoured("deadline", "required", "`deadline`, by which policies can order; the job is not removed after it"),
  refused("delay-boot", "required", "Headroom does not boot nodes", { variable: "SBATCH_DELAY_BOOT" }),
  honoured("dependency d", "required", "`after`", {
    ignored: "`after`, `aftercorr`, `singleton`, `expand`, and alternatives with `?`",
  }),
  refused("distribution m", "required", NO_BINDING, { variable: "SBATCH_DISTRIBUTION" }),
  honoured("error e", "required", "standard error goes to the file", { variable: "SBATCH_ERROR" }),
  refused("exclude x", "required", "Headroom chooses nodes by labels (`selector`), not by name"),
  honoured("exclusive", "optional", "`antiAffinity.exclusive`", {
    variable: "SBATCH_EXCLUSIVE",
    ignored: "`user`, `mcs`, `topo`",
  }),
  honoured("export", "required", "variables of the submitter", { variable: "SBATCH_EXPORT" }),
  refused("export-file", "required", "state the variables with --export or `headroom run --env`"),
  refused("external-launcher", "none", OF_SUBMISSION, later),
  refused("extra", "required", "Headroom keeps no comments", later),
  refused("extra-node-info B", "required", NO_TOPOLOGY),
  refused("get-user-env", "optional", "the job gets the environment of the submission", {
    variable: "SBATCH_GET_USER_ENV",
  }),
  refused("gid", "required", ADMINISTRATION),
  refused("gpu-bind", "required", NO_BINDING, { variable: "SBATCH_GPU_BIND" }),
  refused("gpu-freq", "required", NO_POWER, { variable: "SBATCH_GPU_FREQ" }),
  honoured("gpus G", "required", "`gang.accelerators`, `accelerator`", { variable: "SBATCH_GPUS" }),
  honoured("gpus-per-node", "required", "`gang.accelerators`, `accelerator`", { variable: "SBATCH_GPUS_PER_NODE" }),
  refused("gpus-per-socket", "required", NO_TOPOLOGY),
  honoured("gpus-per-task", "required", "`gang.accelerators`, `accelerator`", { variable: "SBATCH_GPUS_PER_TASK" }),
  honoured("gres", "required", "`gang.accelerators`, `accelerator`, `gang.profile` (MIG), `gang.share` (MPS)", {
    variable: "SBATCH_GRES",
    ignored: "resources other than `gpu` and `mps`",
  }),
  refused("gres-flags", "required", NO_BINDING, { variable: "SBATCH_GRES_FLAGS" }),
  refused("help h", "none", OF_SUBMISSION),
  refused("hint", "required", NO_BINDING, { variable: "SBATCH_HINT" }),
  honoured("hold H", "none", "held until `headroom release`"),
  refused("ignore-pbs", "none", "Headroom never reads lines of PBS"),
  honoured("input i", "required", "standard input comes from the file", { variable: "SBATCH_INPUT" }),
  honoured("job-name J", "required", "`name`", { variable: "SBATCH_JOB_NAME" }),
  honoured("kill-on-invalid-dep", "required", "the default: the job is cancelled", { ignored: "`no`" }),
  refused("licenses L", "required", "Headroom counts no licenses"),
  honoured("mail-type", "required", "`notify`, with the channel of `--notify` or `HEADROOM_MAIL_CHANNEL`", {
    ignored: "without a channel; `STAGE_OUT`, `TIME_LIMIT_90` and its like, `ARRAY_TASKS`",
  }),
  refused(
    "mail-user",
    "required",
    "the operator declares the receivers of a channel (docs/how-to/get-notifications.md)",
  ),
  refused("mcs-label", "required", PLUGIN),
  honoured("mem", "required", "`gang.memory`", {
    variable: "SBATCH_MEM_PER_NODE",
    ignored: "`0`, all memory of a node",
  }),
  refused("mem-bind", "required", NO_BINDING, { variable: "SBATCH_MEM_BIND" }),
  honoured("mem-per-cpu", "required", "`gang.memory`", { variable: "SBATCH_MEM_PER_CPU" }),
  honoured("mem-per-gpu", "required", "`gang.memory`", { variable: "SBATCH_MEM_PER_GPU" }),
  honoured("mincpus", "required", "`gang.cores`"),
  refused("network", "required", PLUGIN, { variable: "SBATCH_NETWORK" }),
  honoured("nice", "optional", "`priority`, lowered by the value"),
  refused("no-kill k", "optional", "a gang that loses a node restarts, or replaces the lost workers (`onNodeLoss`)", {
    variable: "SBATCH_NO_KILL",
  }),
  refused("no-requeue", "none", "work of a lost node always starts again in Headroom", {
    variable: "SBATCH_NO_REQUEUE",
  }),
  refused("nodefile F", "required", "Headroom chooses nodes by labels (`selector`), not by name"),
  refused("nodelist w", "required", "Headroom chooses nodes by labels (`selector`), not by name"),
  honoured("nodes N", "required", "`gang.workers`; of a range, the minimum"),
  honoured("ntasks n", "required", "`gang.cores`, and the tasks that `srun` starts"),
  refused("ntasks-per-core", "required", NO_TOPOLOGY),
  honoured("ntasks-per-gpu", "required", "the tasks that `srun` starts"),
  honoured("ntasks-per-node", "required", "`gang.cores`, and the tasks that `srun` starts"),
  refused("ntasks-per-socket", "required", NO_TOPOLOGY),
  refused("ntasks-per-tres", "required", NO_TOPOLOGY),
  refused("oom-kill-step", "optional", "memory limits end the worker", later),
  honoured("open-mode", "required", "output files are appended to or replaced", { variable: "SBATCH_OPEN_MODE" }),
  honoured("output o", "required", "standard output goes to the file", { variable: "SBATCH_OUTPUT" }),
  refused("overcommit O", "none", NO_TOPOLOGY, { variable: "SBATCH_OVERCOMMIT" }),
  refused("oversubscribe s", "none", "cores are never shared; a part of an accelerator is `gang.share`"),
  refused("parsable", "none", `${OF_SUBMISSION}; headroom run --json prints the id`),
  refused("partition p", "required", NO_PARTITIONS, { variable: "SBATCH_PARTITION" }),
  refused("power", "required", NO_POWER, { variable: "SBATCH_POWER" }),
  refused("prefer", "required", "Headroom has no preference for labels; --constraint requires them"),
  refused("priority", "required", "priorities of Slurm are of another scale; use headroom run --priority"),
  refused("profile", "required", PLUGIN, { variable: "SBATCH_PROFILE" }),
  refused("propagate", "optional", "limits of the node apply"),
  refused("qos q", "required", "Headroom has no QOS; teams, guarantees and --priority take its place", {
    variable: "SBATCH_QOS",
  }),
  refused("quiet Q", "none", OF_SUBMISSION),
  refused("reboot", "none", "Headroom does not boot nodes"),
  honoured("requeue", "none", "the default: work of a lost node starts again", { variable: "SBATCH_REQUEUE" }),
  refused("reservation", "required", "a reservation of the calendar names its teams and users, and applies by itself", {
    variable: "SBATCH_RESERVATION",
  }),
  refused("resv-ports", "optional", PLUGIN, later),
  refused("segment", "required", "use `fabric.slices`", later),
  honoured("signal", "required", "the signal is sent before the walltime ends", { variable: "SBATCH_SIGNAL" }),
  refused("sockets-per-node", "required", NO_TOPOLOGY),
  refused("spread-job", "none", "use `spread`", { variable: "SBATCH_SPREAD_JOB" }),
  refused("stepmgr", "none", OF_SUBMISSION, later),
  refused("switches", "required", "use `fabric.within` or `fabric.prefer` with a level of the fleet", {
    variable: "SBATCH_REQ_SWITCH",
  }),
  refused("test-only", "none", `${OF_SUBMISSION}; use headroom run --dry-run`),
  refused("thread-spec", "required", NO_TOPOLOGY, { variable: "SBATCH_THREAD_SPEC" }),
  refused("threads-per-core", "required", NO_TOPOLOGY, { variable: "SBATCH_THREADS_PER_CORE" }),
  honoured("time t", "required", "`walltime`", { variable: "SBATCH_TIMELIMIT" }),
  refused("time-min", "required", "the walltime is not shortened to start earlier"),
  refused("tmp", "required", "Headroom does not reserve disks"),
  refused("tres-bind", "required", NO_BINDING, later),
  refused("tres-per-job", "required", "use --gpus", later),
  refused("tres-per-task", "required", "use --gpus-per-task and --cpus-per-task", later),
  refused("uid", "required", ADMINISTRATION),
  refused("usage", "none", OF_SUBMISSION),
  refused("use-min-nodes", "none", "of a range of nodes, Headroom always takes the minimum", {
    variable: "SBATCH_USE_MIN_NODES",
  }),
  refused("verbose v", "none", OF_SUBMISSION, { variable: "SBATCH_DEBUG" }),
  refused("version V", "none", OF_SUBMISSION),
  refused("wait W", "none", `${OF_SUBMISSION}; use headroom run --follow`, { variable: "SBATCH_WAIT" }),
  refused("wait-all-nodes", "required", "a gang starts together or not at all", { variable: "SBATCH_WAIT_ALL_NODES" }),
  refused("wckey", "required", "Headroom accounts by team and user", { variable: "SBATCH_WCKEY" }),
  refused("wrap", "required", "a script is not wrapped; write headroom run -- 'COMMAND'"),
];

/** Former names of options, which Slurm still reads. */
const formerNames: Readonly<Record<string, string>> = { workdir: "chdir", share: "oversubscribe", tasks: "ntasks" };

export type OptionSearch =
  | { readonly kind: "found"; readonly option: SlurmOption }
  | { readonly kind: "ambiguous"; readonly names: readonly string[] }
  | { readonly kind: "unknown" };

export const findShort = (letter: string): SlurmOption | undefined =>
  slurmOptions.find(({ short }) => short === letter);

/** Finds a long option by its name or by an unambiguous beginning of it, as `getopt_long` does. */
export function findLong(name: string): OptionSearch {
  const exact = slurmOptions.find(({ long }) => long === (formerNames[name] ?? name));
  if (exact !== undefined) return { kind: "found", option: exact };
  const starting = slurmOptions.filter(({ long }) => long.startsWith(name));
  const candidates = starting.some(({ isLater }) => isLater !== true)
    ? starting.filter(({ isLater }) => isLater !== true)
    : starting;
  const [option, ...others] = candidates;
  if (option === undefined) return { kind: "unknown" };
  return others.length === 0
    ? { kind: "found", option }
    : { kind: "ambiguous", names: candidates.map(({ long }) => `--${long}`) };
}
