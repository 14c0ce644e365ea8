/**
 * Slurm through its command-line tools, and its state through slurmrestd where that is declared. Every call has a time limit, and only a few
 * commands run at a time.
 */
import { userInfo } from "node:os";
import path from "node:path";
import { OperationalError } from "@headroom/platform";
import type { SlurmSettings } from "../settings.ts";
import type { JobList } from "./job-list.ts";
import { JOB_FORMAT, readJobList } from "./job-list.ts";
import { runCommand, type CommandOutput } from "@headroom/platform";
import type { PastAnswer } from "../executor/past-node-signals.ts";
import { RestReader } from "../rest/rest-reader.ts";

/** Commands at a time. The controller serves few at once anyway, and each costs a process here. */
const CONCURRENCY_MAX = 4;
/** Time in ms for which commands are used after slurmrestd gave no sound answer. */
const REST_PAUSE_MS = 30_000;
/** The same after it left out a job that `squeue` lists: its user stays without that right. */
const REST_BLIND_PAUSE_MS = 600_000;
/** Age in ms up to which one answer of `squeue` serves all jobs that slurmrestd left out. Less than the pause before a job is submitted again. */
const RECENT_MS = 5_000;

const UTC = { TZ: "UTC" } as const;
/** The setting of a cluster that has slurmdbd. */
const ACCOUNTING = /\bAccountingStorageType\s*=\s*accounting_storage\/slurmdbd\b/;

/** The users of the jobs, by name of the job. */
export interface JobOwners {
  readonly uids: ReadonlySet<number>;
  uidOf(jobName: string): number;
  owns(uid: number, jobName: string): boolean;
}

export type Submission =
  | { readonly kind: "submitted"; readonly jobId: string }
  /** Slurm will refuse it again. */
  | { readonly kind: "refused"; readonly reason: string }
  /** It may have taken effect. */
  | { readonly kind: "unknown"; readonly reason: string };

/** Messages of `sbatch` with which Slurm turns a job down for good (slurm_errno.c). */
const REFUSALS = [
  /invalid (?:account|partition|qos|user|feature|generic resource|reservation|node|wckey|job|time)/i,
  /invalid (?:partition name|gres|constraint|option)/i,
  /requested node configuration is not available/i,
  /access\/permission denied/i,
  /user.s group not permitted/i,
  /requested time limit is invalid/i,
  /job violates accounting\/qos policy/i,
  /requested operation not supported/i,
  /unrecognized option|invalid argument/i,
];

export class SlurmCommands {
  readonly #settings: SlurmSettings;
  readonly #owners: JobOwners;
  readonly #env: Readonly<Record<string, string>>;
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  readonly #rest: RestReader | null;
  readonly #onProblem: (message: string) => void;
  #restPausedUntilMs = 0;
  #isRestTold = false;
  #recent: { readonly askedAtMs: number; readonly text: Promise<string> } | null = null;

