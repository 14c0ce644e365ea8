/**
 * The driver's loop: take a batch from the inbox, decide and apply, append and sync, advance, reply, perform effects,
 * and start again. The driver handles one batch at a time; the next one gathers while a batch is synced.
 */
import { InvariantError } from "@headroom/model";
import type { Effect, ExecutorId, Input, Observation, Reply, Signal } from "@headroom/model";
import type { Engine, JournalGroup, Ready } from "@headroom/engine";
import type { Executor } from "@headroom/executors";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { EventFormat } from "@headroom/journal";
import type { AppendReceipt, RecordedDigest, RecordedGroup } from "@headroom/journal";
import { OperationalError } from "@headroom/platform";
import type { FaultPoint } from "../faults/fault-points.ts";
import { AttachedExecutors } from "./attached-executors.ts";
import type { BatchDriverParts } from "./batch-driver-parts.ts";
import type { CommandRequest, Driver, DriverStatus, SequencedEvent } from "./driver.ts";
import { EventFeed } from "./event-feed.ts";
import { Gathering } from "./gathering.ts";
import { Inbox, INBOX_COMMANDS_MAX } from "./inbox.ts";
import type { Batch } from "./inbox.ts";
import { LatencyRecorder, summarise } from "./latency.ts";
import { reportsTooMuch } from "./report-meter.ts";
import { SAFE_MODE, isSafeReport, safeRefusal } from "./safe-mode.ts";
import { SignalGate } from "./signal-gate.ts";
import { SnapshotSchedule } from "./snapshot-schedule.ts";
import { clockJumped } from "./steady-clock.ts";
import { UnsyncedRounds } from "./unsynced-rounds.ts";
import { WakeTimer } from "./wake-timer.ts";

/**
 * Maximum age in ms of the newest round when the driver answers a read. Budgets, spans and idle times change with time
 * even if nothing has happened for hours.
 */
const READ_LAG_MS_MAX = 1_000;

/** Sampling interval of the event-loop monitor in ms. Every sample includes this interval. */
const LOOP_SAMPLE_MS = 10;

/** Interval in ms at which a paused driver checks the clock. */
const CLOCK_CHECK_MS = 1_000;

export class BatchDriver implements Driver {
  readonly #parts: BatchDriverParts;
  readonly #engine: Engine;
  /**
   * Epoch with which this driver appends to the journal. After another process takes over the journal, appends with
   * this epoch are refused.
   */
  readonly #epoch: number;
  readonly #inbox = new Inbox();
  readonly #gate: SignalGate;
  readonly #gathering = new Gathering();
  readonly #feed: EventFeed;
  readonly #unsynced = new UnsyncedRounds();
  readonly #timer: WakeTimer;
  readonly #quiet: WakeTimer;
  readonly #snapshots: SnapshotSchedule;
  readonly #executors: AttachedExecutors;
  readonly #reads: (() => void)[] = [];
  readonly #loopDelay = monitorEventLoopDelay({ resolution: LOOP_SAMPLE_MS });
  readonly #syncLatency = new LatencyRecorder();
  readonly #decideLatency = new LatencyRecorder();
  readonly #startedAtMs: number;
  #phase: DriverStatus["phase"] = "running";
  #turn: "idle" | "gathering" | "deciding" = "idle";
  #gatheringSinceMs = 0;
  #isTickDue = false;
  /** Jump of the clock in ms because of which decisions are paused; `null`: not paused. */
  #pausedForMs: number | null = null;
  /** Time in ms of the newest round; 0: this process has had no round yet. */
  #decidedAtMs = 0;
  #isDigestDue = false;
  #durable: { readonly sequence: number; readonly chain: string };
  #digestSequence: number;
  #journalBytes = 0;
  #roundCount = 0;
  #groupCount = 0;
  #syncCount = 0;
  #commandCount = 0;
  #commandsSyncedCount = 0;
  #closing: Promise<void> | null = null;
  #whenIdle: (() => void) | null = null;

