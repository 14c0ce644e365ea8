/**
 * The arguments of bwrap(1) for the workers of an attempt. A worker sees the file system of this machine, without what
 * would let it act as the control plane: the state directory (except the attempt's own directories), the sockets in
 * /run, other processes, and devices other than accelerators. The workers of a gang share /tmp and /dev/shm.
 *
 * The order of the arguments is an order of mounts: later ones cover earlier ones, so what must not be seen comes last.
 */
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, lstatSync, readdirSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { isWithin } from "../../job-protocol/untrusted-files.ts";

export interface AttemptView {
  readonly homeDir: string;
  /** Directories that the job writes to, or that it works in. Missing ones are left out. */
  readonly writable: readonly string[];
  /** Directories of the state directory that the job may read. */
  readonly readable: readonly string[];
  readonly tmpDir: string;
  /** `null`: each worker has a /dev/shm of its own. */
  readonly shmDir: string | null;
  /**
   * Forbids the job to make user namespaces. In one of its own it could leave the mount points that keep directories
   * from being renamed. Needs bwrap 0.8; the kernel refuses such namespaces in a sandbox of root anyway.
   */
  readonly disablesUserNamespaces: boolean;
  /** Whether workers change to another user. In a user namespace of root there is only root. */
  readonly changesUser?: boolean;
}

/** Device files of accelerators and of the networks between them, by the beginning of their names in /dev. */
const DEVICE_PREFIXES = [
  "nvidia",
  "dri",
  "kfd",
  "dxg",
  "infiniband",
  "hugepages",
  "vfio",
  "accel",
  "neuron",
  "davinci",
  "devmm_svm",
  "hisi_hdc",
  "hl",
];
/**
 * Files in /run that programs need: name resolution, facts about devices, and daemons of the vendors' drivers, whose sockets their
 * containers have too. A read-only view does not keep a job from connecting to a socket, and system daemons such as udevd obey any
 * process of root, so only files without sockets are shown of them.
 */
const RUN_NEEDED = [
  "systemd/resolve/resolv.conf",
  "systemd/resolve/stub-resolv.conf",
  "resolvconf/resolv.conf",
  "NetworkManager/resolv.conf",
  "NetworkManager/no-stub-resolv.conf",
  "udev/data",
  "nvidia-persistenced",
  "nvidia-fabricmanager",
  "nvidia-topologyd",
].map((name) => `/run/${name}`);
/**
 * Settings of the kernel that only root may write. A job of root could name a program there that the kernel runs outside
 * of every sandbox (core(5), core_pattern); bwrap covers some of them, and only if they are writable as directories.
 */
export const KERNEL_FILES = ["sys", "sysrq-trigger", "mtrr", "irq", "bus", "acpi", "scsi"].map(
  (name) => `/proc/${name}`,
);
/** Directories of the system. A job of root must not change what other programs run. */
export const SYSTEM_DIRS = ["usr", "etc", "boot", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "opt", "var"].map(
  (name) => `/${name}`,
);
/**
 * Files and directories in the home directory of root with which a job could act at the next login, or from another
 * machine. A job of root may read them.
 */
const LOGIN_FILES = [".ssh", ".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zshenv", ".zprofile"];
/** System directories below which a workload may name a directory that it writes to. */
const SHARED_DIRS = ["/opt", "/var"];
const CLOSED_DIRS = ["/var/spool", "/var/lib/systemd"];
/** Places that an isolated job has on its own. A directory that the workload names below one is shown in its place. */
const PRIVATE_DIRS = ["/tmp", "/var/tmp"];
/** Time in ms for one start of bwrap. A start takes some ten milliseconds. */
const PROBE_TIMEOUT_MS = 20_000;

