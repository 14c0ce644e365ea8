/**
 * A wrapper around an executor that removes expired attempts. It observes the calls between driver and executor, and
 * lets the executor forget expired attempts one at a time. An attempt that the engine counts as active is never
 * forgotten, because only its records prevent a second launch.
 */
import type { AttemptId, Effect, NodeId } from "@headroom/model";
import type {
  StagingProgress,
  AttemptUsage,
  ExecRequest,
  ExecSession,
  Executor,
  ExecutorListener,
  Inventory,
  KnownAttempt,
  LogChunk,
  LogRequest,
  NodeReadings,
  NodeSignals,
  PastNodeSignals,
  UnwatchedPeriod,
} from "@headroom/executors";
import { OperationalError } from "@headroom/platform";
import type { CacheReport } from "@headroom/stores";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";
import { AttemptStore } from "./attempt-store.ts";
import type { RetentionRules } from "./attempt-store.ts";

export interface RetainingExecutorOptions {
  readonly executor: Executor;
  readonly rules: RetentionRules;
  readonly log: DriverLog;
  readonly nowMs: () => number;
}

/** Number of attempts compared with the engine's state in one turn. */
const BATCH_MAX = 50;

/** The type demands that every method is passed on, also those that an executor can lack. */
export class RetainingExecutor
  implements Executor, Required<Omit<Executor, "attemptsAreComplete" | "isolation" | "adoption">>
{
  readonly id: Executor["id"];
  readonly kind: Executor["kind"];
  readonly capabilities: Executor["capabilities"];
  readonly isolation?: NonNullable<Executor["isolation"]>;
  readonly attemptsAreComplete?: true;
  readonly adoption?: NonNullable<Executor["adoption"]>;
  readonly #options: RetainingExecutorOptions;
  readonly #inner: Executor;
  readonly #store: AttemptStore;
  #driver: Pick<Driver, "read"> | null = null;
  #tidying: Promise<void> | null = null;
  /** Whether the attempts of earlier processes are known. */
  #isListed = false;
  #isClosed = false;

  constructor(options: RetainingExecutorOptions) {
    this.#options = options;
    this.#inner = options.executor;
    this.id = options.executor.id;
    this.kind = options.executor.kind;
    this.capabilities = options.executor.capabilities;
    if (options.executor.isolation !== undefined) this.isolation = options.executor.isolation;
    if (options.executor.adoption !== undefined) this.adoption = options.executor.adoption;
    if (options.executor.attemptsAreComplete === true) this.attemptsAreComplete = true;
    this.#store = new AttemptStore(options.rules);
  }

  /** Begins to forget attempts. From now on the driver knows which attempts are active. */
  begin(driver: Pick<Driver, "read">): void {
    this.#driver = driver;
    this.#tidy();
  }

  async attempts(): Promise<readonly KnownAttempt[]> {
    const known = await this.#inner.attempts();
    for (const { attemptId, sequence } of known) this.#store.launched(attemptId, sequence);
    for (const { attemptId, endedAtMs } of endsInOrder(known)) this.#store.ended(attemptId, endedAtMs);
    this.#isListed = true;
    return known;
  }

  perform(effect: Effect): void {
    if (effect.kind === "launchGang") this.#store.launched(effect.attemptId, effect.sequence);
    this.#inner.perform(effect);
  }

  watch(listener: ExecutorListener): void {
    this.#inner.watch((input) => {
      const room = listener(input);
      if (input.kind !== "attemptExited" && input.kind !== "attemptLost") return room;
      this.#store.ended(input.attemptId, this.#options.nowMs());
      this.#tidy();
      return room;
    });
  }

  hides(directory: string): boolean {
    return this.#inner.hides?.(directory) ?? false;
  }

  whenSilent(listener: (detail: string) => void): void {
    this.#inner.whenSilent?.(listener);
  }

  inventory(): Promise<Inventory> {
    return this.#inner.inventory();
  }

  logs(attemptId: AttemptId, request: LogRequest, signal: AbortSignal): AsyncIterable<LogChunk> {
    return this.#inner.logs(attemptId, request, signal);
  }

  keepsOutput(attemptId: AttemptId): boolean {
    return !this.#isListed || this.#store.hasEnded(attemptId);
  }

  async exec(attemptId: AttemptId, request: ExecRequest): Promise<ExecSession> {
    const session = await this.#inner.exec?.(attemptId, request);
    if (session !== undefined) return session;
    const message = `The executor ${this.id} (${this.kind}) runs no commands inside workers.`;
    throw new OperationalError("cannotExec", message, { retryable: false });
  }

  usage(attemptId: AttemptId): Promise<AttemptUsage | null> {
    return this.#inner.usage(attemptId);
  }

  staging(attemptId: AttemptId): StagingProgress | null {
    return this.#inner.staging?.(attemptId) ?? null;
  }

  async inputCache(): Promise<CacheReport | null> {
    return (await this.#inner.inputCache?.()) ?? null;
  }

  async passDrains(nodes: readonly NodeId[]): Promise<void> {
    await this.#inner.passDrains?.(nodes);
  }

  nodeSignals(): NodeSignals | null {
    return this.#inner.nodeSignals?.() ?? null;
  }

  async pastNodeSignals(period: UnwatchedPeriod): Promise<PastNodeSignals> {
    const kept = await this.#inner.pastNodeSignals?.(period);
    return kept ?? { signals: [], unknown: "This executor keeps no past signals." };
  }

  async readAccelerators(): Promise<readonly NodeReadings[]> {
    return (await this.#inner.readAccelerators?.()) ?? [];
  }

  async forget(attemptId: AttemptId): Promise<void> {
    await this.#inner.forget(attemptId);
    this.#store.removed(attemptId);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#tidying;
    await this.#inner.close();
  }

  #tidy(): void {
    if (this.#driver === null || this.#tidying !== null) return;
    if (this.#store.surplus(this.#options.nowMs(), 1).length === 0) return;
    this.#tidying = this.#forgetSurplus(this.#driver)
      .catch((error: unknown) => this.#options.log.warn(`ended attempts are kept for now: ${messageOf(error)}`))
      .finally(() => {
        this.#tidying = null;
      });
  }

  /**
   * Forgets attempts until none is left, or the engine still counts the others as active. The next end checks again.
   */
  async #forgetSurplus(driver: Pick<Driver, "read">): Promise<void> {
    for (;;) {
      const surplus = this.#store.surplus(this.#options.nowMs(), BATCH_MAX);
      const ended = await driver.read(({ state }) => surplus.filter((attemptId) => !state.attempts.has(attemptId)));
      if (ended.length === 0) return;
      for (const attemptId of ended) {
        if (this.#isClosed) return;
        await this.#forgetOne(attemptId);
      }
    }
  }

  /** Forgets one attempt. A failed removal is not repeated before the next start. */
  async #forgetOne(attemptId: AttemptId): Promise<void> {
    try {
      await this.#inner.forget(attemptId);
    } catch (error) {
      this.#options.log.warn(`what is kept of attempt ${attemptId} was not removed: ${messageOf(error)}`);
    }
    this.#store.removed(attemptId);
  }
}

function endsInOrder(known: readonly KnownAttempt[]): readonly { attemptId: AttemptId; endedAtMs: number }[] {
  const ends = known.flatMap(({ attemptId, sequence, phase }) =>
    phase.kind === "ended" || phase.kind === "lost" ? [{ attemptId, sequence, endedAtMs: phase.endedAtMs }] : [],
  );
  return ends.toSorted((a, b) => a.endedAtMs - b.endedAtMs || a.sequence - b.sequence);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
