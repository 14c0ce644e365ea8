/**
 * MLflow's tracking and registry API in the control plane. Its database is opened by the first call, on a thread, so that
 * control planes without MLflow clients have none. Failures never stop the control plane.
 */
import { existsSync } from "node:fs";
import path from "node:path";
import { makeDirectory, ThreadCalls } from "@headroom/platform";
import type { DriverLog } from "../driver/driver-log.ts";
import { ArtifactStore } from "./artifact-store.ts";
import type { CallContext, MlflowCallName } from "./calls.ts";
import type { FieldSource } from "./fields.ts";
import type { InnerCallName } from "./handlers.ts";
import { MlflowError } from "./mlflow-error.ts";
import type { AttemptPoints } from "./run-data.ts";
import type { MlflowAnswer, MlflowRequest, MlflowThreadData } from "./mlflow-messages.ts";

/** Folder of the state directory with the database. */
const MLFLOW_FOLDER = "mlflow";
const MLFLOW_FILE = "mlflow.db";
/** Maximum number of calls that wait for the thread. */
const WAITING_MAX = 512;
/** Time in ms after the end of a thread in which no other is started. */
const PAUSE_MS = 1_000;

export interface MlflowServiceOptions {
  readonly home: string;
  readonly log: Pick<DriverLog, "warn" | "error">;
  nowMs(): number;
  /** Called with the metrics that a run of an attempt logged. */
  onPoints(logged: AttemptPoints): void;
}

export interface AskedCall {
  readonly call: MlflowCallName | InnerCallName;
  readonly values: unknown;
  readonly source: FieldSource;
  readonly user: string;
  readonly rules?: CallContext["rules"];
}

type DatabaseThread = ThreadCalls<MlflowRequest, MlflowAnswer>;

export class MlflowService {
  readonly artifacts: ArtifactStore;
  readonly #options: MlflowServiceOptions;
  #thread: DatabaseThread | null = null;
  #waitingCount = 0;
  #endedAtMs = -Infinity;
  #isClosed = false;

  constructor(options: MlflowServiceOptions) {
    this.#options = options;
    this.artifacts = new ArtifactStore(options.home);
  }

  /** False: no client has called yet. */
  get hasDatabase(): boolean {
    return existsSync(path.join(this.#options.home, MLFLOW_FOLDER, MLFLOW_FILE));
  }

  async call({ call, values, source, user, rules }: AskedCall): Promise<MlflowAnswer> {
    if (this.#waitingCount >= WAITING_MAX)
      throw new MlflowError("REQUEST_LIMIT_EXCEEDED", "Too many MLflow requests wait; try again in a moment.");
    const thread = this.#started();
    const context = { nowMs: this.#options.nowMs(), user, rules };
    this.#waitingCount++;
    try {
      const answer = await thread.call({ kind: "call", call, values, source, context });
      if (answer.problem !== undefined) this.#options.log.error(`MLflow ${call}: ${answer.problem}`);
      if (answer.logged) this.#options.onPoints(answer.logged);
      return answer;
    } catch (error) {
      if (this.#thread === thread) this.#forget(error);
      throw unavailable();
    } finally {
      this.#waitingCount--;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const thread = this.#thread;
    this.#thread = null;
    if (thread === null) return;
    await thread.call({ kind: "close" }).catch(() => undefined);
    await thread.ended();
  }

  #started(): DatabaseThread {
    if (this.#thread !== null) return this.#thread;
    const { home, nowMs } = this.#options;
    if (this.#isClosed || nowMs() - this.#endedAtMs < PAUSE_MS) throw unavailable();
    const folder = path.join(home, MLFLOW_FOLDER);
    makeDirectory(folder, 0o700);
    const data: MlflowThreadData = { file: path.join(folder, MLFLOW_FILE), nowMs: nowMs() };
    this.#thread = new ThreadCalls(new URL("./mlflow-thread.ts", import.meta.url), data);
    return this.#thread;
  }

  #forget(error: unknown): void {
    this.#thread = null;
    this.#endedAtMs = this.#options.nowMs();
    const reason = error instanceof Error ? error.message : String(error);
    this.#options.log.warn(`the MLflow database ended (${reason}); the next request opens it again`);
  }
}

const unavailable = (): MlflowError =>
  new MlflowError("TEMPORARILY_UNAVAILABLE", "The MLflow database is not open; try again in a moment.");