  constructor(parts: BatchDriverParts) {
    this.#parts = parts;
    this.#engine = parts.engine;
    this.#executors = new AttachedExecutors(parts.executors, {
      telemetry: parts.telemetry,
      log: parts.log,
      isSafe: parts.isSafe,
      state: () => parts.engine.state,
      observe: (input) => this.observe(input),
    });
    this.#epoch = parts.journal.leadership.epoch;
    const { sequence, chain } = parts.engine.state;
    this.#durable = { sequence, chain };
    this.#digestSequence = sequence;
    this.#startedAtMs = parts.clock.nowMs();
    this.#feed = new EventFeed(parts.journal, sequence);
    this.#snapshots = new SnapshotSchedule(parts.snapshots, parts.restoredSnapshotSequence, this.#startedAtMs);
    this.#gate = new SignalGate({
      sink: parts.telemetry,
      state: () => parts.engine.state,
      nowMs: () => parts.clock.nowMs(),
      tell: (signal) => {
        if (this.#phase === "running" && this.#inbox.addObserved(signal)) this.#wake();
      },
      onDropped: (id) => parts.log.warn(reportsTooMuch(id)),
    });
    this.#timer = new WakeTimer(() => {
      this.#isTickDue = true;
      this.#wake();
    });
    this.#quiet = new WakeTimer(() => {
      this.#isDigestDue = true;
      this.#wake();
    });
    this.#loopDelay.enable();
  }

  /** Called after recovery. Sets the timer, and performs effects that a crash may have lost. */
  start(effects: readonly Effect[]): void {
    this.#executors.perform(effects);
    if (!this.#parts.isSafe) this.#timer.set(this.#engine.nextWakeAtMs(), this.#parts.clock.nowMs());
    this.#parts.marker?.idle(this.#durable.sequence);
  }

  watch(executor: Executor): void {
    this.#executors.watch(executor);
  }

  attach(executor: Executor): void {
    this.#executors.attach(executor);
  }

  detach(id: ExecutorId): void {
    this.#executors.detach(id);
  }

  command(command: CommandRequest): Promise<Reply> {
    const refusal = this.#parts.isSafe ? safeRefusal(command) : null;
    return new Promise((resolve, reject) => {
      // Every event must have an authenticated actor. A command without an actor has bypassed authentication.
      if (command.actor === "") reject(new InvariantError(`the command ${command.kind} has no actor`));
      else if (this.#phase !== "running") reject(this.#refusal());
      else if (refusal !== null) reject(refusal);
      else if (this.#clockJump() !== null) reject(clockJumped(this.#clockJump() ?? 0));
      else if (this.#inbox.addCommand(command, { resolve, reject })) this.#wake();
    });
  }

  onReplicaReady: Driver["onReplicaReady"] = () => undefined;

  observe(input: Observation | Signal): Promise<void> | undefined {
    if (input.kind === "replicaReady") this.onReplicaReady(input.attemptId);
    if (this.#phase !== "running" || (this.#parts.isSafe && !isSafeReport(input))) return undefined;
    try {
      if (!this.#gate.takes(input) && this.#inbox.addObserved(input)) this.#wake();
    } catch (error) {
      this.#fail(error);
    }
    return this.#inbox.factsHaveRoom();
  }

  read<T>(query: (engine: Engine) => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = (): void => {
        try {
          if (this.#phase === "failed") throw this.#refusal();
          resolve(query(this.#engine));
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
        }
      };
      if (this.#turn === "deciding" || this.#looksAgain()) this.#reads.push(run);
      else run();
    });
  }

  /** Whether the newest round is too old for a read. If so, the read waits for another round, which records nothing. */
  #looksAgain(): boolean {
    if (this.#phase !== "running" || this.#parts.isSafe || this.#clockJump() !== null) return false;
    if (this.#parts.clock.nowMs() - this.#decidedAtMs <= READ_LAG_MS_MAX) return false;
    this.#isTickDue = true;
    this.#wake();
    return true;
  }

  events(fromSequence: number, signal: AbortSignal): AsyncIterable<SequencedEvent> {
    return this.#feed.read(fromSequence, signal);
  }

  mentions(fromSequence: number, text: string): AsyncIterable<SequencedEvent> {
    return this.#feed.mentions(fromSequence, text);
  }

  eventFrames(fromSequence: number, format: EventFormat, signal: AbortSignal): AsyncIterable<Uint8Array> {
    return this.#feed.frames(fromSequence, format, signal);
  }

  status(): DriverStatus {
    const { journal, recoveryMs } = this.#parts;
    return {
      phase: this.#phase,
      paused: this.#phase === "running" ? this.#whyPaused() : null,
      startedAtMs: this.#startedAtMs,
      recoveryMs,
      ...this.#durable,
      journalId: journal.journalId,
      journalBytes: this.#journalBytes,
      roundCount: this.#roundCount,
      groupCount: this.#groupCount,
      syncCount: this.#syncCount,
      commandCount: this.#commandCount,
      rejectedOverloadCount: this.#inbox.rejectedCount,
      signalDroppedCount: this.#inbox.droppedCount + this.#gate.droppedCount,
      commandsPerSync: this.#syncCount === 0 ? 0 : this.#commandsSyncedCount / this.#syncCount,
      inboxLength: this.#inbox.length,
      inboxLimit: INBOX_COMMANDS_MAX,
      sync: this.#syncLatency.summary(),
      decide: this.#decideLatency.summary(),
      loopDelay: summarise(this.#loopDelay, LOOP_SAMPLE_MS),
      snapshot: this.#snapshots.newest,
    };
  }

  #whyPaused(): string | null {
    if (this.#parts.isSafe) return SAFE_MODE;
    return this.#pausedForMs === null ? null : clockJumped(this.#pausedForMs).message;
  }

  close(): Promise<void> {
    this.#closing ??= this.#shutDown();
    return this.#closing;
  }

  #refusal(): OperationalError {
    if (this.#phase === "failed") {
      return new OperationalError("journalFailed", "The journal failed and the control plane is about to end.");
    }
    return new OperationalError("closing", "The control plane is shutting down; try again in a moment.", {
      retryable: true,
    });
  }

  #wake(): void {
    if (this.#turn !== "idle" || this.#phase === "failed") return;
    this.#turn = "gathering";
    this.#gatheringSinceMs = performance.now();
    this.#gathering.began(this.#inbox.commandCount);
    setImmediate(this.#gather);
  }

  /** Runs after the poll phase of the event loop, so that all input that the sockets had ready is in the inbox. */
  readonly #gather = (): void => {
    const waitedMs = performance.now() - this.#gatheringSinceMs;
    const mustWait = this.#phase === "running" && !this.#gathering.isEnough(this.#inbox.commandCount, waitedMs);
    if (mustWait) {
      setImmediate(this.#gather);
      return;
    }
    if (this.#phase === "running" && this.#isPausedByClock()) return;
    this.#turn = "deciding";
    const hasWork = this.#inbox.length > 0 || this.#isTickDue;
    (hasWork ? this.#decide() : this.#recordQuietDigest()).then(this.#next, this.#fail);
  };

  /** Jump of the wall clock in ms that pauses decisions until the clock is corrected; `null`: no jump. */
  #clockJump(): number | null {
    const { clock } = this.#parts;
    clock.nowMs();
    return clock.jumpMs;
  }

  /** Whether the clock has jumped. If so, inputs stay in the inbox and the clock is checked again later. */
  #isPausedByClock(): boolean {
    const jumpMs = this.#clockJump();
    if ((jumpMs === null) !== (this.#pausedForMs === null)) {
      if (jumpMs === null) this.#parts.log.info("The system clock is right again, and decisions resume.");
      else this.#parts.log.error(clockJumped(jumpMs).message);
    }
    this.#pausedForMs = jumpMs;
    if (jumpMs === null) return false;
    this.#turn = "idle";
    for (const run of this.#reads.splice(0)) run();
    const nowMs = this.#parts.clock.nowMs();
    this.#timer.set(nowMs + CLOCK_CHECK_MS, nowMs);
    return true;
  }

  readonly #next = (): void => {
    this.#turn = "idle";
    for (const run of this.#reads.splice(0)) run();
    if (this.#inbox.length > 0 || this.#isTickDue) this.#wake();
    else this.#whenIdle?.();
  };

  readonly #fail = (error: unknown): void => {
    if (this.#phase === "failed") return;
    this.#phase = "failed";
    this.#turn = "idle";
    this.#timer.clear();
    this.#quiet.clear();
    const cause = error instanceof Error ? error : new Error(String(error));
    const operational =
      cause instanceof OperationalError ? cause : new OperationalError("bug", cause.message, { cause });
    this.#inbox.rejectAll(operational);
    for (const run of this.#reads.splice(0)) run();
    this.#feed.close();
    this.#parts.log.error(
      `${cause instanceof InvariantError ? "A broken invariant" : operational.code}: ${cause.message}`,
    );
    this.#parts.onFatal(cause);
    this.#whenIdle?.();
  };

  async #decide(): Promise<void> {
    const batch = this.#takeBatch();
    this.#gathering.closed(batch.commandCount);
    this.#parts.marker?.deciding(this.#durable.sequence, batch.inputs);
    await this.#at("after-observation-before-append", batch.inputs.length > batch.commandCount);
    const beganMs = performance.now();
    this.#decidedAtMs = this.#parts.clock.nowMs();
    const ready = this.#engine.receive(batch.inputs, this.#decidedAtMs);
    this.#decideLatency.record(performance.now() - beganMs);
    this.#roundCount++;
    this.#commandCount += batch.commandCount;
    this.#unsynced.add({
      atMs: ready.atMs,
      firstSequence: ready.group?.firstSequence ?? null,
      inputs: JSON.stringify(batch.inputs),
    });
    const isSynced = ready.group !== null || this.#unsynced.isDue;
    if (isSynced) await this.#append(ready, batch);
    this.#engine.advance();
    await this.#at("after-append-before-reply", isSynced);
    for (const reply of ready.replies) this.#inbox.answer(reply);
    if (ready.group !== null) this.#feed.publish(ready.group.firstSequence, ready.events);
    await this.#at("after-reply-before-launch", ready.effects.length > 0);
    this.#executors.perform(ready.effects);
    await this.#at("after-launch-before-observation", ready.effects.length > 0);
    this.#parts.marker?.idle(this.#durable.sequence);
    this.#timer.set(this.#nextWakeAtMs(ready), this.#parts.clock.nowMs());
    this.#considerSnapshot();
  }

  /** In safe mode only stops of tasks continue without an input. */
  #nextWakeAtMs({ isCut }: Ready): number | null {
    return this.#parts.isSafe && !isCut ? null : this.#engine.nextWakeAtMs();
  }

  #takeBatch(): Batch {
    const batch = this.#inbox.take();
    const more: Input[] = this.#isTickDue ? [{ kind: "tick" }] : [];
    if (this.#parts.isSafe) more.push({ kind: "noRound" });
    this.#isTickDue = false;
    return more.length === 0 ? batch : { ...batch, inputs: [...batch.inputs, ...more] };
  }

  /** Calls the fault hook. The event loop takes no turn unless the hook returns a promise. */
  async #at(point: FaultPoint, applies: boolean): Promise<void> {
    const pause = applies ? this.#parts.onPoint(point) : undefined;
    if (pause !== undefined) await pause;
  }

  async #append({ atMs, group }: Ready, { commandCount }: Batch): Promise<void> {
    await this.#at("before-append", true);
    const append = this.#parts.journal.append({
      epoch: this.#epoch,
      rounds: this.#unsynced.takeAll(),
      group: group === null ? null : recorded(group, atMs),
      digest: group === null ? null : this.#digestIfDue(),
    });
    await Promise.all([append, this.#at("in-append", true)]);
    this.#count(await append, commandCount);
    if (group !== null) {
      this.#quiet.set(atMs + this.#parts.digestQuietMs, atMs);
      this.#groupCount++;
      this.#durable = { sequence: group.firstSequence + group.count - 1, chain: group.chain };
    }
    await this.#at("after-sync-before-advance", true);
  }

  #count({ syncMs, journalBytes }: AppendReceipt, commandCount: number): void {
    this.#syncLatency.record(syncMs);
    this.#journalBytes = journalBytes;
    this.#syncCount++;
    this.#commandsSyncedCount += commandCount;
  }

  #digestIfDue(): RecordedDigest | null {
    const { digestEveryEvents } = this.#parts;
    const { sequence } = this.#engine.state;
    if (digestEveryEvents === null || sequence - this.#digestSequence < digestEveryEvents) return null;
    this.#digestSequence = sequence;
    return { sequence, digest: this.#engine.digest() };
  }

  /** Records a digest if one is due and the loop ran only because of the idle timer. */
  async #recordQuietDigest(): Promise<void> {
    const { sequence } = this.#engine.state;
    const isDue = this.#isDigestDue && sequence > this.#digestSequence;
    this.#isDigestDue = false;
    if (!isDue) return;
    this.#digestSequence = sequence;
    const digest = { sequence, digest: this.#engine.digest() };
    this.#count(
      await this.#parts.journal.append({ epoch: this.#epoch, rounds: this.#unsynced.takeAll(), group: null, digest }),
      0,
    );
  }

  #considerSnapshot(): void {
    const { journal, log, clock } = this.#parts;
    if (!this.#snapshots.isDue(this.#durable.sequence, clock.nowMs())) return;
    this.#snapshots.begin(this.#durable.sequence, clock.nowMs());
    journal.snapshotInBackground().then(
      ({ sequence, bytes, elapsedMs }) => {
        this.#snapshots.done(sequence, clock.nowMs());
        log.info(`snapshot at event ${sequence}: ${bytes} bytes in ${Math.round(elapsedMs)} ms`);
      },
      (error: unknown) => {
        this.#snapshots.failed();
        if (this.#phase === "closed" || this.#phase === "closing") return;
        const isDamage = error instanceof OperationalError && UNTRUSTWORTHY.has(error.code);
        // After a damage that prevents a restore, acknowledged commands would be lost at the next start.
        if (isDamage) this.#fail(error);
        else log.warn(`no snapshot: ${error instanceof Error ? error.message : String(error)}`);
      },
    );
  }

  async #shutDown(): Promise<void> {
    if (this.#phase === "running") this.#phase = "closing";
    this.#stopTimers();
    if (this.#turn !== "idle" && !this.#hasFailed()) {
      await new Promise<void>((resolve) => {
        this.#whenIdle = resolve;
      });
    }
    // The last batch has set the timers again. No timer may fire after the journal is closed.
    this.#stopTimers();
    // Inputs that were accepted before a pause but never decided are rejected. A retry with the same idempotency key is
    // safe.
    if (this.#inbox.length > 0 && !this.#hasFailed()) this.#inbox.rejectAll(this.#refusal());
    this.#feed.close();
    this.#loopDelay.disable();
    if (this.#hasFailed()) {
      await this.#parts.journal.close();
      return;
    }
    await this.#recordEnd();
    this.#phase = "closed";
  }

  #stopTimers(): void {
    this.#gate.close();
    this.#timer.clear();
    this.#quiet.clear();
    this.#isTickDue = false;
  }

  #hasFailed(): boolean {
    return this.#phase === "failed";
  }

  /** Writes unsynced rounds, the digest at the head and a snapshot, so that the next start folds no events. */
  async #recordEnd(): Promise<void> {
    const { journal, log } = this.#parts;
    const { state } = this.#engine;
    try {
      const digest = this.#engine.digest();
      const rounds = this.#unsynced.takeAll();
      await journal.append({ epoch: this.#epoch, rounds, group: null, digest: { sequence: state.sequence, digest } });
      if (state.sequence > (this.#snapshots.newest?.sequence ?? this.#parts.restoredSnapshotSequence)) {
        await journal.writeSnapshot(state.sequence, state.chain, digest, this.#engine.snapshot());
      }
    } catch (error) {
      // All acknowledged events are already synced. The next start only has to fold more events.
      log.warn(`closing without a digest and a snapshot: ${error instanceof Error ? error.message : String(error)}`);
    }
    await journal.close();
  }
}

/** The fields are copied one by one, because the engine formats a group's chain only when it is read. */
function recorded({ firstSequence, count, text, chain }: JournalGroup, atMs: number): RecordedGroup {
  return { firstSequence, count, text, chain, atMs };
}

/** Errors after which the journal no longer matches the state. */
const UNTRUSTWORTHY: ReadonlySet<string> = new Set(["journalDamaged", "journalDigestMismatch"]);
