/**
 * Takes in work that waits behind executors, such as pods that name Headroom as their scheduler: one workload for each group, in the queue
 * of its team. The group's key in the environment of the workload says which group it stands for, also after a restart. A workload whose
 * work is gone is stopped; silence of an executor says nothing. The owners of the work are told why it waits.
 */
import type { Attempt, ExecutorId, Workload, WorkloadId } from "@headroom/model";
import type { Engine, ReadonlyState } from "@headroom/engine";
import { ADOPTED_WORK_VARIABLE } from "@headroom/executors";
import type { Executor, WaitingWork, WorkAdoption } from "@headroom/executors";
import { rejectionProblem, verdictView } from "@headroom/views";
import type { DriverLog } from "../driver/driver-log.ts";
import type { Driver } from "../driver/driver.ts";
import type { ForecastService } from "../forecast/forecast-service.ts";
import { messageOf } from "./within.ts";

/** Users of adopted work are named after their namespaces. */
const ACTOR_PREFIX = "kubernetes:";

const TICK_MS = 1_000;
/** Answers in a row that must deny work before its workload is stopped. */
const MISSES_MAX = 3;
/** Submissions, questions whether work is gone, and explanations of one tick. */
const SUBMITTED_MAX = 200;
const ASKED_MAX = 50;
const EXPLAINED_MAX = 20;
/** Refused keys that are remembered. */
const REFUSED_MAX = 20_000;
/** Time in ms after which work that was refused is submitted again: its team may exist by then. */
const REFUSED_MS = 30_000;
/** Time in ms between two sentences about one workload: with another reason, and with the same one and a newer estimate. */
const TOLD_MS = 30_000;
const ESTIMATED_MS = 300_000;

interface AdoptionParts {
  readonly driver: Pick<Driver, "read" | "command">;
  readonly executors: ReadonlyMap<ExecutorId, Executor>;
  readonly forecast: Pick<ForecastService, "ask">;
  readonly log: DriverLog;
}

/** The workload of one group. */
interface Adopted {
  readonly workloadId: WorkloadId;
  misses: number;
  /** When the executor was last asked whether the work is gone. */
  askedAtMs: number;
  told: { readonly sentence: string; readonly atMs: number } | null;
}

interface AdoptedCase {
  readonly key: string;
  readonly adopted: Adopted;
  readonly workload: Pick<Workload, "phase" | "endedAtMs" | "stopRequested"> | null;
  readonly attempts: readonly Pick<Attempt, "stop" | "startedAtMs">[];
}

export class AdoptionService {
  readonly #parts: AdoptionParts;
  readonly #closing = new AbortController();
  readonly #refusedAtMs = new Map<string, number>();
  /** By key. `null`: the state has not been read yet. */
  #adopted: Map<string, Adopted> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #isLooking = false;
  #isEstimating = false;

  constructor(parts: AdoptionParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#timer = setInterval(() => void this.#look(), TICK_MS);
    this.#timer.unref();
  }

  close(): void {
    this.#closing.abort();
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    const { executors, log } = this.#parts;
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      for (const { id, adoption } of executors.values()) if (adoption !== undefined) await this.#lookAt(id, adoption);
    } catch (error) {
      if (!this.#closing.signal.aborted) log.warn(`Work that waits could not be taken in: ${messageOf(error)}`);
    } finally {
      this.#isLooking = false;
    }
  }