  constructor(settings: SlurmSettings, owners: JobOwners, onProblem: (message: string) => void) {
    this.#settings = settings;
    this.#onProblem = onProblem;
    const { restAddress, restTokenFile, restUser, commandTimeoutMs } = settings;
    const rest = { tokenFile: restTokenFile, user: restUser, timeoutMs: commandTimeoutMs };
    this.#rest = restAddress === undefined ? null : new RestReader({ ...rest, address: restAddress });
    this.#owners = owners;
    const { username, homedir } = userInfo();
    this.#env = {
      PATH: process.env["PATH"] ?? "/usr/bin:/bin",
      LC_ALL: "C",
      HOME: homedir,
      USER: username,
      LOGNAME: username,
      ...(settings.configuration === undefined ? {} : { SLURM_CONF: settings.configuration }),
    };
  }

  /** `scontrol show ENTITY` with one line for each record. */
  show(entity: "node" | "partition" | "topology" | "config"): Promise<string> {
    // Details are the accelerators in use, which `AllocTRES` has only where the accounting counts them.
    const details = entity === "node" ? ["--details"] : [];
    const command = (): Promise<string> =>
      this.#answer("scontrol", ["show", entity, "--all", "--oneliner", ...details]);
    if (entity === "node") return this.#read((rest) => rest.nodes(), command);
    return entity === "partition" ? this.#read((rest) => rest.partitions(), command) : command();
  }

  /** Jobs of the owners whose names begin with the prefix, also those that ended within `MinJobAge`. */
  async jobs(prefix: string): Promise<JobList> {
    const text = await this.#read(
      (rest) => rest.jobs(),
      () => this.#ownJobs(),
    );
    return readJobList(text, prefix, (uid, name) => this.#owners.owns(uid, name));
  }

  /**
   * As `jobs`, by `squeue` alone. The user of slurmrestd may not see all jobs (`PrivateData`), and a job that seems to be missing would be
   * submitted again.
   */
  async jobsByCommand(prefix: string): Promise<JobList> {
    return readJobList(await this.#ownJobs(), prefix, (uid, name) => this.#owners.owns(uid, name));
  }

  /**
   * Whether Slurm has an active job of this name although the newest list did not show it. Then slurmrestd left it out, and is not asked
   * for a while. Without slurmrestd, `squeue` has told already.
   */
  async isOverlooked(jobName: string): Promise<boolean> {
    if (this.#rest === null) return false;
    const text = await this.#recentJobs();
    const { jobs, isComplete } = readJobList(text, jobName, (uid, name) => this.#owners.owns(uid, name));
    const job = jobs.get(jobName);
    if (job === undefined || job.phase === "ended") return !isComplete;
    this.#restPausedUntilMs = performance.now() + REST_BLIND_PAUSE_MS;
    if (!this.#isRestTold)
      this.#onProblem(
        `Slurm is read by its commands: slurmrestd did not list the job ${jobName}, and squeue does. Give the user of slurmrestd the right to see all jobs (PrivateData).`,
      );
    this.#isRestTold = true;
    return true;
  }

  /** One answer of `squeue` for all attempts that seem to be missing in one poll. */
  #recentJobs(): Promise<string> {
    const nowMs = performance.now();
    if (this.#recent !== null && nowMs - this.#recent.askedAtMs < RECENT_MS) return this.#recent.text;
    const text = this.#ownJobs();
    this.#recent = { askedAtMs: nowMs, text };
    text.catch(() => (this.#recent = null));
    return text;
  }

  #ownJobs(): Promise<string> {
    const users = [...this.#owners.uids].join(",");
    const args = ["--noheader", "--all", "--states=all", `--user=${users}`, `--format=${JOB_FORMAT}`];
    return this.#answer("squeue", args);
  }

  /** Through slurmrestd; by commands for a while if it gives no sound answer. */
  async #read(rest: (reader: RestReader) => Promise<string>, command: () => Promise<string>): Promise<string> {
    if (this.#rest === null || performance.now() < this.#restPausedUntilMs) return await command();
    try {
      const text = await rest(this.#rest);
      this.#isRestTold = false;
      return text;
    } catch (error) {
      this.#restPausedUntilMs = performance.now() + REST_PAUSE_MS;
      const reason = error instanceof Error ? error.message : String(error);
      if (!this.#isRestTold) this.#onProblem(`Slurm is read by its commands: ${reason}`);
      this.#isRestTold = true;
      return await command();
    }
  }

  async submit(args: readonly string[]): Promise<Submission> {
    try {
      const { code, stdout, stderr } = await this.#run("sbatch", args);
      const jobId = /^(\d+)/.exec(stdout)?.[1];
      if (code === 0 && jobId !== undefined) return { kind: "submitted", jobId };
      const reason = shortened(stderr || stdout || `exit code ${code}`);
      return REFUSALS.some((refusal) => refusal.test(reason))
        ? { kind: "refused", reason }
        : { kind: "unknown", reason };
    } catch (error) {
      return { kind: "unknown", reason: error instanceof Error ? error.message : String(error) };
    }
  }

  /** Cancels the jobs with this name, pending or running. Slurm sends SIGTERM, and SIGKILL after `KillWait`. */
  async cancel(name: string): Promise<void> {
    await this.#answer("scancel", [`--user=${this.#owners.uidOf(name)}`, `--jobname=${name}`]);
  }

  /** Drains a node with a reason, or lets it take work again (`reason`: `null`). */
  async setDrain(node: string, reason: string | null): Promise<void> {
    const change = reason === null ? ["state=resume"] : ["state=drain", `reason=${reason}`];
    await this.#answer("scontrol", ["update", `nodename=${node}`, ...change]);
  }

  /**
   * The past of nodes since a time in ms, with times in UTC: events of the accounting, or the nodes as they are. With the latter stands the
   * failure of a slurmdbd that does not answer, as after a power cut of the whole cluster. Rejects if slurmctld does not answer either.
   */
  async pastNodes(fromMs: number): Promise<PastAnswer> {
    const start = new Date(fromMs).toISOString().slice(0, 19);
    const format = "Format=NodeName,State,TimeStart,TimeEnd,Reason";
    try {
      const args = ["--noheader", "--parsable2", "show", "event", "Event=Node", `Start=${start}`, format];
      return { kind: "events", text: await this.#answer("sacctmgr", args, UTC) };
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const failure = ACCOUNTING.test(await this.show("config")) ? message : null;
      const text = await this.#answer("scontrol", ["show", "node", "--all", "--oneliner"], UTC);
      return { kind: "nodes", text, failure };
    }
  }

  async #answer(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
    const { code, stdout, stderr } = await this.#run(program, args, env);
    if (code === 0) return stdout;
    const message = `${program} failed: ${shortened(stderr || stdout || `exit code ${code}`)}`;
    throw new OperationalError("executorUnreachable", message, { retryable: true });
  }

  async #run(
    program: string,
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Promise<CommandOutput> {
    if (this.#running >= CONCURRENCY_MAX) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running += 1;
    try {
      const { commands, commandTimeoutMs } = this.#settings;
      const file = commands === undefined ? program : path.join(commands, program);
      return await runCommand(file, args, { timeoutMs: commandTimeoutMs, env: { ...this.#env, ...env } });
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }
}

const SHOWN_MAX = 300;
const shortened = (text: string): string => text.replaceAll(/\s+/g, " ").trim().slice(0, SHOWN_MAX);
