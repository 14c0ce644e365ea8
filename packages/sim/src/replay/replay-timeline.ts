/**
 * One timeline of a recorded window. Submissions, nodes and real run times are those of the record. An engine under the
 * simulator's driver decides again from the recorded state.
 */
import type { Attempt, AttemptId, Event, LaunchGang, WorkloadId } from "@headroom/model";
import { restoreEngine } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import type { AdoptedAttempt } from "../executor/simulated-executor.ts";
import type { RunPlan } from "../executor/run-plan.ts";
import type { Script, SimulatedRound, Simulation, SimulationObserver } from "../run/simulation.ts";
import { resumeSimulation } from "../run/simulation.ts";
import { TimelineLedger } from "./timeline-ledger.ts";
import type { LedgerOptions } from "./timeline-ledger.ts";
import { CHANGE_COMMAND, changedInput, changeInputs } from "./outside-inputs.ts";
import type { OutsideInput, ReplayChange } from "./outside-inputs.ts";
import type { RecordedRun, RecordedWork } from "./recorded-work.ts";
import { savedBefore, taskKey } from "./recorded-work.ts";
import { WorkedTime } from "./worked-time.ts";

/** Recorded data that a timeline needs. */
export interface Recorded {
  /** The engine's state at the start of the window. */
  readonly snapshot: Uint8Array;
  readonly inputs: readonly OutsideInput[];
  readonly ledger: TimelineLedger;
  readonly work: RecordedWork;
  /** Estimated run time of work without a recorded run time, given its progress; both in workers times ms. */
  imagined(key: string, task: number, doneWorkerMs: number, workers: number): number;
}

/** Run time of work that only a stop ended: longer than any window. */
const NEVER_MS = 10 * 365 * 86_400_000;

interface TimelineAttempt {
  readonly task: string;
  readonly worked: WorkedTime;
  /** Progress that the present run had made before this attempt, in workers times ms. */
  readonly savedWorkerMs: number;
}

interface TaskProgress {
  run: number;
  /** Progress of the present run that a checkpoint has saved, in workers times ms. */
  savedWorkerMs: number;
}

export class ReplayTimeline implements SimulationObserver {
  readonly #recorded: Recorded;
  readonly #change: ReplayChange;
  readonly #tasks = new Map<string, TaskProgress>();
  readonly #attempts = new Map<AttemptId, TimelineAttempt>();
  readonly #engine: Engine;
  readonly #simulation: Simulation<ReplayTimeline>;
  readonly ledger: TimelineLedger;
  /** Tasks whose run times were estimated. */
  readonly imagined: Set<string> = new Set();
  refusals = 0;
  readonly changeRefusals: string[] = [];

  constructor(recorded: Recorded, change: ReplayChange, options: LedgerOptions) {
    this.#recorded = recorded;
    this.#change = change;
    const engine = restoreEngine(recorded.snapshot);
    this.#engine = engine;
    this.ledger = new TimelineLedger(engine, options);
    const { latencies } = recorded.work;
    this.#simulation = resumeSimulation(
      {
        startAtMs: options.fromMs,
        fleet: { sites: [], pools: [], nodes: [] },
        teams: [],
        policy: engine.state.policy,
        script: this.#script(options.fromMs),
        executor: { ...latencies, plan: (launch) => this.#plan(launch) },
        nodeFaults: null,
        observer: this,
      },
      engine,
      this.#adopted(engine),
    );
  }

  /** Runs up to `maxRounds` rounds of the window. Returns true when no more rounds are due. */
  advance(untilMs: number, maxRounds: number): boolean {
    const done = this.#simulation.advance({ untilMs, maxRounds });
    if (done) this.ledger.close();
    return done;
  }

  get nowMs(): number {
    return this.#simulation.nowMs;
  }

  onRound({ ready }: SimulatedRound): void {
    for (const event of ready.events) {
      this.ledger.take(event);
      this.#follow(event);
    }
    for (const reply of ready.replies) {
      if (reply.kind !== "rejected") continue;
      if (reply.commandId === CHANGE_COMMAND) this.changeRefusals.push(reply.rejection.code);
      else this.refusals++;
    }
  }

  fork(): this {
    throw new Error("a replay is not forked");
  }

