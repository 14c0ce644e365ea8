/**
 * Copies checkpoints to the store of their workload while the work goes on, also after its end. A checkpoint counts as stored
 * only when the store has confirmed all of its bytes, and the bytes that were sent have the digest of the local ones. Only the
 * newest of an attempt waits; a store that is slower than the work gets fewer of them.
 */
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { AttemptId, ReportedArtifact, Signal } from "@headroom/model";
import { contentDigest, contentStamp, OperationalError } from "@headroom/platform";
import { uploadedKey } from "@headroom/stores";
import type { ExecutorInput } from "../executor.ts";
import type { LaunchRecord } from "./attempt-records.ts";
import { DrainNotes } from "./drain-notes.ts";
import type { DrainNote } from "./drain-notes.ts";
import { readableIn } from "./attempt-roots.ts";
import type { AttemptPlaces } from "./attempt-roots.ts";
import type { OutputUpload } from "./output-upload.ts";

/** Pause after a failure that may pass, and the time after which a copy is given up. */
const PAUSE_MS = 5_000;
const GIVE_UP_MS = 3_600_000;
/** Time for the removal of a copy that will not be completed. A rest that stays only costs space. */
const REMOVAL_MS = 30_000;

type Reported = Signal & { readonly kind: "checkpointReported" };

type Drained = Pick<LaunchRecord, "drain" | "workloadId" | "workingDir" | "checkpointDir">;
type Homes = Pick<AttemptPlaces, "homeDir" | "namedBelow">;

interface DrainSetup {
  readonly outputs: Pick<OutputUpload, "put" | "remove">;
  readonly dir: string;
  /** Where attempts have their directories. */
  readonly homes: Homes;
  readonly bootId: string;
  readonly emit: (input: ExecutorInput) => void;
  readonly onProblem: (message: string) => void;
}

export class CheckpointDrain {
  readonly #setup: DrainSetup;
  readonly #notes: DrainNotes;
  readonly #closing = new AbortController();
  /** Copies in progress, at most one for each attempt. */
  readonly #running = new Map<AttemptId, Promise<void>>();
  /** First looks at reported bytes, at most one for each attempt. */
  readonly #looking = new Map<AttemptId, Promise<void>>();

  constructor(setup: DrainSetup) {
    this.#setup = setup;
    this.#notes = new DrainNotes(setup.dir);
  }

