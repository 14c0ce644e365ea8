/**
 * Isolation of attempts from the control plane and from each other. The executor decides once, at its start, what this
 * machine offers: bubblewrap for what a job sees, control groups for what it uses. `report` states
 * the limits that cannot be enforced, for the log, the status and the answer to a submission.
 *
 * Start with `bubblewrap.ts` (what a job sees) and `cgroups.ts` (its limits); `isolation-record.ts` is what a supervisor gets.
 */
import { chownSync, existsSync, lstatSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import path from "node:path";
import { shapeOf } from "@headroom/model";
import type { LaunchGang } from "@headroom/model";
import { OperationalError } from "@headroom/platform";
import type { IsolationMode, IsolationNote, IsolationReport } from "../../executor.ts";
import { isOpenToJobs } from "../../job-protocol/attempt-environments.ts";
import { RefusedGang } from "../../job-protocol/refused-gang.ts";
import { isWithin } from "../../job-protocol/untrusted-files.ts";
import type { FileOwner } from "../../job-protocol/untrusted-files.ts";
import type { AttemptFiles } from "../../job-protocol/attempt-files.ts";
import { bubblewrapArgs, findBubblewrap, probeBubblewrap } from "./bubblewrap.ts";
import type { AttemptView } from "./bubblewrap.ts";
import type { ImageNetwork } from "../images/image-sandbox.ts";
import { imageSandboxArgs, mayShow, refuseWithoutNetwork } from "../images/image-sandbox.ts";
import { findCgroups, removeCgroups } from "./cgroups.ts";
import type { CgroupParent, WorkerLimits } from "./cgroups.ts";
import type { BubblewrapRecord, IsolationRecord, NetworkRecord } from "./isolation-record.ts";
import { TeamNetworks } from "./team-network.ts";
import type { WorkerNetwork } from "./team-network.ts";
import { TeamUsers } from "./team-users.ts";
import type { TeamUser } from "./team-users.ts";

/**
 * Limit of processes and threads of a worker. A node of eight accelerators with data loaders has some thousands; the
 * machine has 32,768 or more in all.
 */
const PIDS_MAX = 16_384;
const SHM_ROOT = "/dev/shm";

export interface SandboxRules {
  /** Directories of this machine that workers in images see. Absent: none. */
  readonly imageDirs?: readonly string[] | undefined;
  /** Absent: that of the machine. */
  readonly imageNetwork?: ImageNetwork | undefined;
  /** Network of sandboxed workers. Absent: that of the machine. */
  readonly network?: WorkerNetwork | undefined;
  /** Users of sandboxed workers by team. Absent: that of the control plane. */
  readonly users?: Readonly<Record<string, string>> | undefined;
}

export class Isolation {
  readonly report: IsolationReport;
  readonly #homeDir: string;
  readonly #program: string | null;
  readonly #disablesUserNamespaces: boolean;
  readonly #cgroups: readonly CgroupParent[];
  readonly #images: SandboxRules;
  readonly #networks: TeamNetworks | null;
  readonly #users: TeamUsers | null;

  /** Throws an `OperationalError` if bubblewrap is required and does not work here. */
  constructor(mode: IsolationMode, homeDir: string, images: SandboxRules = {}) {
    this.#images = images;
    this.#homeDir = homeDir;
    const none = { program: null, problem: null, disablesUserNamespaces: false };
    const found = mode === "none" ? none : bubblewrapFor(homeDir);
    if (mode === "bubblewrap" && found.program === null) {
      const message = `Isolation by bubblewrap does not work here: ${found.problem ?? ""}. Install bubblewrap, or start with --isolation none.`;
      throw new OperationalError("noIsolation", message, { retryable: false });
    }
    this.#program = found.program;
    this.#networks = images.network === "team" ? teamNetworks(found.program, homeDir) : null;
    this.#users = images.users === undefined ? null : new TeamUsers(images.users, homeDir, found.program !== null);
    this.#disablesUserNamespaces = found.disablesUserNamespaces;
    this.#cgroups = findCgroups(realpathSync(homeDir));
    const has = (controller: "memory" | "cpu" | "pids"): boolean =>
      this.#cgroups.some(({ controllers }) => controllers.includes(controller));
    const enforced = { memory: has("memory"), cores: has("cpu"), processes: has("pids") };
    const kind = found.program === null ? "none" : "bubblewrap";
    this.report = { kind, ...enforced, notes: notesOf(mode, found, enforced) };
  }

  get cgroups(): readonly CgroupParent[] {
    return this.#cgroups;
  }

  get hidesHome(): boolean {
    return this.#program !== null;
  }

  /** Whether an isolated job would find the directory empty. */
  hides(directory: string): boolean {
    return this.hidesHome && !isOpenToJobs(this.#homeDir, directory);
  }

  /**
   * Artifacts that the workload waited for and that lie in the checkpoints of other work, which the sandbox hides. The
   * locations are those that workloads reported, so nothing else of the state directory is among them.
   */
  #keptArtifacts({ artifacts = [] }: LaunchGang): readonly string[] {
    const isKept = (at: string): boolean =>
      path.isAbsolute(at) && isWithin(this.#homeDir, at) && isOpenToJobs(this.#homeDir, at);
    return artifacts.map(({ path: at }) => at).filter(isKept);
  }

  /** Creates the directories that only an isolated attempt has. */
  recordFor(files: AttemptFiles, launch: LaunchGang, places: SandboxPlaces): IsolationRecord {
    return {
      bubblewrap: this.#program === null ? null : this.#bubblewrap(this.#program, files, launch, places),
      cgroups: this.#cgroups,
      limits: launch.workers.map((_, rank) => limitsOf(launch, rank)),
    };
  }

  /** The network namespace of the team; `null`: workers have the network that the rest of their isolation states. */
  async networkFor(launch: LaunchGang): Promise<NetworkRecord | null> {
    return (await this.#networks?.of(launch)) ?? null;
  }

  /** The user of the team; `null`: workers run as the user of the control plane. */
  async userFor(launch: LaunchGang): Promise<TeamUser | null> {
    return (await this.#users?.of(launch)) ?? null;
  }

  /** Leaves the limits of workers that go on. */
  close(): void {
    removeCgroups(this.#cgroups);
  }

  #bubblewrap(
    program: string,
    files: AttemptFiles,
    launch: LaunchGang,
    { checkpointDir, staged, imageRoot, user }: SandboxPlaces,
  ): BubblewrapRecord {
    const workDir = path.dirname(files.jobDir);
    const tmpDir = path.join(workDir, "tmp");
    makeTmpDir(tmpDir, user);
    // The one that bwrap makes is root's.
    const shmDir = launch.spec.gang.workers > 1 || user !== null ? makeShmDir(files, user) : null;
    const named = [launch.spec.dir, checkpointDir].filter((directory) => directory !== null);
    const view: AttemptView = {
      homeDir: this.#homeDir,
      writable: [workDir, ...named.filter((directory) => isOpenToJobs(this.#homeDir, directory))].flatMap(existing),
      readable: [path.dirname(files.checkpointRequestFile), ...this.#keptArtifacts(launch), ...staged].flatMap(
        existing,
      ),
      tmpDir: realpathSync(tmpDir),
      shmDir,
      disablesUserNamespaces: this.#disablesUserNamespaces,
      changesUser: user !== null,
    };
    if (imageRoot !== null) refuseHiddenCheckpoints(this.#homeDir, launch.spec.checkpointDir);
    const { imageDirs = [], imageNetwork } = this.#images;
    if (imageRoot !== null && imageNetwork === "own") refuseWithoutNetwork(launch);
    const imageView = { ...view, writable: [...view.writable, ...imageDirs.flatMap(existing)] };
    const args = imageRoot === null ? bubblewrapArgs(view) : imageSandboxArgs(imageView, imageRoot, imageNetwork);
    const scratchDirs = shmDir === null ? [tmpDir] : [tmpDir, shmDir];
    if (user === null) return { program, args, scratchDirs };
    return { program, args, scratchDirs, user: { program: user.program, uid: user.uid, gid: user.gid } };
  }
}

/** Throws an `OperationalError` where teams cannot be kept apart: they must not share a network by mistake. */
function teamNetworks(bubblewrap: string | null, homeDir: string): TeamNetworks {
  if (bubblewrap !== null) return new TeamNetworks(homeDir);
  const message = "Teams cannot have networks of their own without bubblewrap: install it, or use network: machine.";
  throw new OperationalError("noIsolation", message, { retryable: false });
}

/** Checkpoints that a worker wrote to a place of its image would be lost with the attempt. */
function refuseHiddenCheckpoints(homeDir: string, checkpointDir: string | null): void {
  if (checkpointDir === null || !path.isAbsolute(checkpointDir)) return;
  const [at = checkpointDir] = existing(checkpointDir);
  if (at === checkpointDir && (isWithin(realpathSync(homeDir), at) || mayShow(at))) return;
  throw new RefusedGang(
    `checkpointDir ${checkpointDir} is not shown in a container image: name a directory outside of those of the system, without links in its path`,
  );
}

interface SandboxPlaces {
  readonly checkpointDir: string;
  /** Inputs in the node's cache. */
  readonly staged: readonly string[];
  /** File system of the image in which the workers run; `null`: that of this machine. */
  readonly imageRoot: string | null;
  /** `null`: workers run as the user of the control plane. */
  readonly user: TeamUser | null;
}

export function limitsOf({ spec, workers }: LaunchGang, rank: number): WorkerLimits {
  const { memoryMib, coresMilli } = shapeOf(spec.gang, workers[rank] ?? {});
  return { memoryMib, coresMilli, pids: PIDS_MAX };
}

/**
 * An attempt that is launched again has the directory already, maybe in use. A link in its place, or a directory of
 * another user, is not taken.
 */
function makeTmpDir(directory: string, owner: FileOwner | null): void {
  try {
    mkdirSync(directory, { mode: 0o700 });
    if (owner !== null) chownSync(directory, owner.uid, owner.gid);
  } catch (error) {
    const found = lstatSync(directory, { throwIfNoEntry: false });
    if (found?.isDirectory() !== true || found.uid !== (owner?.uid ?? process.getuid?.())) throw error;
  }
}

/** A gang's workers exchange data in shared memory, so they share one directory in it. */
function makeShmDir({ key }: AttemptFiles, owner: FileOwner | null): string | null {
  const name = createHash("sha256").update(`${key.homeDir}\0${key.name}`).digest("hex").slice(0, 24);
  const directory = path.join(SHM_ROOT, `headroom-${name}`);
  try {
    makeTmpDir(directory, owner);
    return directory;
  } catch {
    // Without it each worker has shared memory of its own.
    return null;
  }
}

/** The directory without links; nothing if it does not exist or is a relative path or an address. */
function existing(directory: string): readonly string[] {
  if (!path.isAbsolute(directory) || !existsSync(directory)) return [];
  return [realpathSync(directory)];
}

interface FoundBubblewrap {
  readonly program: string | null;
  readonly problem: string | null;
  readonly disablesUserNamespaces: boolean;
}

function bubblewrapFor(homeDir: string): FoundBubblewrap {
  const none = { program: null, disablesUserNamespaces: false };
  const program = findBubblewrap(process.env["PATH"] ?? "/usr/bin:/bin");
  if (program === null) return { ...none, problem: "bwrap is not installed" };
  const tmpDir = mkdtempSync(path.join(tmpdir(), "headroom-probe-"));
  const problemWith = (disablesUserNamespaces: boolean): string | null => {
    const view = { homeDir, writable: [], readable: [], tmpDir, shmDir: null, disablesUserNamespaces };
    return probeBubblewrap(program, view, path.join(realpathSync(homeDir), "attempts"));
  };
  try {
    if (!isRoot() && problemWith(true) === null) return { program, problem: null, disablesUserNamespaces: true };
    const problem = problemWith(false);
    return problem === null ? { program, problem, disablesUserNamespaces: false } : { ...none, problem };
  } finally {
    rmSync(tmpDir, { recursive: true, force: true });
  }
}

const isRoot = (): boolean => process.getuid?.() === 0;

function notesOf(
  mode: IsolationMode,
  { program, problem, disablesUserNamespaces }: FoundBubblewrap,
  enforced: { readonly memory: boolean; readonly cores: boolean; readonly processes: boolean },
): readonly IsolationNote[] {
  const notes: IsolationNote[] = [];
  const open = "they can read the state directory and signal the control plane";
  if (mode === "none")
    notes.push({ subject: "choice", message: `Workloads are not isolated, as chosen at the start: ${open}.` });
  else if (problem !== null)
    notes.push({ subject: "isolation", message: `Workloads are not isolated (${problem}): ${open}.` });
  if (program !== null && !disablesUserNamespaces && !isRoot())
    notes.push({
      subject: "isolation",
      message:
        "Workloads can make user namespaces, and rename directories above the state directory in them: bubblewrap 0.8 or newer forbids it.",
    });
  const missing = [
    ...(enforced.memory ? [] : ["memory"]),
    ...(enforced.cores ? [] : ["cores"]),
    ...(enforced.processes ? [] : ["numbers of processes"]),
  ];
  if (missing.length > 0)
    notes.push({
      subject: "limits",
      message: `Limits of ${missing.join(", ")} are not enforced: no control group can be written to.`,
    });
  return notes;
}
