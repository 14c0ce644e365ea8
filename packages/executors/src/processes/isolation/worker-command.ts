/**
 * The command of a worker, as the supervisor starts it: first into its control groups, then into its sandbox, then to the
 * gate, a shell that waits for the supervisor's permission.
 */
import { constants } from "node:os";
import type { LaunchRecord } from "../../job-protocol/attempt-records.ts";
import { intoNetwork } from "./isolation-record.ts";
import type { BubblewrapRecord } from "./isolation-record.ts";
import { asUser } from "./team-users.ts";

export interface WorkerCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Arguments for the sandbox, each with a final NUL, which it reads from descriptor 5; `null`: there is no sandbox. */
  readonly sandboxArgs: string | null;
}

/**
 * The gate: the shell waits for a line on file descriptor 3, and exits if the supervisor closes the descriptor instead.
 * So a worker whose supervisor died before recording it never runs. If the working directory cannot be entered, the
 * worker ends with exit code 127, and its log contains the shell's message.
 */
const WAIT = 'IFS= read -r HEADROOM_GATE <&3 || exit 125; exec 3<&-; cd -- "$1" || exit 127';
const GATE = `${WAIT}; exec /bin/sh -c "$2"`;
/**
 * Variables of the workload under names that no loader obeys: setpriv(1) starts as root, and `LD_PRELOAD` would run the code of a team in it.
 * The gate, which is the user by then, gives them their names. `command` keeps a shell alive that cannot set one, as bash `UID`.
 */
const PACKED = "HEADROOM_PACKED_";
const UNPACK =
  `HEADROOM_GATE=0; while eval '[ -n "\${'"${PACKED}$HEADROOM_GATE"'+x}" ]'; do ` +
  `eval 'command export "$'"${PACKED}$HEADROOM_GATE"'" 2>/dev/null; unset '"${PACKED}$HEADROOM_GATE"; HEADROOM_GATE=$((HEADROOM_GATE + 1)); done; unset HEADROOM_GATE`;
/** In a sandbox, the gate first states on descriptor 6 that the sandbox stands. */
const STANDS = "echo >&6; exec 6>&-";
const FIRST_GATE = `${STANDS}; ${GATE}`;
/**
 * The gate of the other workers of a gang in sandboxes. Each sandbox counts its processes from 1, so the commands of all
 * workers would have one process id. torchrun, among others, knows the agents of a rendezvous by host name and process id,
 * and would take them for one. This gate stays as the first process of its sandbox, starts as many processes as its last
 * argument says, and then the command. It uses no variable, because the worker could have one of that name. Its exit code is that of
 * the command, which is 128 + n after signal n.
 */
const LATER_GATE = `${STANDS}; ${WAIT}; while [ "$3" -gt 0 ]; do (:); set -- "$1" "$2" "$(($3 - 1))"; done; /bin/sh -c "$2"; exit $?`;
/** Process ids repeat after this many workers, so that large gangs on one machine do not start ever more processes. */
const DISTINCT_PIDS = 512;
/** Enters control groups and executes the rest. It uses no variable: variables would change the worker's environment. */
export const ENTER = 'while [ "$1" != -- ]; do echo 0 > "$1" || exit 125; shift; done; shift; exec "$@"';

/** Limits of execve(2) on Linux with the usual stack of 8 MiB: one string, and all of them with their pointers. */
const STRING_MAX_BYTES = 128 * 1024 - 1;
const STRINGS_MAX_BYTES = 2 * 1024 * 1024 - 64 * 1024;
/** bwrap takes at most 9,000 arguments, three for each variable; some are its own. */
const VARIABLES_MAX = 2_900;
/** A shell and bwrap report the end by signal n as exit code 128 + n. */
const SIGNAL_BASE = 128;
const SIGNAL_NAMES = new Map(Object.entries(constants.signals).map(([name, value]) => [value, name as NodeJS.Signals]));

export interface WorkerPlaces {
  /** Rank of the worker. */
  readonly index: number;
  readonly bubblewrap: BubblewrapRecord | null;
  /** Files of control groups by which a process enters them. */
  readonly groupEntries: readonly string[];
}

