/**
 * Access tokens of the control plane as keys of this gateway, so that people have one credential and the gateway one tree of
 * teams. The digests are polled. While the control plane does not answer, the last known ones hold, also over a restart of the
 * gateway, but not for ever: a token that is revoked meanwhile is accepted until then.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import type { GatewayConfig } from "../config/schema.ts";
import type { Callers } from "./callers.ts";
import { askControlPlane, type ControlPlaneAddress } from "../control-plane/ask.ts";

/** More than a control plane lists: a list that is refused would keep revoked tokens alive. */
const TOKENS_MAX = 20_000;
/** Time in ms without an answer of the control plane after which its tokens are refused. */
export const OFFLINE_MS_MAX = 24 * 3_600_000;
/** The file says to this time in ms when the list was last confirmed. */
const CONFIRMED_STEP_MS = 60_000;

const followedToken = z.object({
  name: z.string().max(63),
  /** Path in the tree of teams: `lab/nlp`. */
  team: z.string().max(400),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  expiresAtMs: z.int().nullable(),
});
const tokens = z.array(followedToken).max(TOKENS_MAX);
const answerSchema = z.object({ version: z.string().max(64), items: tokens.nullable() });
const fileSchema = z.object({ version: z.string().max(64), confirmedAtMs: z.int(), items: tokens });

export type FollowedToken = Readonly<z.output<typeof followedToken>>;
type KnownTokens = z.output<typeof fileSchema>;

interface Setup extends ControlPlaneAddress {
  readonly intervalMs: number;
  /** File of the last known digests. */
  readonly file: string;
  /** Makes these the tokens that the gateway accepts. */
  take(items: readonly FollowedToken[]): void;
  /** Time in ms since the epoch. */
  now(): number;
  log(line: string): void;
}

export class TokenFollower {
  readonly #setup: Setup;
  readonly #abort = new AbortController();
  #known: KnownTokens | null;
  #timer: NodeJS.Timeout | null = null;
  #problem = "";
  #isTooOld = false;

  constructor(setup: Setup) {
    this.#setup = setup;
    this.#known = readKnown(setup.file);
  }

  /** Undefined if tokens of the control plane are no keys of this gateway. */
  static of(
    { controlPlane }: GatewayConfig,
    parts: {
      readonly stateDirectory: string;
      readonly callers: Callers;
      now(): number;
      log(line: string): void;
    },
  ): TokenFollower | undefined {
    if (controlPlane?.accessTokens !== true) return undefined;
    const { url, token, interval: intervalMs } = controlPlane;
    const { stateDirectory, callers, now, log } = parts;
    const file = path.join(stateDirectory, "access-tokens.json");
    return new TokenFollower({ url, token, intervalMs, file, now, log, take: (items) => callers.accept(items) });
  }

  /** Takes over the last known tokens, asks once, and goes on in the background. */
  async start(): Promise<void> {
    this.#check();
    if (this.#known !== null && !this.#isTooOld) this.#setup.take(this.#known.items);
    await this.#poll();
  }

  stop(): void {
    this.#abort.abort();
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  async #poll(): Promise<void> {
    const { url, intervalMs } = this.#setup;
    try {
      await this.#ask();
      this.#tell("");
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#tell(`the control plane at ${url} does not list access tokens: ${reason}`);
    }
    this.#check();
    if (this.#abort.signal.aborted) return;
    this.#timer = setTimeout(() => void this.#poll(), intervalMs);
    this.#timer.unref();
  }

  async #ask(): Promise<void> {
    const { signal } = this.#abort;
    const known = this.#known;
    const target = `/v1/tokens/followed${known === null ? "" : `?known=${encodeURIComponent(known.version)}`}`;
    const { version, items } = answerSchema.parse(await askControlPlane(this.#setup, target, signal));
    const confirmedAtMs = Math.floor(this.#setup.now());
    if (items === null && known === null) throw new Error("it answers without a list");
    const isNew = items !== null || this.#isTooOld;
    const next: KnownTokens = { version, confirmedAtMs, items: items ?? known?.items ?? [] };
    const isDue = isNew || known === null || confirmedAtMs - known.confirmedAtMs >= CONFIRMED_STEP_MS;
    if (!isDue) return;
    this.#known = next;
    this.#isTooOld = false;
    // Accepted before they are written: a full disk must not keep revoked tokens alive.
    if (isNew) this.#setup.take(next.items);
    const { file } = this.#setup;
    writeFileSync(`${file}.new`, `${JSON.stringify(next)}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }

  /** Refuses tokens of a list that nobody has confirmed for too long. */
  #check(): void {
    if (this.#known === null || this.#isTooOld) return;
    if (this.#setup.now() - this.#known.confirmedAtMs < OFFLINE_MS_MAX + CONFIRMED_STEP_MS) return;
    this.#isTooOld = true;
    this.#setup.take([]);
    this.#setup.log("access tokens of the control plane are refused: it has not answered for 24 hours");
  }

  #tell(problem: string): void {
    if (problem === this.#problem) return;
    this.#problem = problem;
    if (!this.#abort.signal.aborted)
      this.#setup.log(
        problem === "" ? "the control plane lists access tokens again" : `${problem}; the last known tokens hold`,
      );
  }
}

function readKnown(file: string): KnownTokens | null {
  try {
    return fileSchema.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    // There was no earlier process, or the file is damaged: then no token is known.
    return null;
  }
}
