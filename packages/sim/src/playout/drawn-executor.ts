/**
 * The executor of a fork. Attempts start at once and end after a drawn or typical run time. Attempts that run at the
 * fork are adopted; nodes that the engine has ordered join when they are expected; attempts that are being stopped use up their grace period.
 */
import { stoppedByMs } from "@headroom/model";
import type { Attempt, AttemptId, Effect, Input, LaunchGang, NodeSpec, WorkerExit } from "@headroom/model";
import { drawnTransferMs, transferBefore } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { type EventQueue, ranks } from "../clock/event-queue.ts";
import { artifactsOf } from "../executor/artifacts-made.ts";
import { comingNodes } from "./coming-nodes.ts";
import type { PlayoutWorld } from "./playout.ts";

export interface DrawnExecutorOptions {
  readonly engine: Engine;
  readonly queue: EventQueue;
  /** Total run time in ms, from its start, of an attempt that runs at the fork. */
  runningMs(attempt: Attempt, elapsedMs: number): number;
  /** Run time in ms of an attempt that is launched now. */
  launchedMs(launch: LaunchGang, nowMs: number): number;
  /** Uniform number in [0, 1) for the transfer of an attempt's inputs. Absent: transfers take their median time. */
  readonly transferUniform?: (placedSequence: number) => number;
}

const clean: WorkerExit = { kind: "exited", worker: 0, code: 0 };

type Due =
  | { readonly kind: "start" | "end" | "left"; readonly attemptId: AttemptId }
  | { readonly kind: "node"; readonly node: NodeSpec };

export class DrawnExecutor implements PlayoutWorld {
  readonly #options: DrawnExecutorOptions;
  readonly #due: Due[] = [];
  readonly #live = new Set<AttemptId>();
  #endCount = 0;
  /** Always false: only the queue and the engine's timers determine when the run ends. */
  readonly isAtRest = false;

  constructor(options: DrawnExecutorOptions) {
    this.#options = options;
  }

  /** Number of attempts that have ended since the fork. */
  get endCount(): number {
    return this.#endCount;
  }

  /**
   * Adopts the attempts that are active at the fork. Returns reports for those that were launched and had not started.
   */
  adopt(nowMs: number): readonly Input[] {
    const { engine } = this.#options;
    const launching: Input[] = [];
    for (const { atMs, node } of comingNodes(engine.state, nowMs)) this.#at(atMs, { kind: "node", node });
    // The longest-running attempts come first: their draws inform the draws of younger attempts of the same sweep.
    for (const attempt of [...engine.state.attempts.values()].toSorted(byAge)) {
      const { id, workloadId, stop, terminating } = attempt;
      const graceMs = engine.state.workloads.get(workloadId)?.spec.graceTimeoutMs ?? 0;
      this.#live.add(id);
      if (terminating !== undefined) this.#at(nowMs + graceMs, { kind: "left", attemptId: id });
      if (stop !== null) {
        this.#at(Math.max(nowMs, stoppedByMs(stop, graceMs)), { kind: "end", attemptId: id });
        continue;
      }
      const stagedAtMs = attempt.startedAtMs === null ? attempt.placedAtMs + this.#stagingMs(attempt) : nowMs;
      const startedAtMs = attempt.startedAtMs ?? Math.max(nowMs, stagedAtMs);
      if (startedAtMs > nowMs) this.#at(startedAtMs, { kind: "start", attemptId: id });
      else if (attempt.startedAtMs === null) launching.push({ kind: "attemptRunning", attemptId: id });
      if (engine.state.workloads.get(workloadId)?.spec.kind === "serve") {
        if (attempt.ready === undefined) launching.push(readyReplica(id));
        continue;
      }
      const endMs = startedAtMs + this.#options.runningMs(attempt, Math.max(0, nowMs - startedAtMs));
      this.#at(Math.max(nowMs, endMs), { kind: "end", attemptId: id });
    }
    return launching;
  }

  observeNext(): Input | null {
    const { engine, queue } = this.#options;
    const due = this.#due[queue.nextPayload]!;
    if (due.kind === "node") return { kind: "nodeSeen", node: due.node };
    const { kind, attemptId } = due;
    if (kind === "start") return this.#live.has(attemptId) ? { kind: "attemptRunning", attemptId } : null;
    if (kind === "left") return this.#live.has(attemptId) ? { kind: "workersLeft", attemptId } : null;
    // An attempt that was stopped has two entries in the queue; the later one is stale.
    if (!this.#live.delete(attemptId)) return null;
    this.#endCount++;
    return { kind: "attemptExited", attemptId, exits: [clean], ...artifactsOf(engine.state, attemptId) };
  }

  perform(effects: readonly Effect[], nowMs: number): readonly Input[] {
    return effects.length === 0 ? [] : effects.flatMap((effect) => this.#performOne(effect, nowMs));
  }

  #performOne(effect: Effect, nowMs: number): readonly Input[] {
    const { attemptId } = effect;
    switch (effect.kind) {
      case "launchGang":
        this.#live.add(attemptId);
        // A replica runs until it is stopped, and is assumed to be ready at once.
        if (effect.spec.kind === "serve") return [{ kind: "attemptRunning", attemptId }, readyReplica(attemptId)];
        return this.#launch(effect, nowMs);
      case "stopGang":
      case "shrinkGang":
        if (this.#live.has(attemptId))
          this.#at(nowMs + effect.graceTimeoutMs, { kind: effect.kind === "stopGang" ? "end" : "left", attemptId });
        return [];
      case "replaceWorkers":
        return [{ kind: "workersJoined", attemptId }];
      // An attempt is assumed to use the whole checkpoint timeout. The engine requests the stop itself when the timeout
      // is over.
      case "growGang":
      case "checkpointGang":
        return [];
    }
  }

  /** Workers start when their inputs are on the node. */
  #launch(effect: LaunchGang, nowMs: number): readonly Input[] {
    const { attemptId } = effect;
    const lastsMs = this.#options.launchedMs(effect, nowMs);
    const attempt = this.#options.engine.state.attempts.get(attemptId);
    const stagingMs = attempt === undefined ? 0 : this.#stagingMs(attempt);
    this.#at(nowMs + stagingMs + lastsMs, { kind: "end", attemptId });
    if (stagingMs === 0) return [{ kind: "attemptRunning", attemptId }];
    this.#at(nowMs + stagingMs, { kind: "start", attemptId });
    return [];
  }

  #stagingMs({ workloadId, workers, placedSequence, stagingMs }: Attempt): number {
    const { engine } = this.#options;
    const workload = engine.state.workloads.get(workloadId);
    if (stagingMs === undefined || workload === undefined) return 0;
    const nodes = workers.map(({ node }) => node);
    const times = transferBefore(engine, { ...workload.spec, given: workload.given }, nodes)?.times;
    return times == null ? 0 : drawnTransferMs(times, this.#options.transferUniform?.(placedSequence) ?? 0.5);
  }

  #at(atMs: number, due: Due): void {
    this.#options.queue.push(atMs, ranks.observation, this.#due.length);
    this.#due.push(due);
  }
}

const readyReplica = (attemptId: AttemptId): Input => ({ kind: "replicaReady", attemptId, address: "assumed" });

function byAge(left: Attempt, right: Attempt): number {
  const startedMs = ({ startedAtMs }: Attempt): number => startedAtMs ?? Number.MAX_SAFE_INTEGER;
  return startedMs(left) - startedMs(right) || left.placedSequence - right.placedSequence;
}
