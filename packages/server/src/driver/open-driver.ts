/**
 * The start of a control plane: lock the directory, fold the journal, ask every executor which attempts really run,
 * pass the differences to the engine, and only then accept commands. A refusal is an `OperationalError` that states the
 * remedy. No work has been started by then.
 */
import { executorOf } from "@headroom/engine";
import type { ReadonlyState } from "@headroom/engine";
import type { Observation } from "@headroom/model";
import type { Executor, ExecutorInput } from "@headroom/executors";
import { journalOlderThan } from "@headroom/journal";
import type { OpenJournal } from "@headroom/journal";
import { OperationalError } from "@headroom/platform";
import type { FaultHook } from "../faults/fault-points.ts";
import { newestKnown, reconcile } from "../recovery/reconcile.ts";
import type { ExecutorReport, Reconciliation } from "../recovery/reconcile.ts";
import { BatchDriver } from "./batch-driver.ts";
import type { BatchDriverParts } from "./batch-driver-parts.ts";
import type { DriverLog } from "./driver-log.ts";
import type { Driver } from "./driver.ts";
import { newestOnly } from "./signal-gate.ts";
import type { TelemetrySink } from "./signal-gate.ts";
import { snapshotDefaults } from "./snapshot-schedule.ts";
import type { SnapshotRules } from "./snapshot-schedule.ts";
import { JUMP_MS_MAX, SteadyClock, systemClock } from "./steady-clock.ts";
import type { Clock } from "./steady-clock.ts";

export interface OpenDriverOptions {
  readonly openJournal: OpenJournal;
  /** Executors with different ids; the caller closes them after the driver. */
  readonly executors: readonly Executor[];
  /** Store of telemetry. Absent: only the newest reports are kept, in memory, until the process ends. */
  readonly telemetry?: TelemetrySink;
  readonly log: DriverLog;
  /**
   * Called once, when continuing would put acknowledged work at risk. The caller must end the process; the next start
   * recovers by replay.
   */
  readonly onFatal: (error: Error) => void;
  readonly snapshots?: Partial<SnapshotRules>;
  /** See `BatchDriverParts.digestEveryEvents`; default `null`. */
  readonly digestEveryEvents?: number | null;
  /** See `BatchDriverParts.digestQuietMs`; default 5 s. */
  readonly digestQuietMs?: number;
  readonly clock?: Clock;
  /** True: starts without deciding; see `safe-mode.ts`. Recorded attempts are left as they are. Default: false. */
  readonly isSafe?: boolean;
  readonly marker?: BatchDriverParts["marker"];
  readonly onPoint?: FaultHook;
}

/**
 * Time in ms without a round after which reads wait for one. It is longer than the pauses of a busy system, and shorter
 * than the time until an operator switches an idle machine off.
 */
const DIGEST_QUIET_MS = 5_000;

const NOTHING_TO_DO: Reconciliation = { observations: [], effects: [] };

const noFaults: FaultHook = () => undefined;

export async function openDriver(options: OpenDriverOptions): Promise<Driver> {
  const { executors, log, clock = systemClock } = options;
  refuseSameIds(executors);
  const beganMs = clock.monotonicMs();
  const { journal, engine, snapshotSequence, warnings } = await options.openJournal(Math.floor(clock.wallMs()));
  for (const warning of warnings) log.warn(warning);
  try {
    const behindMs = engine.state.nowMs - clock.wallMs();
    if (behindMs > JUMP_MS_MAX)
      log.warn(
        `The system clock is ${Math.round(behindMs / 3_600_000)} h behind the newest event of the journal. Time continues from that event. Correct the clock if it is wrong.`,
      );
    const reports = await Promise.all(executors.map((executor) => report(executor, log)));
    const newest = newestKnown(reports);
    const { sequence } = engine.state;
    if (newest !== null && newest.sequence > sequence) {
      throw journalOlderThan(journal.place, sequence, `attempt ${newest.attemptId}`, newest.sequence);
    }
    const { isSafe = false } = options;
    const { observations, effects } = isSafe ? NOTHING_TO_DO : reconcile(engine.state, reports);
    const recoveryMs = clock.monotonicMs() - beganMs;
    const driver = new BatchDriver({
      engine,
      journal,
      executors,
      telemetry: options.telemetry ?? newestOnly(),
      log,
      clock: new SteadyClock(clock, engine.state.nowMs),
      onFatal: options.onFatal,
      onPoint: options.onPoint ?? noFaults,
      snapshots: { ...snapshotDefaults, ...options.snapshots },
      digestEveryEvents: options.digestEveryEvents ?? null,
      digestQuietMs: options.digestQuietMs ?? DIGEST_QUIET_MS,
      restoredSnapshotSequence: snapshotSequence,
      isSafe,
      marker: options.marker ?? null,
      recoveryMs,
    });
    const areTold = tellAll(driver, observations);
    for (const executor of executors)
      executor.watch((input) => {
        const isMeasured = input.kind === "utilizationReported" && options.telemetry?.isMeasured?.(input.attemptId);
        return isMeasured === true || !speaksFor(engine.state, executor, input) ? undefined : driver.observe(input);
      });
    driver.start(isSafe ? [] : [...engine.outstandingEffects(), ...effects]);
    await areTold;
    log.info(
      `read the journal ${journal.journalId} to event ${sequence}, from ${snapshotSequence} on, in ${Math.round(recoveryMs)} ms`,
    );
    return driver;
  } catch (error) {
    await journal.close();
    throw error;
  }
}

/**
 * Reports what the recovery found, at most one fact for each attempt and node. The inbox is filled before the first
 * round, and the rest follows as the rounds empty it. An executor may report the same facts again meanwhile; the engine
 * ignores known facts.
 */
async function tellAll(driver: Driver, observations: readonly Observation[]): Promise<void> {
  for (const observation of observations) {
    const room = driver.observe(observation);
    if (room !== undefined) await room;
  }
}

/**
 * False for an executor's report about an attempt of another executor, for example after a repair by hand: the report
 * must not end that attempt.
 */
function speaksFor(state: ReadonlyState, { id }: Executor, input: ExecutorInput): boolean {
  const attempt = "attemptId" in input ? state.attempts.get(input.attemptId) : undefined;
  return attempt === undefined || (executorOf(state, attempt) ?? id) === id;
}

function refuseSameIds(executors: readonly Executor[]): void {
  const ids = executors.map(({ id }) => id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice === undefined) return;
  const advice = "Give each executor its own id: pools name their executor by this id.";
  throw new OperationalError("executorIdTwice", `Two executors have the id ${twice}. ${advice}`);
}

/** Running attempts must be known before the first decision; nodes can also be reported later. */
async function report(executor: Executor, log: DriverLog): Promise<ExecutorReport> {
  const attempts = await executor.attempts();
  try {
    return { id: executor.id, attempts, nodes: (await executor.inventory()).nodes };
  } catch (error) {
    log.warn(
      `the executor ${executor.id} cannot list its nodes: ${error instanceof Error ? error.message : String(error)}`,
    );
    return { id: executor.id, attempts, nodes: null };
  }
}
