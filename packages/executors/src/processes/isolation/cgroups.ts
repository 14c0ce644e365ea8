/**
 * Limits of workers by control groups (cgroups(7)): memory, cores and number of processes. Each worker has a group in
 * every hierarchy that this process may write to: version 2, or version 1 where that is what the machine has. A group
 * also finds and kills every process of its worker, and counts their CPU time.
 *
 * The control plane looks for the hierarchies once (`findCgroups`), and supervisors use what it found (`WorkerGroup`).
 */
import { mkdirSync, readdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import path from "node:path";
import { hasCode } from "../../job-protocol/untrusted-files.ts";

export type Controller = "memory" | "cpu" | "cpuacct" | "pids";

/** A directory in which groups can be created, with the controllers that limit them. */
export interface CgroupParent {
  readonly version: 1 | 2;
  readonly directory: string;
  readonly controllers: readonly Controller[];
}

/** Limits of one worker. 0: none. */
export interface WorkerLimits {
  readonly memoryMib: number;
  readonly coresMilli: number;
  readonly pids: number;
}

const CONTROLLERS: readonly Controller[] = ["memory", "cpu", "cpuacct", "pids"];
/** Version 2 counts CPU time without a controller. */
const CONTROLLERS_V2: readonly Controller[] = ["memory", "cpu", "pids"];
/** Group of the control plane itself: in version 2 only groups without processes may divide their controllers. */
const OWN_GROUP = "headroom-control";
const MIB = 1024 * 1024;
/** Period in µs of the limit of cores, the kernel's default. The kernel accepts no quota below 1,000 µs. */
const CPU_PERIOD_US = 100_000;
const CPU_QUOTA_MIN_US = 1_000;

/** Hierarchies in which this process can create groups with limits, for the workers of one state directory. */
export function findCgroups(homeDir: string): readonly CgroupParent[] {
  const name = `headroom-${createHash("sha256").update(homeDir).digest("hex").slice(0, 12)}`;
  const parents: CgroupParent[] = [];
  const found = new Set<Controller>();
  for (const hierarchy of readHierarchies()) {
    const parent = hierarchy.version === 1 ? parentV1(hierarchy, name) : parentV2(hierarchy, name, found);
    if (parent === null) continue;
    if (!canLimit(parent)) {
      removeGroup(parent.directory);
      continue;
    }
    for (const controller of parent.controllers) found.add(controller);
    parents.push(parent);
    removeEmptyGroups(parent.directory);
    removeAbandoned(parent.directory);
  }
  return parents;
}

/** Name of the groups of a control plane. */
const PARENT_NAME = /^headroom-[0-9a-f]{12}$/;
/** Age in ms from which a group without workers counts as left behind: a start that is in progress is younger. */
const ABANDONED_AFTER_MS = 60_000;

/**
 * Removes groups of control planes that were killed and whose state directory may be gone. The kernel refuses to remove
 * a group with workers, and a control plane that still runs creates its groups again at the next launch.
 */
function removeAbandoned(own: string): void {
  const above = path.dirname(own);
  for (const name of namesIn(above)) {
    const directory = path.join(above, name);
    if (!PARENT_NAME.test(name) || directory === own) continue;
    const { mtimeMs } = statSync(directory, { throwIfNoEntry: false }) ?? { mtimeMs: Number.POSITIVE_INFINITY };
    if (Date.now() - mtimeMs < ABANDONED_AFTER_MS) continue;
    removeEmptyGroups(directory);
    removeGroup(directory);
  }
}

/** Removes the groups that `findCgroups` created, except those with workers. `WorkerGroup` creates them again. */
export function removeCgroups(parents: readonly CgroupParent[]): void {
  for (const { directory } of parents) removeGroup(directory);
}

interface Hierarchy {
  readonly version: 1 | 2;
  /** The group of this process. */
  readonly ownDir: string;
  readonly controllers: readonly Controller[];
}

/** All hierarchies that are mounted, those of version 1 first: their controllers are missing in version 2. */
function readHierarchies(): readonly Hierarchy[] {
  const ownPaths = new Map<string, string>();
  for (const line of readLines("/proc/self/cgroup")) {
    const [, names = "", own = "/"] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    for (const name of names.split(",")) ownPaths.set(name, own);
  }
  const hierarchies: Hierarchy[] = [];
  for (const line of readLines("/proc/self/mountinfo")) {
    const [mount = "", kind = ""] = line.split(" - ");
    const [, , , root = "/", mountPoint = ""] = mount.split(" ");
    const [type, , options = ""] = kind.split(" ");
    const ownDir = (own: string): string =>
      path.join(mountPoint, root === "/" ? own : own.startsWith(root) ? own.slice(root.length) : "");
    if (type === "cgroup2")
      hierarchies.push({ version: 2, ownDir: ownDir(ownPaths.get("") ?? "/"), controllers: CONTROLLERS_V2 });
    if (type !== "cgroup") continue;
    const controllers = CONTROLLERS.filter((name) => options.split(",").includes(name));
    const [first] = controllers;
    if (first !== undefined) hierarchies.push({ version: 1, ownDir: ownDir(ownPaths.get(first) ?? "/"), controllers });
  }
  return hierarchies.toSorted((a, b) => a.version - b.version);
}

function parentV1({ ownDir, controllers }: Hierarchy, name: string): CgroupParent | null {
  const directory = path.join(ownDir, name);
  return isMade(directory) ? { version: 1, directory, controllers } : null;
}

function parentV2({ ownDir }: Hierarchy, name: string, found: ReadonlySet<Controller>): CgroupParent | null {
  const base = path.basename(ownDir) === OWN_GROUP ? path.dirname(ownDir) : ownDir;
  const available = readText(path.join(base, "cgroup.controllers")).trim().split(" ");
  const controllers = CONTROLLERS_V2.filter((controller) => available.includes(controller) && !found.has(controller));
  const directory = path.join(base, name);
  if (controllers.length === 0 || !isMade(directory)) return null;
  const isEnabled = isShared(base, controllers) || (leaveTo(path.join(base, OWN_GROUP)) && isShared(base, controllers));
  return isEnabled && isShared(directory, controllers) ? { version: 2, directory, controllers } : null;
}

/** Passes controllers on to the groups below. Fails if the group has processes of its own (cgroups(7)). */
function isShared(directory: string, controllers: readonly Controller[]): boolean {
  return isWritten(path.join(directory, "cgroup.subtree_control"), controllers.map((name) => `+${name}`).join(" "));
}

function leaveTo(directory: string): boolean {
  return isMade(directory) && isWritten(path.join(directory, "cgroup.procs"), String(process.pid));
}

/** Whether limits can be set in a group below. A container can have its groups read-only. */
function canLimit(parent: CgroupParent): boolean {
  try {
    const group = new WorkerGroup([parent], `probe-${process.pid}`, { memoryMib: 64, coresMilli: 1_000, pids: 64 });
    group.remove();
    return true;
  } catch {
    return false;
  }
}

function removeEmptyGroups(directory: string): void {
  for (const entry of readdirSync(directory, { withFileTypes: true }))
    if (entry.isDirectory()) removeGroup(path.join(directory, entry.name));
}

/** Files by which a process enters the groups of a worker that exist already, by writing 0 to each. */
export const groupEntries = (parents: readonly CgroupParent[], name: string): readonly string[] =>
  parents.map(({ directory }) => path.join(directory, name, "cgroup.procs"));

/** The groups of one worker, one in each hierarchy. */
export class WorkerGroup {
  readonly #groups: readonly (CgroupParent & { readonly path: string })[];
  /** Limit of memory in MiB; 0: none, or it is not enforced. */
  readonly memoryMib: number;

  /** Creates the groups. Throws if a limit cannot be set. */
  constructor(parents: readonly CgroupParent[], name: string, limits: WorkerLimits) {
    this.#groups = parents.map((parent) => ({ ...parent, path: path.join(parent.directory, name) }));
    for (const group of this.#groups) {
      makeGroup(group, group.path);
      for (const [file, value, isOptional] of limitFiles(group, limits))
        if (!isWritten(path.join(group.path, file), value) && !isOptional)
          throw new Error(`${path.join(group.path, file)} does not take ${value}`);
    }
    this.memoryMib = this.#with("memory") === undefined ? 0 : limits.memoryMib;
  }

  /** Files that a process enters the groups by, by writing 0 to each. */
  get entries(): readonly string[] {
    return this.#groups.map((group) => path.join(group.path, "cgroup.procs"));
  }

  /** Whether the kernel has killed a process because the group reached its limit of memory. */
  get ranOutOfMemory(): boolean {
    const group = this.#with("memory");
    if (group === undefined) return false;
    const file = group.version === 2 ? "memory.events" : "memory.oom_control";
    return Number(/^oom_kill (\d+)$/m.exec(readText(path.join(group.path, file)))?.[1] ?? 0) > 0;
  }

  /** CPU time that all processes of the worker have used, also those that nobody has waited for; `null`: unknown. */
  get cpuMs(): number | null {
    for (const { version, controllers, path: directory } of this.#groups) {
      if (version === 2) {
        const usage = /^usage_usec (\d+)$/m.exec(readText(path.join(directory, "cpu.stat")))?.[1];
        if (usage !== undefined) return Math.round(Number(usage) / 1_000);
      } else if (controllers.includes("cpuacct")) {
        const usage = readText(path.join(directory, "cpuacct.usage"));
        if (usage !== "") return Math.round(Number(usage) / 1_000_000);
      }
    }
    return null;
  }

  /** Pids of the processes in the groups. */
  get pids(): readonly number[] {
    return [...new Set(this.#groups.flatMap((group) => pidsIn(group.path)))];
  }

  /** Kills every process of the groups. No process can fork meanwhile. */
  kill(): void {
    for (const group of this.#groups) killGroup(group.path, group);
  }

  /** Removes the groups if no process is in them. */
  remove(): void {
    for (const group of this.#groups) removeGroup(group.path);
  }

  #with(controller: Controller): (CgroupParent & { readonly path: string }) | undefined {
    return this.#groups.find(({ controllers }) => controllers.includes(controller));
  }
}

/** The groups of all workers of an attempt, for an attempt whose supervisor is gone. */
export function groupsOfAttempt(
  parents: readonly CgroupParent[],
  attempt: string,
): { readonly pids: readonly number[]; kill(): void; remove(): void } {
  const found = parents.flatMap((parent) =>
    namesIn(parent.directory)
      .filter((name) => attemptOfGroup(name) === attempt)
      .map((name) => ({ parent, directory: path.join(parent.directory, name) })),
  );
  return {
    get pids() {
      return found.flatMap(({ directory }) => pidsIn(directory));
    },
    kill: () => {
      for (const { parent, directory } of found) killGroup(directory, parent);
    },
    remove: () => {
      for (const { directory } of found) removeGroup(directory);
    },
  };
}

/** Name of the group of a worker. A rank is used again after a change of the gang's size, so the number of its start counts. */
export const groupName = (attempt: string, rank: number, start: number): string => `${attempt}@${rank}.${start}`;
const attemptOfGroup = (name: string): string => name.slice(0, name.lastIndexOf("@"));

type LimitFile = readonly [file: string, value: string, isOptional?: true];

function limitFiles({ version, controllers }: CgroupParent, limits: WorkerLimits): readonly LimitFile[] {
  const files: LimitFile[] = [];
  const { memoryMib, coresMilli, pids } = limits;
  const bytes = String(memoryMib * MIB);
  const quota = String(Math.max(CPU_QUOTA_MIN_US, Math.round((coresMilli * CPU_PERIOD_US) / 1_000)));
  const limitsOf = (controller: Controller): readonly LimitFile[] => {
    if (controller === "memory" && memoryMib > 0)
      // Without swap the limit is the whole truth. Swap may not be configured, and then has no file.
      return version === 2
        ? [
            ["memory.max", bytes],
            ["memory.swap.max", "0", true],
            ["memory.oom.group", "1", true],
          ]
        : [
            ["memory.limit_in_bytes", bytes],
            ["memory.memsw.limit_in_bytes", bytes, true],
          ];
    if (controller === "cpu" && coresMilli > 0)
      return version === 2
        ? [["cpu.max", `${quota} ${CPU_PERIOD_US}`]]
        : [
            ["cpu.cfs_period_us", String(CPU_PERIOD_US)],
            ["cpu.cfs_quota_us", quota],
          ];
    if (controller === "pids" && pids > 0) return [["pids.max", String(pids)]];
    return [];
  };
  for (const controller of controllers) files.push(...limitsOf(controller));
  return files;
}

function killGroup(directory: string, { version, controllers }: CgroupParent): void {
  if (version === 2 && isWritten(path.join(directory, "cgroup.kill"), "1")) return;
  if (controllers.includes("pids")) isWritten(path.join(directory, "pids.max"), "0");
  for (const pid of pidsIn(directory)) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // The process has ended.
    }
  }
}

/** Zombies are listed until they are waited for, and hold nothing. Kernels list only the leaders of their threads. */
function pidsIn(directory: string): readonly number[] {
  return readLines(path.join(directory, "cgroup.procs"))
    .map(Number)
    .filter((pid) => pid > 0 && !/^\d+ \(.*\) [ZX]/s.test(readText(`/proc/${pid}/stat`)));
}

function removeGroup(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {
    // Processes are in the group, or it is gone.
  }
}

/** The parent is missing if its control plane has closed since the launch. */
function makeGroup(parent: CgroupParent, directory: string): void {
  try {
    mkdirSync(directory);
  } catch (error) {
    if (hasCode(error, "EEXIST")) return;
    if (!hasCode(error, "ENOENT")) throw error;
    mkdirSync(parent.directory, { recursive: true });
    if (parent.version === 2) isShared(parent.directory, parent.controllers);
    mkdirSync(directory, { recursive: true });
  }
}

function isMade(directory: string): boolean {
  try {
    mkdirSync(directory, { recursive: true });
    return true;
  } catch {
    return false;
  }
}

function isWritten(file: string, value: string): boolean {
  try {
    writeFileSync(file, value);
    return true;
  } catch {
    return false;
  }
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

const readLines = (file: string): readonly string[] =>
  readText(file)
    .split("\n")
    .filter((line) => line !== "");
