/** The state of an attempt whose gang another system runs, as its records state it. */
import type { AttemptId } from "@headroom/model";
import type { KnownAttempt } from "../executor.ts";
import type { AttemptFiles } from "./attempt-files.ts";
import type { ExitRecord, LaunchRecord } from "./attempt-records.ts";
import { UnreadableRecord } from "./attempt-files.ts";
import { partFiles, partsOf } from "./attempt-parts.ts";

export type RecordedState =
  | { readonly kind: "absent" }
  /** Nothing has claimed it: it was not submitted yet, or waits at the other system. */
  | { readonly kind: "unclaimed"; readonly launch: LaunchRecord }
  | { readonly kind: "starting"; readonly launch: LaunchRecord }
  | { readonly kind: "running"; readonly launch: LaunchRecord }
  | { readonly kind: "ended"; readonly launch: LaunchRecord | null; readonly exit: ExitRecord }
  | { readonly kind: "unreadable"; readonly detail: string };

/** Facts of records that are written once, for callers who look at an attempt again and again. */
export interface WrittenOnce {
  launch: LaunchRecord | null;
  /** Every worker has started. */
  isRunning: boolean;
}

/** Throws only temporary errors of the file system. `known`: is not read again, and gets what this call reads. */
export function readState(files: AttemptFiles, known: WrittenOnce = { launch: null, isRunning: false }): RecordedState {
  try {
    const launch = (known.launch ??= boundedLaunch(files));
    const exit = files.read("exit.json");
    if (exit !== null) return { kind: "ended", launch, exit };
    if (launch === null) return { kind: "absent" };
    // Records that someone has removed are no reason to start the attempt again.
    if (files.read("claim.json") === null)
      return files.has("launch.json") ? { kind: "unclaimed", launch } : { kind: "absent" };
    known.isRunning ||= partsOf(launch).every((_, part) => partFiles(files.key, part).has("running.json"));
    return { kind: known.isRunning ? "running" : "starting", launch };
  } catch (error) {
    // A shared file system that fails (EIO, ESTALE, an expired ticket) says nothing about the content of a record.
    if (!(error instanceof UnreadableRecord) || hasFailed(error.cause)) throw error;
    const exit = files.readIfSound("exit.json");
    if (exit !== null) return { kind: "ended", launch: soundLaunch(files), exit };
    return { kind: "unreadable", detail: `A record of the attempt is unreadable: ${error.message}.` };
  }
}

/** Workers of a gang (`WORKERS_MAX` of the resource schema). A job's user can forge a launch with more, which every look would read. */
const PARTS_MAX = 20_000;

function boundedLaunch(files: AttemptFiles): LaunchRecord | null {
  const launch = files.read("launch.json");
  if (launch === null) return null;
  const { parts = [], environments } = launch;
  const count = Math.max(parts.length, environments.length);
  if (count > PARTS_MAX)
    throw new UnreadableRecord(`launch.json names ${count} workers; a gang has at most ${PARTS_MAX}`);
  return launch;
}

function soundLaunch(files: AttemptFiles): LaunchRecord | null {
  try {
    return boundedLaunch(files);
  } catch (error) {
    if (error instanceof UnreadableRecord) return null;
    throw error;
  }
}

/** Whether an error of the file system kept a record from being read. A link in its place (ELOOP) is none of Headroom's. */
const hasFailed = (cause: unknown): boolean => cause instanceof Error && "code" in cause && cause.code !== "ELOOP";

/** `null`: the attempt was never launched here. */
export function knownAttempt(attemptId: AttemptId, state: RecordedState): KnownAttempt | null {
  if (state.kind === "absent") return null;
  const launch = "launch" in state ? state.launch : null;
  const { workloadId = null, sequence = 0 } = launch ?? {};
  return { attemptId, workloadId, sequence, phase: phaseOf(state) };
}

function phaseOf(state: Exclude<RecordedState, { kind: "absent" }>): KnownAttempt["phase"] {
  if (state.kind === "unclaimed") return { kind: "launching" };
  if (state.kind !== "ended") return { kind: "running" };
  const { exit } = state;
  if (exit.kind === "exited") return { kind: "ended", endedAtMs: exit.endedAtMs, exits: exit.exits };
  const { endedAtMs, detail, cause } = exit;
  return { kind: "lost", endedAtMs, detail, ...(cause === undefined ? {} : { cause }) };
}
