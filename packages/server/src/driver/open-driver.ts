/**
 * The start of a control plane: lock the directory, fold the journal, ask every executor which attempts really run,
 * pass the differences to the engine, and only then accept commands. A refusal is an `OperationalError` that states the
 * remedy. No work has been started by then.
 */
import type { ReadonlyState } from "@headroom/engine";
import type { ExecutorId, Observation } from "@headroom/model";
import type { Executor } from "@headroom/executors";
import { journalOlderThan } from "@headroom/journal";
import type { OpenJournal } from "@headroom/journal";
import { OperationalError } from "@headroom/platform";
import type { FaultHook } from "../faults/fault-points.ts";
import { messageOf, within } from "../executors/within.ts";
import { missingAttempts, newestKnown, reconcile } from "../recovery/reconcile.ts";
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
  /** Executors with different ids; the caller closes them after the driver. Each must answer before the start goes on. */
  readonly executors: readonly Executor[];
  /** Declared executors. One that does not answer in time, or not completely, is left out and connected later. */
  readonly declared?: DeclaredExecutors;
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

interface SilentExecutor {
  readonly id: ExecutorId;
  readonly problem: string;
}

export interface DeclaredExecutors {
  readonly executors: readonly Executor[];
  /** Executors that did not open in time, with the reason. */
  readonly unopened: readonly SilentExecutor[];
  /** Time in ms for the answers of all of them. */
  readonly answerMs: number;
  /** Called for an executor whose answer is not used. */
  silent(executor: Executor, problem: string): void;
}

/**
 * Time in ms without a round after which reads wait for one. It is longer than the pauses of a busy system, and shorter
 * than the time until an operator switches an idle machine off.
 */
const DIGEST_QUIET_MS = 5_000;

const NOTHING_TO_DO: Reconciliation = { observations: [], effects: [] };

const noFaults: FaultHook = () => undefined;

export async function openDriver(options: OpenDriverOptions): Promise<Driver> {
  const { log, clock = systemClock } = options;
  refuseSameIds(options.executors);
  const beganMs = clock.monotonicMs();
  const { journal, engine, snapshotSequence, warnings } = await options.openJournal(Math.floor(clock.wallMs()));
  for (const warning of warnings) log.warn(warning);
  try {
    const behindMs = engine.state.nowMs - clock.wallMs();
    if (behindMs > JUMP_MS_MAX)
      log.warn(
        `The system clock is ${Math.round(behindMs / 3_600_000)} h behind the newest event of the journal. Time continues from that event. Correct the clock if it is wrong.`,
      );
    const { executors, reports, silent } = await answers(options, engine.state);
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
    // The first round already knows which executors take no work.
    const areTold = tellAll(driver, isSafe ? [] : [...silent.map(unreachableAtStart), ...observations]);
    for (const executor of executors) driver.watch(executor);
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

function refuseSameIds(executors: readonly Executor[]): void {
  const ids = executors.map(({ id }) => id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice === undefined) return;
  const advice = "Give each executor its own id: pools name their executor by this id.";
  throw new OperationalError("executorIdTwice", `Two executors have the id ${twice}. ${advice}`);
}

interface ExecutorAnswers {
  readonly executors: readonly Executor[];
  readonly reports: readonly ExecutorReport[];
  readonly silent: readonly SilentExecutor[];
}

const unreachableAtStart = ({ id, problem: detail }: SilentExecutor): Observation => ({
  kind: "executorUnreachable",
  executor: id,
  detail,
});

/** The executors whose answers the start uses, with their answers. */
async function answers(
  { executors, declared, log }: OpenDriverOptions,
  state: ReadonlyState,
): Promise<ExecutorAnswers> {
  const [own, others] = await Promise.all([
    Promise.all(executors.map((executor) => report(executor, log))),
    Promise.all((declared?.executors ?? []).map((executor) => boundedReport(executor, declared?.answerMs ?? 0, state))),
  ]);
  const silent = [...(declared?.unopened ?? [])];
  const usable: Executor[] = [];
  const reports: ExecutorReport[] = [];
  for (const { executor, answer } of others) {
    if (typeof answer === "string") {
      declared?.silent(executor, answer);
      silent.push({ id: executor.id, problem: answer });
      continue;
    }
    usable.push(executor);
    reports.push(answer);
  }
  return { executors: [...executors, ...usable], reports: [...own, ...reports], silent };
}

interface BoundedAnswer {
  readonly executor: Executor;
  /** Text: the reason why the answer is not used. */
  readonly answer: ExecutorReport | string;
}

async function boundedReport(executor: Executor, answerMs: number, state: ReadonlyState): Promise<BoundedAnswer> {
  const { id, attemptsAreComplete: isComplete = false } = executor;
  try {
    const attempts = await within(answerMs, () => executor.attempts());
    const answer = { id, attempts, nodes: null, isComplete };
    const missing = missingAttempts(state, answer).length;
    return { executor, answer: missing === 0 ? answer : `its answer lacks ${missing} attempts that are recorded` };
  } catch (error) {
    return { executor, answer: messageOf(error) };
  }
}

/** Running attempts must be known before the first decision; nodes can also be reported later. */
async function report(executor: Executor, log: DriverLog): Promise<ExecutorReport> {
  const { id, attemptsAreComplete: isComplete = false } = executor;
  const attempts = await executor.attempts();
  try {
    return { id, attempts, nodes: (await executor.inventory()).nodes, isComplete };
  } catch (error) {
    log.warn(`the executor ${id} cannot list its nodes: ${messageOf(error)}`);
    return { id, attempts, nodes: null, isComplete };
  }
}