export function workerCommand(
  { workingDir, run }: LaunchRecord,
  environment: Readonly<Record<string, string>>,
  { index, bubblewrap, groupEntries }: WorkerPlaces,
): WorkerCommand {
  const user = bubblewrap?.user === undefined ? [] : asUser(bubblewrap.user);
  const gate = (script: string): readonly string[] => [
    ...user,
    "/bin/sh",
    "-c",
    bubblewrap?.user === undefined
      ? script
      : script.replaceAll(/(exec )?\/bin\/sh -c/g, (found) => `${UNPACK}; ${found}`),
    "headroom-gate",
    workingDir,
    run,
  ];
  const inside =
    bubblewrap === null ? gate(GATE) : [...intoNetwork(bubblewrap), bubblewrap.program, ...sandboxed(index, gate)];
  const [file = "", ...args] =
    groupEntries.length === 0 ? inside : ["/bin/sh", "-c", ENTER, "headroom-enter", ...groupEntries, "--", ...inside];
  if (bubblewrap === null) return { file, args, env: environment, sandboxArgs: null };
  refuseTooLong([run, workingDir], environment);
  const variables = bubblewrap.user === undefined ? settings(environment) : settings(packed(environment));
  const sandboxArgs = [...bubblewrap.args, "--clearenv", ...variables].map((arg) => `${arg}\0`).join("");
  return { file, args, env: marksOf(environment), sandboxArgs };
}

const settings = (environment: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(environment).flatMap(([name, value]) => ["--setenv", name, value]);

const packed = (environment: Readonly<Record<string, string>>): Readonly<Record<string, string>> => ({
  PATH: "/usr/bin:/bin",
  ...Object.fromEntries(
    Object.entries(environment).map(([name, value], index) => [`${PACKED}${index}`, `${name}=${value}`]),
  ),
});

function sandboxed(index: number, gate: (script: string) => readonly string[]): readonly string[] {
  const descriptors = ["--info-fd", "4", "--args", "5"];
  if (index === 0) return [...descriptors, ...gate(FIRST_GATE)];
  return ["--as-pid-1", ...descriptors, ...gate(LATER_GATE), String(index % DISTINCT_PIDS)];
}

/**
 * bwrap itself runs outside of the sandbox, so the worker's variables, which the loader and the shell obey, must not reach
 * it. Only the variables by which processes of an attempt are found are in its environment.
 */
export function marksOf(environment: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const marks = ["HEADROOM_PROGRESS_FILE", "HEADROOM_WORKER_ID"].filter((name) => environment[name] !== undefined);
  return { PATH: "/usr/bin:/bin", ...Object.fromEntries(marks.map((name) => [name, environment[name] ?? ""])) };
}

/** Refuses here what the operating system or bwrap would refuse in the sandbox. A NUL would end an argument of bwrap. */
export function refuseTooLong(texts: readonly string[], environment: Readonly<Record<string, string>>): void {
  let bytes = 0;
  const strings = [...texts, ...Object.entries(environment).map(([name, value]) => `${name}=${value}`)];
  for (const text of strings) {
    const length = Buffer.byteLength(text);
    if (text.includes("\0")) throw refusal("ERR_INVALID_ARG_VALUE", "a variable contains a NUL");
    if (length > STRING_MAX_BYTES) throw refusal("E2BIG", "a variable or the command is too long");
    bytes += length + 1 + 8;
  }
  if (bytes > STRINGS_MAX_BYTES) throw refusal("E2BIG", "the variables and the command together are too long");
  const names = Object.keys(environment);
  if (names.length > VARIABLES_MAX) throw refusal("E2BIG", `more than ${VARIABLES_MAX} variables`);
  if (names.some((name) => name === "" || name.includes("=")))
    throw refusal("ERR_INVALID_ARG_VALUE", "a variable has no valid name");
}

const refusal = (code: string, message: string): Error => Object.assign(new Error(message), { code });

/** The signal that ended the command in a sandbox; `null`: it exited by itself. */
export function signalOfExitCode(code: number): NodeJS.Signals | null {
  return SIGNAL_NAMES.get(code - SIGNAL_BASE) ?? null;
}
