/**
 * The arguments of bwrap(1) for workers in a container image. They see the file system of the image, which is read-only, and of this
 * machine only the attempt's own directories, accelerators and name resolution. Processes, users and IPC are apart as in every sandbox
 * (`../isolation/bubblewrap.ts`); the network is that of the machine, or one of the worker's own.
 */
import { lstatSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { LaunchGang } from "@headroom/model";
import { RefusedGang } from "../../job-protocol/refused-gang.ts";
import { isWithin } from "../../job-protocol/untrusted-files.ts";
import type { AttemptView } from "../isolation/bubblewrap.ts";
import { KERNEL_FILES, SYSTEM_DIRS, deviceNames, guardedPaths, pinned } from "../isolation/bubblewrap.ts";

/** Directories that each sandbox has in places of its own, and the image need not have. */
const MOUNTED_DIRS = ["/proc", "/dev", "/sys", "/tmp", "/run", "/var/tmp"];
const NAME_FILES = ["/etc/resolv.conf", "/etc/hosts"];
/** Directories of this machine of which no part appears in an image. */
const CLOSED_DIRS = [
  ...SYSTEM_DIRS.filter((directory) => directory !== "/opt"),
  "/proc",
  "/sys",
  "/dev",
  "/run",
  "/root",
];
/** Directories of which only parts appear in an image: it has places of its own there, or programs of others are in it. */
const PARTLY_SHOWN = ["/", "/tmp", "/opt"];

/** `own`: each worker has a network with a loopback interface alone, so it reaches no port of this machine and no other host. */
export const imageNetworks = ["machine", "own"] as const;
export type ImageNetwork = (typeof imageNetworks)[number];

/** Throws a `RefusedGang` for work that needs the network of this machine. */
export function refuseWithoutNetwork({ spec }: LaunchGang): void {
  if (spec.kind === "serve")
    throw new RefusedGang(
      "workers in images have no network here (imageNetwork: own), so nobody could reach a replica",
    );
  if (spec.gang.workers > 1)
    throw new RefusedGang(
      "workers in images have no network here (imageNetwork: own), so the workers of a gang could not meet. Use one worker, or another pool",
    );
}

/** `rootDir`: the file system of the image, with `homeDir` and the directories above as empty directories. */
export function imageSandboxArgs(
  view: AttemptView,
  rootDir: string,
  network: ImageNetwork = "machine",
): readonly string[] {
  const homeDir = realpathSync(view.homeDir);
  const shown = view.writable.filter((directory) => isWithin(homeDir, directory) === false && mayShow(directory));
  for (const directory of shown) makeMountPoint(rootDir, directory);
  const own = view.writable.filter((directory) => isWithin(homeDir, directory));
  return [
    "--unshare-user",
    ...(view.disablesUserNamespaces ? ["--disable-userns"] : []),
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-cgroup-try",
    "--unshare-uts",
    // bwrap brings up the loopback interface of the new network.
    ...(network === "own" ? ["--unshare-net"] : []),
    "--new-session",
    "--cap-drop",
    "ALL",
    "--chdir",
    "/",
    "--ro-bind",
    rootDir,
    "/",
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
    "--bind",
    view.tmpDir,
    "/tmp",
    "--tmpfs",
    "/run",
    "--tmpfs",
    "/var/tmp",
    ...NAME_FILES.filter((file) => isFile(path.join(rootDir, file))).flatMap((file) => ["--ro-bind-try", file, file]),
    ...shown.flatMap((directory) => ["--bind-try", directory, directory]),
    ...shown.flatMap((directory) => pinned([homeDir], directory)),
    "--tmpfs",
    homeDir,
    ...own.flatMap((directory) => ["--bind-try", directory, directory]),
    ...view.readable.flatMap((directory) => ["--ro-bind", directory, directory]),
    "--remount-ro",
    homeDir,
  ];
}

/** A directory that a workload names may be shown if it contains nothing of the system, and no program of Headroom. */
export function mayShow(directory: string): boolean {
  if (PARTLY_SHOWN.includes(directory) || CLOSED_DIRS.some((closed) => isWithin(closed, directory))) return false;
  return !guardedPaths().some((guarded) => isWithin(directory, guarded) || isWithin(guarded, directory));
}

/** Makes the places at which a sandbox mounts something, in a file system that no job runs in yet. */
export function prepareRoot(rootDir: string, homeDir: string): void {
  for (const directory of [...MOUNTED_DIRS, "/etc", homeDir]) makeMountPoint(rootDir, directory);
  for (const file of NAME_FILES) {
    const at = path.join(rootDir, file);
    if (lstatSync(at, { throwIfNoEntry: false }) === undefined) writeFileSync(at, "");
  }
}

/** Follows no link: an image could name a place on this machine by one. */
function makeMountPoint(rootDir: string, directory: string): void {
  let at = rootDir;
  for (const segment of directory.split("/").filter((part) => part !== "")) {
    at = path.join(at, segment);
    const found = lstatSync(at, { throwIfNoEntry: false });
    if (found === undefined) mkdirSync(at, { mode: 0o755 });
    else if (!found.isDirectory())
      throw new RefusedGang(`the image has something else in the place of the directory ${directory}`);
  }
}

const isFile = (file: string): boolean => lstatSync(file, { throwIfNoEntry: false })?.isFile() === true;
