/**
 * The turn to wake a pool, of which all gateways on one machine with the same state folder have one. The gateway with
 * the turn runs the wake command; the others wait for its replicas. A lock file decides, which the kernel releases when
 * its process ends. Beside it, a file says what came out of the last wake: addresses that the command printed, how long
 * the wake took, and until when a failed command is not to be run again.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { lockDirectory, makeDirectory, type DirectoryLock } from "@headroom/platform";
import { z } from "zod";

const URLS_MAX = 4096;

const outcomeSchema = z.object({
  startedAtMs: z.number(),
  /** Process id of the command. */
  pid: z.int().positive().optional(),
  /** Addresses of replicas that the command has printed. */
  urls: z.array(z.string().max(2048)).max(URLS_MAX).default([]),
  /** Time at which a replica was ready. */
  readyAtMs: z.number().optional(),
  /** Duration of the last wake that succeeded. */
  tookMs: z.number().optional(),
  /** The reason of a failure, for clients. */
  failure: z.string().optional(),
  failedUntilMs: z.number().optional(),
});

export type WakeOutcome = Readonly<z.output<typeof outcomeSchema>>;

export class WakeTurn {
  readonly #folder: string;
  readonly #log: (line: string) => void;
  #lock: DirectoryLock | undefined;

  /** `directory` is the state folder that the gateways share. */
  constructor(directory: string, pool: string, log: (line: string) => void) {
    // Names of gateways begin with a letter or digit, so this folder is no gateway's.
    this.#folder = path.join(directory, ".wake", encodeURIComponent(pool));
    this.#log = log;
  }

  /**
   * Takes the turn. Returns false if another gateway has it. If the lock cannot be used, because the disk is full for
   * example, the command is run: a model that is started twice is better than none.
   */
  take(): boolean {
    if (this.#lock !== undefined) return true;
    try {
      makeDirectory(this.#folder, 0o700);
      const outcome = lockDirectory(this.#folder, Date.now());
      if (outcome.kind === "held") return false;
      this.#lock = outcome.lock;
    } catch (error) {
      this.#log(
        `the lock ${this.#folder} cannot be used, so other gateways may run the wake command, too: ${String(error)}`,
      );
    }
    return true;
  }

  release(): void {
    this.#lock?.release();
    this.#lock = undefined;
  }

  read(): WakeOutcome | undefined {
    try {
      return outcomeSchema.safeParse(JSON.parse(readFileSync(this.#file, "utf8"))).data;
    } catch {
      // There was no wake yet, or the file is damaged: then nothing is known.
      return undefined;
    }
  }

  write(outcome: WakeOutcome): void {
    try {
      writeFileSync(`${this.#file}.new`, `${JSON.stringify(outcome)}\n`, { mode: 0o600 });
      renameSync(`${this.#file}.new`, this.#file);
    } catch (error) {
      this.#log(`${this.#file} cannot be written, so other gateways do not learn of the wake: ${String(error)}`);
    }
  }

  get #file(): string {
    return path.join(this.#folder, "last.json");
  }
}