  async #lookAt(id: ExecutorId, adoption: WorkAdoption): Promise<void> {
    const { driver } = this.#parts;
    const waiting = adoption.waiting();
    if (waiting === null) return;
    const adopted = (this.#adopted ??= await driver.read(({ state }) => adoptedIn(state)));
    const isFollowed = await driver.read(({ state }) => state.executorStates.get(id)?.mode === "follow");
    // Work that was refused must not keep work behind it from the queue.
    const fresh = waiting.filter(({ key }) => !adopted.has(key) && this.#isDue(key));
    for (const work of inTurns(fresh).slice(0, SUBMITTED_MAX))
      if (isFollowed) adoption.tell(work.key, refusal("the cluster is followed, and work is not placed there"));
      else await this.#submit(work, adoption, adopted);
    await this.#follow(id, adoption, adopted, new Set(waiting.map(({ key }) => key)));
  }

  async #submit(
    { key, spec, actor }: WaitingWork,
    adoption: WorkAdoption,
    adopted: Map<string, Adopted>,
  ): Promise<void> {
    // The key makes a submission whose answer was lost the same one.
    const request = { kind: "submitWorkload", spec, actor, idempotencyKey: key } as const;
    const reply = await this.#parts.driver.command(request);
    if (reply.kind === "accepted") {
      if (reply.result.kind !== "workloadSubmitted") return;
      const { workloadId } = reply.result;
      this.#refusedAtMs.delete(key);
      adopted.set(key, { workloadId, misses: 0, askedAtMs: 0, told: null });
      adoption.tell(key, { kind: "waiting", message: `In the queue of team ${spec.team} as ${workloadId}.` });
    } else {
      if (this.#refusedAtMs.size > REFUSED_MAX) this.#refusedAtMs.clear();
      this.#refusedAtMs.set(key, performance.now());
      adoption.tell(key, refusal(rejectionProblem(reply.rejection).detail ?? reply.rejection.code));
    }
  }

  #isDue(key: string): boolean {
    return performance.now() - (this.#refusedAtMs.get(key) ?? -Infinity) >= REFUSED_MS;
  }

  /** Stops or explains the workloads of one executor. */
  async #follow(
    id: ExecutorId,
    adoption: WorkAdoption,
    adopted: Map<string, Adopted>,
    present: ReadonlySet<string>,
  ): Promise<void> {
    const own = [...adopted].filter(([key]) => key.startsWith(`${id}:`));
    const cases = await this.#parts.driver.read(({ state }) => own.map((each) => standingOf(state, ...each)));
    const waiting: AdoptedCase[] = [];
    const missing: AdoptedCase[] = [];
    for (const adoptedCase of cases) {
      const { key, workload, attempts, adopted: entry } = adoptedCase;
      const isPresent = present.has(key);
      if (workload === null || workload.endedAtMs !== null) {
        if (isPresent) adoption.tell(key, refusal(endedText(adoptedCase)));
        else adopted.delete(key);
      } else if (attempts.length > 0) {
        // An attempt that has not started may be one of a workload whose pods are gone, which is placed again and again.
        if (attempts.some(({ startedAtMs }) => startedAtMs !== null)) entry.misses = 0;
        await this.#endPreempted(adoptedCase, adoption);
      } else if (isPresent) {
        entry.misses = 0;
        waiting.push(adoptedCase);
      } else if (!workload.stopRequested) missing.push(adoptedCase);
    }
    await this.#explain(waiting, adoption);
    await this.#stopGone(missing, adoption);
  }

