/** The command of the workload: Slurm's variables, output files, and the script itself. */
import type { JobSize, SlurmJob } from "./job.ts";
import type { SlurmArray } from "./slurm-values.ts";
import { agent, stepPrograms } from "./step-programs.ts";

export interface BatchScript {
  readonly file: string;
  readonly text: string;
  readonly interpreter: { readonly program: string; readonly argument: string | null };
  readonly args: readonly string[];
  readonly jobName: string;
}

export function jobCommand(job: SlurmJob, size: JobSize, script: BatchScript): string {
  const needsPrograms = size.tasks > 1 || size.workers > 1 || /\b(?:srun|scontrol)\b/.test(script.text);
  const stepSignal = job.signal !== null && !job.signal.toScript;
  return [
    `# ${script.file.replaceAll(/[^ -~]/g, "?")} of sbatch: Slurm's variables, then the script.`,
    "unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK",
    ...variableLines(job, size, script),
    ...directoryLines(size.workers > 1),
    ...(size.workers > 1 ? workerLines() : []),
    ...(needsPrograms ? programLines(size.workers > 1) : []),
    ...(size.workers > 1 ? [agent] : []),
    ...fileLines(job),
    ...signalLines(job),
    ...documentLines('"$HEADROOM_SLURM_DIR/script"', script.text),
    ...startLines(script, size.workers > 1 || stepSignal, job.signal?.toScript === true ? job.signal.signal : null),
  ].join("\n");
}

type Assignments = readonly (readonly [name: string, value: string | null])[];

function variableLines(job: SlurmJob, size: JobSize, script: BatchScript): readonly string[] {
  const { workers, tasks, tasksPerNode, cores, accelerators } = size;
  const many = workers > 1 ? `(x${workers})` : "";
  const assigned: Assignments = [
    ...idVariables(job),
    ["SLURM_JOB_NAME", quoted(script.jobName)],
    ["SLURM_JOB_USER", '"${USER:-}"'],
    ["SLURM_JOB_ACCOUNT", job.account === null ? null : quoted(job.account)],
    ["SLURM_CLUSTER_NAME", "headroom"],
    ["SLURM_SUBMIT_DIR", '"$PWD"'],
    ["SLURM_JOB_NUM_NODES", String(workers)],
    ["SLURM_NNODES", String(workers)],
    ["SLURM_NTASKS", String(tasks)],
    ["SLURM_NPROCS", String(tasks)],
    ["SLURM_TASKS_PER_NODE", quoted(`${tasksPerNode}${many}`)],
    ["SLURM_NTASKS_PER_NODE", job.ntasksPerNode === null ? null : String(job.ntasksPerNode)],
    ["SLURM_CPUS_PER_TASK", job.cpusPerTask === null ? null : String(job.cpusPerTask)],
    ["SLURM_CPUS_ON_NODE", String(cores)],
    ["SLURM_JOB_CPUS_PER_NODE", quoted(`${cores}${many}`)],
    ...memoryVariables(job),
    ...gpuVariables(job, accelerators),
    ["SLURM_PROCID", "0"],
    ["SLURM_LOCALID", "0"],
    ["SLURM_NODEID", '"${NODE_RANK:-0}"'],
    ["SLURMD_NODENAME", '"$(uname -n | cut -d. -f1)"'],
    ["SLURM_JOB_NODELIST", '"$SLURMD_NODENAME"'],
    ["SLURM_NODELIST", '"$SLURMD_NODENAME"'],
    ["HEADROOM_SLURM_TASKS_PER_NODE", String(tasksPerNode)],
  ];
  return assigned.flatMap(([name, value]) => (value === null ? [] : [`export ${name}=${value}`]));
}

/** The number in the id of the workload, because scripts compute with the id of a job. */
const WORKLOAD_NUMBER = '"${HEADROOM_WORKLOAD_ID#w}"';

/** Lines that give a command the variables of an array. */
export const arrayLines = (array: SlurmArray): readonly string[] =>
  arrayVariables(array).map(([name, value]) => `export ${name}=${value ?? ""}`);

/** Elements of an array have one `SLURM_ARRAY_JOB_ID`, and a `SLURM_JOB_ID` each, as in Slurm. */
function idVariables({ array }: SlurmJob): Assignments {
  if (array === null) {
    return [
      ["SLURM_JOB_ID", WORKLOAD_NUMBER],
      ["SLURM_JOBID", '"$SLURM_JOB_ID"'],
    ];
  }
  return arrayVariables(array);
}