  /** The inputs of the timeline: the change first, then the recorded outside inputs, each translated when it is due. */
  #script(fromMs: number): Script {
    const first = changeInputs(this.#change);
    const { inputs } = this.#recorded;
    return {
      length: first.length + inputs.length,
      atMs: (index) => inputs[index - first.length]?.atMs ?? fromMs,
      input: (index) => {
        const own = first[index];
        if (own !== undefined) return own;
        return (
          changedInput(inputs[index - first.length]!.input, this.#change, (id) => this.#idOf(id)) ?? { kind: "tick" }
        );
      },
    };
  }

  #idOf(recordedId: string): WorkloadId | null {
    const key = this.#recorded.ledger.byId(recordedId as WorkloadId)?.key;
    return key === undefined ? null : (this.ledger.workloads.get(key)?.id ?? null);
  }

  #adopted({ state }: Engine): readonly AdoptedAttempt[] {
    return [...state.attempts.values()].map((attempt) => {
      const { workloadId, task } = attempt;
      const workload = state.workloads.get(workloadId);
      const plan = this.#planOf(attempt, attempt.startedAtMs);
      // Progress that was saved before the window survives an eviction within the window.
      this.#progress(taskKey(this.#keyOf(workloadId), task)).savedWorkerMs = savedBefore(attempt, workload?.checkpoint);
      return { attempt, plan, graceTimeoutMs: workload?.spec.graceTimeoutMs ?? 0 };
    });
  }

  #plan({ attemptId: id, ...launch }: LaunchGang): RunPlan {
    return this.#planOf({ id, ...launch }, null);
  }

  #planOf(
    { id, workloadId, task, workers: gang }: Pick<Attempt, "id" | "workloadId" | "task" | "workers">,
    startedAtMs: number | null,
  ): RunPlan {
    const workers = gang.length;
    const key = this.#keyOf(workloadId);
    const name = taskKey(key, task);
    const { run, savedWorkerMs } = this.#progress(name);
    const recorded = this.#recorded.work.runs(key, task)[run];
    const checkpoints = (recorded?.checkpoints ?? []).filter(({ workerMs }) => workerMs > savedWorkerMs);
    this.#attempts.set(id, { task: name, worked: new WorkedTime(workers, startedAtMs), savedWorkerMs });
    const mayAsk = this.#engine.state.workloads.get(workloadId)?.spec.checkpointOnRequest === true;
    const answersMs = mayAsk ? this.#recorded.work.checkpointMs : null;
    const inAll = recorded?.end === "exited" ? recorded.workerMs : this.#unknown({ key, task, workers, recorded });
    return {
      durationMs: Math.max(1, Math.ceil((inAll - savedWorkerMs) / workers)),
      exitCode: recorded?.exitCode ?? 0,
      ...(answersMs === null ? {} : { checkpointMs: answersMs }),
      checkpoints: checkpoints.map(({ workerMs, step, path }) => ({
        afterMs: Math.ceil((workerMs - savedWorkerMs) / workers),
        step,
        path,
      })),
    };
  }

  #unknown(of: {
    readonly key: string;
    readonly task: number;
    readonly workers: number;
    readonly recorded: RecordedRun | undefined;
  }): number {
    const { key, task, workers, recorded } = of;
    if (recorded?.end === "stopped") return NEVER_MS * workers;
    this.imagined.add(taskKey(key, task));
    return this.#recorded.imagined(key, task, recorded?.workerMs ?? 0, workers);
  }

  #keyOf(workloadId: WorkloadId): string {
    return this.ledger.byId(workloadId)?.key ?? workloadId;
  }

  #progress(task: string): TaskProgress {
    const known = this.#tasks.get(task);
    if (known !== undefined) return known;
    const progress = { run: 0, savedWorkerMs: 0 };
    this.#tasks.set(task, progress);
    return progress;
  }

  #follow(event: Event): void {
    if (!("attemptId" in event)) return;
    const attempt = this.#attempts.get(event.attemptId);
    if (attempt === undefined) return;
    const progress = this.#progress(attempt.task);
    attempt.worked.follow(event);
    if (event.kind === "checkpointRecorded")
      progress.savedWorkerMs = attempt.savedWorkerMs + attempt.worked.until(event.atMs);
    else if (event.kind === "attemptEnded") {
      this.#attempts.delete(event.attemptId);
      if (event.outcome !== "succeeded" && event.outcome !== "failed") return;
      progress.run++;
      progress.savedWorkerMs = 0;
    }
  }
}
