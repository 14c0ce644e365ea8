/**
 * Policy replay: runs a recorded window again under another policy, or with other teams. It compares three timelines:
 * the record; the control, which is a replay without a change and shows the error of the replay itself; and the replay
 * with the change. A pure function of the record.
 */
import { readEvents, replayEngine, restoreEngine } from "@headroom/engine";
import type { Engine, JournalGroup } from "@headroom/engine";
import { DurationModel, usualDurationRules } from "../estimate/durations.ts";
import type { DurationScenario } from "../estimate/durations.ts";
import { workHistory } from "../estimate/history.ts";
import { compareTimelines } from "./compare-timelines.ts";
import type { ComparedTimelines } from "./compare-timelines.ts";
import { TimelineLedger } from "./timeline-ledger.ts";
import type { LedgerOptions } from "./timeline-ledger.ts";
import type { OutsideInput, ReplayChange } from "./outside-inputs.ts";
import { RecordedWork } from "./recorded-work.ts";
import { ReplayTimeline } from "./replay-timeline.ts";
import type { Recorded } from "./replay-timeline.ts";

export interface RecordedWindow extends LedgerOptions {
  /** The engine's state at the start of the window. */
  readonly snapshot: Uint8Array;
  /** Everything recorded within the window. */
  readonly groups: readonly JournalGroup[];
  readonly inputs: readonly OutsideInput[];
}

/** Assumptions about unknown facts, each with its number of cases. */
export interface ReplayAssumptions {
  /** Tasks that had not ended, or had not even started, at the end of the window. Their run times were estimated. */
  readonly imaginedDurations: number;
  /** Workloads that a user or the walltime stopped. How long they would have run is unknown. */
  readonly stopped: number;
  /** Attempts that were lost although their nodes were not: their losses are not repeated. */
  readonly lostAttempts: number;
  /** Workloads that had not started at the end of the window. Their waits count until then. */
  readonly waitingAtEnd: { readonly recorded: number; readonly control: number; readonly changed: number };
  /** Commands that the engine refused in a replay. */
  readonly refusals: { readonly control: number; readonly changed: number };
  /** Delays in ms from launch to running and from stop to end. All attempts use the recorded medians. */
  readonly startupMs: number;
  readonly stopMs: number;
}

export interface ReplayReport extends ComparedTimelines {
  readonly fromMs: number;
  readonly toMs: number;
  readonly stepMs: number;
  readonly assumptions: ReplayAssumptions;
}

const SEED = 1;
const noChange: ReplayChange = { policy: null, teams: [] };

/** A replay in steps, so that the caller can report progress and cancel. */
export class Replay {
  readonly #window: RecordedWindow;
  readonly #recorded: Recorded;
  readonly #control: ReplayTimeline;
  readonly #changed: ReplayTimeline;
  #isControlDone = false;
  #isDone = false;

  constructor(window: RecordedWindow, change: ReplayChange) {
    this.#window = window;
    this.#recorded = readRecorded(window);
    this.#control = new ReplayTimeline(this.#recorded, noChange, window);
    this.#changed = new ReplayTimeline(this.#recorded, change, window);
  }

  /** Runs up to `maxRounds` further rounds. Returns true when the replay is done; `report` then has the result. */
  advance(maxRounds: number): boolean {
    const { toMs } = this.#window;
    if (!this.#isControlDone) this.#isControlDone = this.#control.advance(toMs, maxRounds);
    else this.#isDone = this.#isDone || this.#changed.advance(toMs, maxRounds);
    return this.#isDone;
  }

  /** Share of the replay that is done, 0 to 1. */
  get progress(): number {
    const { fromMs, toMs } = this.#window;
    const share = ({ nowMs }: ReplayTimeline): number => (nowMs - fromMs) / Math.max(1, toMs - fromMs);
    return (share(this.#control) + share(this.#changed)) / 2;
  }

  /** The engine's reasons for refusing the change at the start of the window; empty: it was accepted. */
  get changeRefusals(): readonly string[] {
    return this.#changed.changeRefusals;
  }

  report(): ReplayReport {
    const { fromMs, toMs, stepMs } = this.#window;
    const { ledger, work } = this.#recorded;
    const ledgers = { recorded: ledger, control: this.#control.ledger, changed: this.#changed.ledger };
    const compared = compareTimelines(ledgers, { fromMs, toMs });
    const waiting = (of: TimelineLedger): number =>
      [...of.workloads.values()].filter(({ startedAtMs, endedAtMs }) => startedAtMs === null && endedAtMs === null)
        .length;
    return {
      fromMs,
      toMs,
      stepMs,
      ...compared,
      assumptions: {
        imaginedDurations: new Set([...this.#control.imagined, ...this.#changed.imagined]).size,
        stopped: [...ledger.workloads.values()].filter(
          ({ endReason }) => endReason === "cancelled" || endReason === "walltimeExceeded",
        ).length,
        lostAttempts: work.lostAttempts,
        waitingAtEnd: {
          recorded: waiting(ledger),
          control: waiting(ledgers.control),
          changed: waiting(ledgers.changed),
        },
        refusals: { control: this.#control.refusals, changed: this.#changed.refusals },
        ...work.latencies,
      },
    };
  }
}

export function replay(window: RecordedWindow, change: ReplayChange): ReplayReport {
  const run = new Replay(window, change);
  while (!run.advance(1_000_000));
  return run.report();
}

function readRecorded(window: RecordedWindow): Recorded {
  const { snapshot, groups, inputs, toMs } = window;
  const engine = restoreEngine(snapshot);
  const ledger = new TimelineLedger(engine, window);
  const work = new RecordedWork(engine, ledger);
  for (const { text } of groups) {
    for (const event of readEvents(text)) {
      ledger.take(event);
      work.take(event);
    }
  }
  ledger.close();
  work.close(toMs);
  replayEngine(engine, groups);
  return { snapshot, inputs, ledger, work, imagined: imaginedWork(engine, ledger) };
}

/**
 * Run times estimated from similar work up to the end of the window; each task is estimated once for both timelines.
 */
function imaginedWork(atEnd: Engine, ledger: TimelineLedger): Recorded["imagined"] {
  const history = workHistory(atEnd.state);
  const scenario: DurationScenario = new DurationModel(history.records, usualDurationRules, history.imported).scenario(
    SEED,
  );
  const known = new Map<string, number>();
  return (key, task, doneWorkerMs, workers) => {
    const name = `${key} ${task} ${doneWorkerMs}`;
    const before = known.get(name);
    if (before !== undefined) return before;
    const id = ledger.workloads.get(key)?.id;
    const record = id === undefined ? 0 : (history.indexOf.get(id) ?? 0);
    const drawn = scenario.durationMs(record, Math.ceil(doneWorkerMs / workers)) * workers;
    known.set(name, drawn);
    return drawn;
  };
}