function arrayVariables({ indexes }: SlurmArray): Assignments {
  const [first = 0, second = first] = indexes;
  const stride = indexes.length > 1 ? second - first : 1;
  const isRegular = indexes.every((index, at) => index === first + at * stride);
  const taskId = isRegular
    ? `$((${first} + ${stride} * HEADROOM_TASK_INDEX))`
    : `"$(set -- ${indexes.join(" ")}; shift "$HEADROOM_TASK_INDEX"; echo "$1")"`;
  return [
    ["SLURM_ARRAY_JOB_ID", WORKLOAD_NUMBER],
    ["SLURM_ARRAY_TASK_ID", taskId],
    ["SLURM_ARRAY_TASK_COUNT", String(indexes.length)],
    ["SLURM_ARRAY_TASK_MIN", String(first)],
    ["SLURM_ARRAY_TASK_MAX", String(indexes.at(-1) ?? first)],
    ["SLURM_ARRAY_TASK_STEP", String(isRegular ? stride : 1)],
    ["SLURM_JOB_ID", "$((SLURM_ARRAY_JOB_ID * 1000000 + HEADROOM_TASK_INDEX + 1))"],
    ["SLURM_JOBID", '"$SLURM_JOB_ID"'],
  ];
}

function memoryVariables({ memoryMib }: SlurmJob): Assignments {
  if (memoryMib === null) return [];
  return [[`SLURM_MEM_PER_${memoryMib.per.toUpperCase()}`, String(memoryMib.mib)]];
}

function gpuVariables({ gpusPerJob, gpusPerNode, gpusPerTask }: SlurmJob, accelerators: number): Assignments {
  if (accelerators === 0) return [];
  return [
    ["SLURM_GPUS", gpusPerJob === null ? null : String(gpusPerJob.count)],
    ["SLURM_GPUS_PER_NODE", gpusPerNode === null ? null : String(gpusPerNode.count)],
    ["SLURM_GPUS_PER_TASK", gpusPerTask === null ? null : String(gpusPerTask.count)],
    ["SLURM_GPUS_ON_NODE", String(accelerators)],
    ["SLURM_JOB_GPUS", '"$CUDA_VISIBLE_DEVICES"'],
    ["SLURM_STEP_GPUS", '"$CUDA_VISIBLE_DEVICES"'],
  ];
}

/**
 * The directory of the job, which all workers see. Where each node has a supervisor, the directory of the progress file is that of a part of
 * the gang, and its name ends in a comma and the number of the part. Pods without a shared directory have none beside that file.
 */
const directoryLines = (isGang: boolean): readonly string[] => [
  'HEADROOM_SLURM_DIR="${HEADROOM_PROGRESS_FILE%/*}"',
  'case "${HEADROOM_SLURM_DIR##*/}" in *,*) HEADROOM_SLURM_DIR="${HEADROOM_SLURM_DIR%,*}" ;; esac',
  'export HEADROOM_SLURM_DIR="$HEADROOM_SLURM_DIR/slurm"',
  isGang
    ? 'mkdir -p "$HEADROOM_SLURM_DIR/bin" || { echo "A batch script on several workers needs a directory that they share." >&2; exit 1; }'
    : 'mkdir -p "$HEADROOM_SLURM_DIR/bin" 2>/dev/null || { HEADROOM_SLURM_DIR=$(mktemp -d) && mkdir "$HEADROOM_SLURM_DIR/bin" || exit 1; }',
];

/** Other workers wait until the first one has written the programs. */
const workerLines = (): readonly string[] => [
  'while [ "$SLURM_NODEID" != 0 ] && [ ! -e "$HEADROOM_SLURM_DIR/ready" ]; do sleep 0.2; done',
];

function programLines(isGang: boolean): readonly string[] {
  const lines = Object.entries(stepPrograms).flatMap(([name, text]) => [
    ...documentLines(`"$HEADROOM_SLURM_DIR/bin/${name}"`, text),
    `chmod +x "$HEADROOM_SLURM_DIR/bin/${name}"`,
  ]);
  const path = 'export PATH="$HEADROOM_SLURM_DIR/bin:$PATH"';
  return isGang
    ? ['if [ "$SLURM_NODEID" = 0 ]; then', ...lines, ': >"$HEADROOM_SLURM_DIR/ready"', "fi", path]
    : [...lines, path];
}