export function bubblewrapArgs(view: AttemptView): readonly string[] {
  const homeDir = realpathSync(view.homeDir);
  const named = view.writable.filter((directory) => isWithin(homeDir, directory) === false);
  const shown = named.filter(mustBeShown);
  const own = view.writable.filter((directory) => isWithin(homeDir, directory));
  const guarded = [homeDir, ...configDirs(), ...installedPaths()];
  const changesUser = view.changesUser === true;
  return [
    ...(changesUser ? [] : ["--unshare-user"]),
    ...(view.disablesUserNamespaces ? ["--disable-userns"] : []),
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-cgroup-try",
    "--new-session",
    "--cap-drop",
    "ALL",
    // setpriv(1) needs these two, and they end with the change.
    ...(changesUser ? ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"] : []),
    "--chdir",
    "/",
    "--bind",
    "/",
    "/",
    ...pinned(guarded, "/"),
    ...systemArgs(),
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--ro-bind",
    "/sys",
    "/sys",
    ...KERNEL_FILES.flatMap((file) => ["--ro-bind-try", file, file]),
    ...deviceNames().flatMap((name) => ["--dev-bind-try", `/dev/${name}`, `/dev/${name}`]),
    ...(view.shmDir === null ? [] : ["--bind", view.shmDir, "/dev/shm"]),
    ...PRIVATE_DIRS.filter((directory) => existsSync(directory)).flatMap((to) => ["--bind", view.tmpDir, to]),
    ...(existsSync("/run") ? ["--tmpfs", "/run"] : []),
    ...RUN_NEEDED.flatMap((file) => ["--ro-bind-try", file, file]),
    ...shown.flatMap((directory) => ["--bind-try", directory, directory]),
    ...shown.flatMap((directory) => pinned(guarded, directory)),
    ...installedPaths().flatMap((file) => ["--ro-bind-try", file, file]),
    ...configDirs().flatMap((directory) => ["--tmpfs", directory]),
    "--tmpfs",
    homeDir,
    ...(changesUser ? openParents(homeDir, [...own, ...view.readable]) : []),
    ...own.flatMap((directory) => ["--bind-try", directory, directory]),
    ...view.readable.flatMap((directory) => ["--ro-bind", directory, directory]),
    "--remount-ro",
    homeDir,
  ];
}

/**
 * Mounts the directories above hidden and installed ones on themselves. A mount point cannot be renamed. Otherwise a job
 * could rename the directory above the state directory, which is not hidden, and put a state of its own in that place.
 */
export function pinned(below: readonly string[], within: string): readonly string[] {
  const above = new Set(below.flatMap(directoriesAbove).filter((directory) => isWithin(within, directory)));
  return [...above].toSorted((a, b) => a.length - b.length).flatMap((directory) => ["--bind", directory, directory]);
}

/** The directories in the path of a file, without the root. */
function directoriesAbove(file: string): readonly string[] {
  const parent = path.dirname(file);
  return parent === path.dirname(parent) ? [] : [...directoriesAbove(parent), parent];
}

/** Directories above mount points, which bwrap would make for root alone. */
function openParents(homeDir: string, directories: readonly string[]): readonly string[] {
  const above = new Set(directories.flatMap(directoriesAbove));
  return [...above]
    .filter((directory) => directory !== homeDir && isWithin(homeDir, directory))
    .toSorted((one, other) => one.length - other.length)
    .flatMap((directory) => ["--perms", "0755", "--dir", directory]);
}

/** Why bwrap cannot isolate here; `null`: it can. The probe uses the arguments of an attempt. */
export function probeBubblewrap(program: string, view: AttemptView, hidden: string): string | null {
  const script = `test ! -e "$1" && test "$$" -lt 10`;
  const args = [...bubblewrapArgs(view), "/bin/sh", "-c", script, "probe", hidden];
  const { status, stderr, error } = spawnSync(program, args, {
    cwd: "/",
    encoding: "utf8",
    env: {},
    stdio: ["ignore", "ignore", "pipe"],
    timeout: PROBE_TIMEOUT_MS,
  });
  if (status === 0) return null;
  return error?.message ?? (stderr.trim().split("\n").at(-1) || `its test ended with exit code ${String(status)}`);
}

/** The installed bwrap; `null`: there is none. */
export const findBubblewrap = (searchPath: string): string | null => findProgram("bwrap", searchPath);

/** Absolute path of a program; `null`: it is not installed. */
export function findProgram(name: string, searchPath: string): string | null {
  for (const directory of searchPath.split(path.delimiter)) {
    const program = path.join(directory, name);
    try {
      if (!path.isAbsolute(program)) continue;
      accessSync(program, constants.X_OK);
      return program;
    } catch {
      // It is not in this directory.
    }
  }
  return null;
}

function systemArgs(): readonly string[] {
  if (process.getuid?.() !== 0) return [];
  const login = LOGIN_FILES.map((name) => path.join(homedir(), name)).filter(isReal);
  return [...SYSTEM_DIRS.filter(isRealDirectory), ...login].flatMap((file) => ["--ro-bind", file, file]);
}

/** Whether a directory that the workload names would be hidden or read-only otherwise. */
function mustBeShown(directory: string): boolean {
  const isBelow = (parent: string): boolean => directory !== parent && isWithin(parent, directory);
  if (PRIVATE_DIRS.some(isBelow)) return true;
  return SHARED_DIRS.some(isBelow) && !CLOSED_DIRS.some((closed) => isWithin(closed, directory));
}

export function deviceNames(): readonly string[] {
  try {
    return readdirSync("/dev").filter((name) => DEVICE_PREFIXES.some((prefix) => name.startsWith(prefix)));
  } catch {
    return [];
  }
}

/** Files of Headroom beside its state directory that no job may change or read. */
export const guardedPaths = (): readonly string[] => [...configDirs(), ...installedPaths()];

/** The program of this installation: a job that could change it would run as the control plane at its next start. */
function installedPaths(): readonly string[] {
  const own = fileURLToPath(import.meta.url);
  const modules = own.indexOf("/node_modules/");
  const root = path.resolve(path.dirname(own), "../../../../..");
  const files =
    modules >= 0
      ? [own.slice(0, modules + "/node_modules".length)]
      : ["packages", "node_modules", "tools", "package.json"].map((name) => path.join(root, name));
  return [...files, process.execPath].filter((file) => existsSync(file));
}

/** Directories in which the command line keeps tokens of control planes. */
function configDirs(): readonly string[] {
  const base = process.env["XDG_CONFIG_HOME"] || path.join(homedir(), ".config");
  return [path.join(base, "headroom")].filter(isRealDirectory).map((directory) => realpathSync(directory));
}

const isReal = (file: string): boolean => lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === false;

function isRealDirectory(directory: string): boolean {
  return lstatSync(directory, { throwIfNoEntry: false })?.isDirectory() === true;
}