  /** Those that were denied come first, then those that were asked for least recently. */
  async #stopGone(missing: readonly AdoptedCase[], adoption: WorkAdoption): Promise<void> {
    const byNeed = (a: AdoptedCase, b: AdoptedCase): number =>
      b.adopted.misses - a.adopted.misses || a.adopted.askedAtMs - b.adopted.askedAtMs;
    const asked = missing.toSorted(byNeed).slice(0, ASKED_MAX);
    for (const adoptedCase of asked) {
      const { key, adopted } = adoptedCase;
      adopted.askedAtMs = performance.now();
      const isGone = await adoption.isGone(key).catch(() => null);
      // Without an answer, the next ones would wait for theirs.
      if (isGone === null) return;
      adopted.misses = isGone ? adopted.misses + 1 : 0;
      if (adopted.misses >= MISSES_MAX) await this.#stop(adoptedCase);
    }
  }

  /** Its pods are deleted, and cannot start again. Their controller may create others, which are other work. */
  async #endPreempted(adoptedCase: AdoptedCase, adoption: WorkAdoption): Promise<void> {
    const { key, attempts, workload, adopted } = adoptedCase;
    // The pods of an attempt that has not started may have no node: they are not deleted, and wait on.
    const stop = attempts.find((attempt) => attempt.stop !== null && attempt.startedAtMs !== null)?.stop;
    if (stop == null || workload?.stopRequested === true) return;
    adoption.tell(key, {
      kind: "preempted",
      message: `Headroom stops ${adopted.workloadId} (${stop.reason}). Its pods are deleted with their grace period.`,
    });
    await this.#stop(adoptedCase);
  }

  async #stop({ adopted: { workloadId }, key }: AdoptedCase): Promise<void> {
    const request = { kind: "stopWorkload", workloadId, actor: `kubernetes`, idempotencyKey: `${key}:stop` } as const;
    await this.#parts.driver.command(request);
  }

  /** Says why work waits, a few at a time, those first that were told least recently. */
  async #explain(waiting: readonly AdoptedCase[], adoption: WorkAdoption): Promise<void> {
    const { driver } = this.#parts;
    const nowMs = performance.now();
    const due = waiting
      .filter(({ adopted: { told } }) => told === null || nowMs - told.atMs >= TOLD_MS)
      .toSorted((a, b) => (a.adopted.told?.atMs ?? 0) - (b.adopted.told?.atMs ?? 0))
      .slice(0, EXPLAINED_MAX);
    for (const { key, adopted } of due) {
      const sentence = await driver.read((engine) => blockedSentence(engine, adopted.workloadId));
      const { told } = adopted;
      if (sentence === null) continue;
      if (told !== null && told.sentence === sentence && nowMs - told.atMs < ESTIMATED_MS) continue;
      if (this.#isEstimating) continue;
      adopted.told = { sentence, atMs: nowMs };
      void this.#tellEstimate({ key, adopted }, sentence, adoption);
    }
  }

  /** One estimate at a time: it is a simulation. Without one, the reason alone is told. */
  async #tellEstimate(
    { key, adopted: { workloadId } }: Pick<AdoptedCase, "key" | "adopted">,
    sentence: string,
    adoption: WorkAdoption,
  ): Promise<void> {
    this.#isEstimating = true;
    const question = { kind: "estimate", id: workloadId } as const;
    const estimate = await this.#parts.forecast
      .ask(question, "kubernetes", this.#closing.signal)
      .catch(() => null)
      .finally(() => (this.#isEstimating = false));
    const expected = estimate === null ? "" : ` ${estimate.sentence}`;
    adoption.tell(key, { kind: "waiting", message: `${workloadId}: ${sentence}${expected}` });
  }
}

const refusal = (reason: string): { readonly kind: "refused"; readonly message: string } => ({
  kind: "refused",
  message: `Headroom does not place the pod: ${reason.replace(/\.$/, "")}.`,
});

const endedText = ({ adopted: { workloadId }, workload }: AdoptedCase): string =>
  `its workload ${workloadId} has ended (${workload?.phase ?? "forgotten"}). Delete the pods and create them again`;

/** Work of each user in turn, so that many pods of one namespace do not keep those of others waiting. */
function inTurns(work: readonly WaitingWork[]): readonly WaitingWork[] {
  const counts = new Map<string, number>();
  const turns = work.map((each) => {
    const turn = counts.get(each.actor) ?? 0;
    counts.set(each.actor, turn + 1);
    return { each, turn };
  });
  return turns.toSorted((a, b) => a.turn - b.turn).map(({ each }) => each);
}

function adoptedIn({ workloads }: ReadonlyState): Map<string, Adopted> {
  const adopted = new Map<string, Adopted>();
  for (const { id, spec, actor } of workloads.values()) {
    const key = spec.env[ADOPTED_WORK_VARIABLE];
    // The oldest one counts: anyone who reads the key can submit another workload with it, which is refused at its launch.
    if (key !== undefined && actor.startsWith(ACTOR_PREFIX) && !adopted.has(key))
      adopted.set(key, { workloadId: id, misses: 0, askedAtMs: 0, told: null });
  }
  return adopted;
}

function standingOf({ workloads, attempts }: ReadonlyState, key: string, adopted: Adopted): AdoptedCase {
  const workload = workloads.get(adopted.workloadId) ?? null;
  const active = (workload?.activeAttempts ?? []).flatMap((id) => attempts.get(id) ?? []);
  return { key, adopted, workload, attempts: active };
}

function blockedSentence(engine: Engine, id: WorkloadId): string | null {
  const verdict = verdictView(engine, id);
  return verdict?.kind === "blocked" ? verdict.sentence : null;
}