/** A here-document whose end mark is no line of the text. */
function documentLines(target: string, text: string): readonly string[] {
  const lines = text.replace(/\n$/, "").split("\n");
  let mark = "END_OF_FILE";
  while (lines.includes(mark)) mark += "_";
  return [`cat >${target} <<'${mark}'`, ...lines, mark];
}

function fileLines({ files, array }: SlurmJob): readonly string[] {
  const { output, error, input, appends } = files;
  const arrow = appends ? ">>" : ">";
  const opened = (file: string, descriptor: string): readonly string[] => {
    const path = patternText(file, array !== null);
    return [`mkdir -p -- "$(dirname -- ${path})"`, `exec ${descriptor}${arrow}${path} || exit 1`];
  };
  const said =
    output === null || output === "/dev/null"
      ? []
      : [`echo "The output of this job is in" ${patternText(output, array !== null)}`];
  return [
    ...(input === null ? [] : [`exec <${patternText(input, array !== null)} || exit 1`]),
    ...said,
    ...(error === null ? [] : opened(error, "2")),
    ...(output === null ? [] : opened(output, "")),
    ...(output !== null && error === null ? ["exec 2>&1"] : []),
  ];
}

/** Value of Slurm for "no such number". */
const NO_VALUE = "4294967294";

/**
 * A file name pattern of Slurm as a word of the shell. A backslash switches the patterns off; a number between `%` and
 * its letter is a minimum width.
 */
export function patternText(pattern: string, isArray: boolean): string {
  if (pattern.includes("\\")) return quoted(pattern.replaceAll("\\", ""));
  const variables: Readonly<Record<string, string>> = {
    A: isArray ? "$SLURM_ARRAY_JOB_ID" : "$SLURM_JOB_ID",
    a: isArray ? "$SLURM_ARRAY_TASK_ID" : NO_VALUE,
    b: isArray ? "$((SLURM_ARRAY_TASK_ID % 10))" : "4",
    J: "$SLURM_JOB_ID",
    j: "$SLURM_JOB_ID",
    N: "$SLURMD_NODENAME",
    n: "0",
    s: "batch",
    t: "0",
    u: "${USER:-}",
    x: "$SLURM_JOB_NAME",
  };
  const text = pattern.replaceAll(
    /%(%|(\d{0,2})([A-Za-z]))|[\s\S]/gu,
    (part, escaped?: string, width = "", letter = "") => {
      if (escaped === undefined) return part.replaceAll(/["$`\\]/g, String.raw`\$&`);
      if (escaped === "%") return "%";
      const variable = variables[letter];
      if (variable === undefined) return part;
      // Slurm pads numbers only.
      return width === "" || !/[AajJnt]/.test(letter) ? braced(variable) : `$(printf '%0${width}d' ${variable})`;
    },
  );
  return `"${text}"`;
}

/** `${NAME}`, so that letters may follow the variable. */
const braced = (variable: string): string => variable.replace(/^\$([A-Z_]+)$/, "$${$1}");

function signalLines({ signal, timeLimitMs }: SlurmJob): readonly string[] {
  if (signal === null || timeLimitMs === null) return [];
  const afterS = Math.max(1, Math.round((timeLimitMs - signal.beforeEndMs) / 1_000));
  if (!signal.toScript) return [`export HEADROOM_STEP_SIGNAL="${signal.signal} $(($(date +%s) + ${afterS}))"`];
  return [`(sleep ${afterS} && kill -s ${signal.signal} $$) </dev/null >/dev/null 2>&1 &`];
}

/**
 * The script replaces the shell. In a gang the shell stays, to tell the other workers about the end; it survives the
 * signals that the script handles.
 */
function startLines({ interpreter, args }: BatchScript, stays: boolean, signal: string | null): readonly string[] {
  const { program, argument } = interpreter;
  const words = [program, ...(argument === null ? [] : [argument])].map(quoted);
  const call = [...words, '"$HEADROOM_SLURM_DIR/script"', ...args.map(quoted)].join(" ");
  if (!stays) return [`exec ${call}`];
  return [
    "trap : TERM INT HUP",
    ...(signal === null ? [] : [`trap 'kill -s ${signal} "$script"' ${signal}`]),
    `${call} <&0 &`,
    "script=$!",
    "while :; do",
    '  wait "$script"',
    "  code=$?",
    '  kill -0 "$script" 2>/dev/null || break',
    "done",
    ': >"$HEADROOM_SLURM_DIR/end"',
    'exit "$code"',
  ];
}

const quoted = (word: string): string =>
  /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
