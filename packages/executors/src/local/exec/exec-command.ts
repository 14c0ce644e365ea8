/**
 * The command line of a command that a user runs inside a worker: first into the worker's control groups, then into a
 * sandbox that shares the worker's user and pid namespaces and sees the same files, then to the command.
 *
 * bwrap(1) builds the sandbox, as for the worker, so the command has no more rights than the worker: no capabilities,
 * no new privileges. It ends with the worker, because its pid namespace does (pid_namespaces(7)). A terminal comes from
 * script(1) inside the sandbox, so that its device belongs to the sandbox; no native module is needed.
 */
import { accessSync, constants } from "node:fs";
import path from "node:path";
import { OperationalError } from "@headroom/platform";
import type { ExecRequest } from "../../executor.ts";
import { intoNetwork } from "../../processes/isolation/isolation-record.ts";
import type { BubblewrapRecord } from "../../processes/isolation/isolation-record.ts";
import { ENTER, marksOf, refuseTooLong } from "../../processes/isolation/worker-command.ts";

/** Descriptors that the command starts with. The terminal reads its sizes from `size`, bwrap reads its arguments from `args`. */
export const execFds = { size: 3, args: 4, userNamespace: 5, pidNamespace: 6 } as const;

export interface ExecPlace {
  readonly workingDir: string;
  readonly environment: Readonly<Record<string, string>>;
  /** `null`: the worker has no sandbox. */
  readonly bubblewrap: BubblewrapRecord | null;
  readonly groupEntries: readonly string[];
}

export interface ExecCommand {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** As in `WorkerCommand`, from descriptor 4. */
  readonly sandboxArgs: string | null;
}

/** Closes what only the sandbox needed; descriptors that are not open do no harm. */
const CLOSE = "exec 4>&- 5>&- 6>&- 7>&- 8>&-";
const start = (close: string): string => `${close}; cd -- "$1" || exit 127; shift; exec "$@"`;
/**
 * Sizes come as lines "ROWS COLUMNS" on descriptor 3. A process in the background sets them: the kernel then sends
 * SIGWINCH to the command. It holds no terminal open, and ends when the session closes the descriptor.
 */
const FOLLOW_SIZE =
  'tty=$(tty); (while read -r rows columns; do stty -F "$tty" rows "$rows" columns "$columns"; done <&3 >/dev/null 2>&1 &); exec 3<&-';

export function execCommand(place: ExecPlace, { command, terminal }: ExecRequest): ExecCommand {
  const { environment, bubblewrap, groupEntries, workingDir } = place;
  if (bubblewrap?.user !== undefined)
    throw new OperationalError(
      "cannotExec",
      "No command can be run inside workers that run as users of teams (users).",
      {
        retryable: false,
      },
    );
  const shell = environment["SHELL"] ?? "";
  const words = command.length > 0 ? command : [path.isAbsolute(shell) ? shell : "/bin/sh"];
  const inner = terminal === null ? words : withTerminal(words, shell, terminal);
  const script = start(terminal === null ? `${CLOSE} 3>&-` : CLOSE);
  const outer = ["/bin/sh", "-c", script, "headroom-exec", workingDir, ...inner];
  const inside = bubblewrap === null ? outer : [...intoSandbox(bubblewrap), ...outer];
  const [file = "", ...args] =
    groupEntries.length === 0 ? inside : ["/bin/sh", "-c", ENTER, "headroom-enter", ...groupEntries, "--", ...inside];
  const variables = terminal === null ? environment : { ...environment, TERM: terminal.type };
  if (bubblewrap === null) return { file, args, env: variables, sandboxArgs: null };
  refuseTooLong([workingDir, ...inner], variables);
  return { file, args, env: marksOf(variables), sandboxArgs: sandboxArgs(bubblewrap, variables) };
}

/** The same view of the file system as the worker's, in the worker's namespaces of users and processes. */
function sandboxArgs({ args }: BubblewrapRecord, variables: Readonly<Record<string, string>>): string {
  const own = args.filter((arg) => arg !== "--unshare-user" && arg !== "--unshare-pid");
  const set = Object.entries(variables).flatMap(([name, value]) => ["--setenv", name, value]);
  // The session ends with the control plane, which holds its terminal.
  return [...own, "--die-with-parent", "--clearenv", ...set].map((arg) => `${arg}\0`).join("");
}

/**
 * Without root, bwrap builds the sandbox in a user namespace above that of the worker (it maps the user to root there to
 * mount /dev/pts). It owns the other namespaces, and only an ioctl finds it (NS_GET_PARENT, ioctl_ns(2)), which neither
 * Node nor the shell can call.
 */
const FIND_PARENT = [
  "use Fcntl;",
  'open(my $own, "<&=", 5) or die "user namespace: $!\n";',
  'my $fd = ioctl($own, 0xb702, 0) or die "the user namespace above: $!\n";',
  'open(my $above, "<&=", $fd + 0) or die "the user namespace above: $!\n";',
  'fcntl($above, F_SETFD, 0) or die "the user namespace above: $!\n";',
  "my $program = shift;",
  'exec $program, "--userns", $fd + 0, "--userns2", 5, @ARGV or die "$program: $!\n";',
].join(" ");

function intoSandbox(bubblewrap: BubblewrapRecord): readonly string[] {
  const { program } = bubblewrap;
  const common = ["--pidns", String(execFds.pidNamespace), "--args", String(execFds.args)];
  if (process.getuid?.() === 0)
    return [...intoNetwork(bubblewrap), program, "--userns", String(execFds.userNamespace), ...common];
  const perl = needed("perl", "Commands inside sandboxes need perl if the control plane does not run as root");
  return [perl, "-e", FIND_PARENT, program, ...common];
}

function withTerminal(
  words: readonly string[],
  shell: string,
  { rows, columns }: NonNullable<ExecRequest["terminal"]>,
): readonly string[] {
  const script = needed("script", "A terminal needs script(1) of util-linux; without a terminal, use --no-tty");
  // `script` starts its command by $SHELL. It may not be one that reads these lines.
  const restore = shell === "" ? "unset SHELL" : `export SHELL=${quoted(shell)}`;
  const run = `${FOLLOW_SIZE}; stty sane rows ${rows} columns ${columns}; ${restore}; exec ${words.map(quoted).join(" ")}`;
  return ["/usr/bin/env", "SHELL=/bin/sh", script, "-qefc", run, "/dev/null"];
}

const quoted = (word: string): string => `'${word.replaceAll("'", String.raw`'\''`)}'`;

/** Directories of the system, in which no job can write. */
const SYSTEM_DIRS = ["/usr/bin", "/bin", "/usr/local/bin"];

function needed(name: string, message: string): string {
  for (const directory of SYSTEM_DIRS) {
    const program = path.join(directory, name);
    try {
      accessSync(program, constants.X_OK);
      return program;
    } catch {
      // It is not in this directory.
    }
  }
  throw new OperationalError("cannotExec", `${message}. Install it on the machine of the control plane.`, {
    retryable: false,
  });
}