  /** Repeats the reports of complete copies, and continues with the others. */
  start(): void {
    for (const note of this.#notes.all()) if (note.stamp === undefined) this.#look(note.attemptId);
    for (const note of this.#notes.all()) if (note.report !== undefined) this.#report(note, note.report);
    for (const note of this.#notes.all()) if (note.report === undefined) this.#run(note.attemptId);
  }

  /** A worker has reported a checkpoint. One that is known already changes nothing. */
  offer({ drain: to, workloadId, workingDir, checkpointDir }: Drained, reported: Reported): void {
    const { attemptId, step, path: at, metrics } = reported;
    if (to === undefined || this.#closing.signal.aborted || this.#notes.has(reported)) return;
    const fault = pathFault(at, checkpointDir);
    const { bootId, homes } = this.#setup;
    const places = { workingDir, checkpointDir, ...homes };
    const note = {
      attemptId,
      workloadId,
      step,
      path: at,
      to,
      places,
      bootId,
      ...(metrics === undefined ? {} : { metrics }),
    };
    if (fault !== null) return this.#report(note, { name: to.name, path: at, problem: fault });
    for (const older of this.#notes.of(attemptId)) if (mayBeLeftOut(older)) this.#notes.drop(older);
    this.#notes.save(note);
    this.#look(attemptId);
    this.#run(attemptId);
  }

  /**
   * Whether the local bytes are those that the work reported during this boot of the machine. A later attempt may have been killed
   * while it wrote to the same path.
   */
  async isSound(checkpoint: { readonly path: string }): Promise<boolean> {
    const isReport = (note: DrainNote): boolean =>
      note.path === checkpoint.path && note.bootId === this.#setup.bootId && note.stamp !== null;
    for (const { attemptId } of this.#notes.all().filter(isReport)) await this.#looking.get(attemptId);
    const reports = this.#notes.all().filter(isReport);
    if (reports.length === 0) return false;
    for (const report of reports) if ((await this.#stampOf(report)) === report.stamp) return true;
    return false;
  }

  forget(attemptId: AttemptId): void {
    for (const note of this.#notes.of(attemptId)) this.#notes.drop(note);
  }

  async close(): Promise<void> {
    this.#closing.abort(new OperationalError("closing", "The control plane ends.", { retryable: true }));
    await Promise.all([...this.#looking.values(), ...this.#running.values()]);
  }

  /** Notes what the reported bytes are, before work writes to their paths again. */
  #look(attemptId: AttemptId): void {
    if (this.#looking.has(attemptId)) return;
    const looking = this.#lookAtAll(attemptId)
      .catch((error: unknown) => this.#setup.onProblem(`Checkpoints of ${attemptId}: ${messageOf(error)}`))
      .finally(() => {
        if (this.#looking.get(attemptId) === looking) this.#looking.delete(attemptId);
      });
    this.#looking.set(attemptId, looking);
  }

  async #lookAtAll(attemptId: AttemptId): Promise<void> {
    for (;;) {
      const next = this.#notes.of(attemptId).find(({ stamp }) => stamp === undefined);
      if (next === undefined || this.#closing.signal.aborted) {
        // At once, as for copies.
        this.#looking.delete(attemptId);
        return;
      }
      const stamp = await this.#stampOf(next);
      const note = this.#notes.saved(next);
      if (note !== null && !this.#closing.signal.aborted) this.#notes.save({ ...note, stamp });
    }
  }

  /** `null`: the content cannot be read. A link that leads to another step since has files with other inodes. */
  async #stampOf(note: Pick<DrainNote, "path" | "places">): Promise<string | null> {
    try {
      const real = await this.#realOf(note);
      return real === null ? null : await contentStamp(real, this.#closing.signal);
    } catch {
      return null;
    }
  }

  /** Frameworks report links such as `last`. `null`: it leads out of the directories of the attempt. */
  #realOf({ path: at, places }: Pick<DrainNote, "path" | "places">): Promise<string | null> {
    // Notes of earlier builds have no home.
    return readableIn(at, { ...places, ...this.#setup.homes });
  }

  #run(attemptId: AttemptId): void {
    if (this.#running.has(attemptId)) return;
    const running = this.#drainAll(attemptId)
      .catch((error: unknown) => this.#setup.onProblem(`Checkpoints of ${attemptId}: ${messageOf(error)}`))
      .finally(() => {
        if (this.#running.get(attemptId) === running) this.#running.delete(attemptId);
      });
    this.#running.set(attemptId, running);
  }

  async #drainAll(attemptId: AttemptId): Promise<void> {
    for (;;) {
      const next = this.#notes.of(attemptId).find(({ report }) => report === undefined);
      if (next === undefined || this.#closing.signal.aborted) {
        // At once: a checkpoint that is offered before this call has settled needs a call of its own.
        this.#running.delete(attemptId);
        return;
      }
      await this.#drain(next);
    }
  }

  async #drain({ attemptId, step }: DrainNote): Promise<void> {
    const untilMs = performance.now() + GIVE_UP_MS;
    await this.#looking.get(attemptId);
    const note = this.#notes.saved({ attemptId, step });
    if (note === null || this.#closing.signal.aborted) return;
    let began = note;
    for (;;)
      try {
        const report = await this.#copy(began, (later) => (began = later));
        if (!this.#notes.has(note)) return;
        this.#notes.save({ ...began, report });
        return this.#report(note, report);
      } catch (error) {
        if (this.#closing.signal.aborted) return;
        const isOver = !this.#notes.has(note) || !mayPass(error) || performance.now() >= untilMs;
        if (isOver) return this.#abandon(began, messageOf(error));
        await sleep(PAUSE_MS, undefined, { signal: this.#closing.signal }).catch(() => {});
      }
  }

  async #copy(note: DrainNote, onBegun: (note: DrainNote) => void): Promise<ReportedArtifact> {
    const { path: at, places, to, step, attemptId, workloadId, metrics } = note;
    const { signal } = this.#closing;
    const real = await this.#realOf(note);
    if (real === null)
      throw new OperationalError(
        "unreadableContent",
        `${at} is outside the working directory and the checkpoint directory.`,
      );
    const { digest, bytes } = await contentDigest(real, signal);
    if (note.stamp === null || (await this.#stampOf(note)) !== note.stamp) throw changed(at);
    const content = `${digest.slice("sha256:".length)}.${step}.${attemptId}.${this.#notes.owner}`;
    const within = uploadedKey({ kind: "checkpoint", team: to.team, name: to.name }, content);
    if (note.within !== undefined && note.within !== within) await this.#remove(note);
    const begun = { ...note, within };
    this.#notes.save(begun);
    onBegun(begun);
    const uri = await this.#setup.outputs.put({ path: at, digest, bytes }, to, {
      within,
      places: { ...places, ...this.#setup.homes },
      signal,
      of: { workloadId, attemptId },
    });
    const name = path.relative(places.checkpointDir, at);
    return {
      name: to.name,
      path: at,
      digest,
      bytes,
      stored: { store: to.store, uri },
      parameters: { path: name.startsWith("..") ? path.basename(at) : name },
      ...(metrics === undefined ? {} : { metrics }),
    };
  }

  /** The work goes on without this copy; the next checkpoint is another one. */
  async #abandon(note: DrainNote, problem: string): Promise<void> {
    const wasSuperseded = !this.#notes.has(note);
    this.#notes.drop(note);
    await this.#remove(note);
    if (!wasSuperseded) this.#report(note, { name: note.to.name, path: note.path, problem });
  }

  async #remove({ to, within }: DrainNote): Promise<void> {
    if (within === undefined) return;
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(REMOVAL_MS)]);
    await this.#setup.outputs.remove(to, within, signal).catch((error: unknown) => {
      this.#setup.onProblem(`${within} could not be removed from the store ${to.store}: ${messageOf(error)}`);
    });
  }

  #report({ workloadId, attemptId, step, to: { task } }: DrainNote, checkpoint: ReportedArtifact): void {
    this.#setup.emit({ kind: "checkpointStored", workloadId, attemptId, task, step, checkpoint });
  }
}

/** Waiting checkpoints that no rule keeps give way to newer ones, also in the middle of a failed copy. */
const mayBeLeftOut = ({ report, to, step }: DrainNote): boolean =>
  report === undefined && (to.every === undefined || step % to.every !== 0);

function pathFault(at: string, checkpointDir: string): string | null {
  if (!path.isAbsolute(at)) return "it is no path on this machine";
  return path.resolve(at) === path.resolve(checkpointDir)
    ? "it is the checkpoint directory itself. Write each checkpoint to a path of its own in it"
    : null;
}

const changed = (at: string): OperationalError =>
  new OperationalError(
    "changedContent",
    `${at} was written again after it was reported, or could not be read then. Write each checkpoint to a path of its own.`,
  );

const mayPass = (error: unknown): boolean => error instanceof OperationalError && error.retryable;

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
