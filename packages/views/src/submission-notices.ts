/** Notices about work that is about to be submitted: how much could be reclaimed, and what a failure would cost. */
import { checkpointIntervalOn, nodeCountOf, nodeFailures, predictedRun } from "@headroom/engine";
import type { CheckpointInterval, Engine, ReadonlyState } from "@headroom/engine";
import { rulesOf, submittedTaskCount } from "@headroom/model";
import type { ApplyChange as EngineChange, Workload, WorkloadSpec } from "@headroom/model";
import type { ApplyChange, SubmissionNotice } from "@headroom/protocol";
import { durationText, grouped, plural } from "./plain-text.ts";
import { acceleratorsAsked, guaranteedTo, reclaimNote } from "./reclaim-text.ts";
import { transferView } from "./transfer-view.ts";
import { submissionOrder } from "./submission-order.ts";

const HOUR_MS = 3_600_000;
/**
 * Loss of work in ms above which a missing checkpoint is mentioned. Users notice a repeated half day, but not a
 * repeated hour.
 */
const LONG_MS = 4 * HOUR_MS;
/** Mean time between failures in ms from which their number does not matter to one workload: its preemption does. */
const RARE_MS = 90 * 24 * HOUR_MS;
/** Size from which gangs without a walltime are assumed to run long: eight accelerators are one node of most fleets. */
const LARGE_ACCELERATORS = 8;

interface NewWork {
  readonly spec: WorkloadSpec;
  readonly actor: string;
}

/** `sentences` of a dry run already say what could be reclaimed. In this function it is a separate notice. */
export function submissionNotices(engine: Engine, { spec, actor }: NewWork, askedBefore = 0): SubmissionNotice[] {
  const notices: SubmissionNotice[] = [];
  const { state } = engine;
  const reclaim = isAboveAlready(engine, { spec, actor }) ? "" : reclaimNote(engine, spec, askedBefore);
  if (reclaim !== "") notices.push({ kind: "reclaimable", message: reclaim });
  if (spec.checkpointEvery === "auto" && !endsBeforeCheckpoint(state, { spec, actor }))
    notices.push({ kind: "checkpointInterval", message: `${intervalSentence(checkpointIntervalFor(state, spec))}.` });
  const risk = unsavedSentence(engine, { spec, actor });
  if (risk !== null) notices.push({ kind: "noCheckpoints", message: risk });
  const transfer = transferView(engine, spec, null);
  if (transfer !== null) notices.push({ kind: "transfer", message: transfer.sentence });
  return notices;
}

/** Number of newest workloads in which earlier work is searched, so that a submission costs no more for a long history. */
const RECENT_MAX = 1_000;

/**
 * Whether the user's earlier work alone exceeds the team's guarantee. Its submission had the note, which is not repeated.
 */
function isAboveAlready(engine: Engine, { spec, actor }: NewWork): boolean {
  const { state } = engine;
  const guaranteed = guaranteedTo(state.teams.get(spec.team));
  let [lookedAt, asked] = [0, 0];
  for (const workload of submissionOrder(engine).beside(state.submittedCount + 1, "older")) {
    if (lookedAt++ >= RECENT_MAX) return false;
    if (workload.endedAtMs !== null || workload.actor !== actor || workload.spec.team !== spec.team) continue;
    asked += acceleratorsAsked(workload.spec);
    if (asked > guaranteed) return true;
  }
  return false;
}

/** Whether the work probably ends before its first checkpoint, so that the interval does not concern it. */
function endsBeforeCheckpoint(state: ReadonlyState, { spec, actor }: NewWork): boolean {
  const predictedMs = predictedRun(rulesOf(state.policy), state.runTimes, { spec, actor })?.durationMs;
  const durationMs = predictedMs ?? spec.walltimeMs;
  return durationMs !== null && durationMs < checkpointIntervalFor(state, spec).everyMs;
}

/** Notices of each workload by position, given the workloads before it. */
export function noticesInOrder(
  engine: Engine,
  submissions: readonly NewWork[],
): readonly (readonly SubmissionNotice[])[] {
  const asked = new Map<string, number>();
  const noted = new Set<string>();
  return submissions.map((submission) => {
    const { team } = submission.spec;
    const before = asked.get(team) ?? 0;
    asked.set(team, before + acceleratorsAsked(submission.spec));
    // One note on guarantees for each team of a request is enough.
    const notices = submissionNotices(engine, submission, before).filter(
      ({ kind }) => kind !== "reclaimable" || !noted.has(team),
    );
    if (notices.some(({ kind }) => kind === "reclaimable")) noted.add(team);
    return notices;
  });
}

/** The form of the API: a list that may be modified. */
export const wireChange = ({ fields, ...change }: EngineChange | ApplyChange): ApplyChange =>
  fields === undefined ? change : { ...change, fields: [...fields] };

/** Workloads come last among the changes of an `apply`, in the order of the request. */
export function changesWithNotices(
  changes: readonly (EngineChange | ApplyChange)[],
  notices: readonly (readonly SubmissionNotice[])[],
): ApplyChange[] {
  const first = changes.length - notices.length;
  return changes
    .map(wireChange)
    .map((change, index) =>
      index < first || change.action !== "created"
        ? change
        : { ...change, ...withNotices(notices[index - first] ?? []) },
    );
}

/** Only workloads with notices are contained. */
export const withNotices = (notices: readonly SubmissionNotice[]): { readonly notices?: SubmissionNotice[] } =>
  notices.length === 0 ? {} : { notices: [...notices] };

/** The interval that would be chosen now, for work that is not placed yet. */
export const checkpointIntervalFor = (
  state: ReadonlyState,
  spec: WorkloadSpec,
  nodeCount?: number,
): CheckpointInterval => checkpointIntervalOn(failuresOf(state), spec, nodeCount ?? nodeCountOf(state, spec));

interface CountedFailures {
  readonly sequence: number;
  readonly nowMs: number;
  readonly failures: CheckpointInterval["failures"];
}

/** Number of workloads and attempts from which failures are counted once a minute, not for each submission. */
const COUNTED_AT_ONCE_MAX = 1_000;
const MINUTE_MS = 60_000;

const counted = new WeakMap<ReadonlyState, CountedFailures>();

/** The failures of nodes. Counting reads all of the history, so a request with many workloads counts once. */
function failuresOf(state: ReadonlyState): CheckpointInterval["failures"] {
  const { sequence, nowMs, workloads, attempts } = state;
  const known = counted.get(state);
  if (known !== undefined) {
    const isLarge = workloads.size + attempts.size > COUNTED_AT_ONCE_MAX;
    const isRecent = sequence >= known.sequence && nowMs >= known.nowMs && nowMs < known.nowMs + MINUTE_MS;
    if (sequence === known.sequence || (isLarge && isRecent)) return known.failures;
  }
  const failures = nodeFailures(state);
  counted.set(state, { sequence, nowMs, failures });
  return failures;
}

/** The sentence has no full stop. */
export function intervalSentence({ everyMs, costMs, failureMs, nodeCount, failures }: CheckpointInterval): string {
  const { failureCount, nodeMs } = failures;
  const nodeDays = Math.floor(nodeMs / (24 * HOUR_MS));
  return (
    `Checkpoints every ${durationText(everyMs)}: on ${plural(nodeCount, "node")} a failure is expected every ${durationText(failureMs)}, ` +
    `and a checkpoint stops the work for ${durationText(costMs)} (Daly's optimum; ${plural(failureCount, "node failure")} recorded in ${grouped(nodeDays)} node-days, ` +
    `with the published rate of 16,384 H100 as one more failure)`
  );
}

/** The notice; `null`: the work is short, or saves its progress. */
function unsavedSentence(engine: Engine, { spec, actor }: NewWork): string | null {
  const { state } = engine;
  if (spec.checkpointDir !== null || spec.checkpointOnRequest === true || spec.checkpointEvery !== undefined)
    return null;
  // A server resumes from no checkpoint.
  if (spec.kind === "serve") return null;
  const predictedMs = predictedRun(rulesOf(state.policy), state.runTimes, { spec, actor })?.durationMs;
  const durationMs = predictedMs ?? spec.walltimeMs;
  const isUnbounded = durationMs === null && acceleratorsAsked(spec) / submittedTaskCount(spec) >= LARGE_ACCELERATORS;
  if (!isUnbounded && (durationMs === null || durationMs < LONG_MS)) return null;
  const earlier = [...earlierRuns(engine, spec)];
  if (hasSavedBefore(earlier) || (durationMs === null && endedSoonBefore(earlier))) return null;
  const { failureMs, nodeCount } = checkpointIntervalFor(state, spec);
  const lasts = durationMs === null ? "has no walltime" : `may run for ${durationText(durationMs)}`;
  return (
    `${spec.name} ${lasts} and declares no checkpoints: a failure or a preemption repeats all of its work. ` +
    (failureMs > RARE_MS
      ? ""
      : `On ${plural(nodeCount, "node")} a failure is expected every ${durationText(failureMs)}. `) +
    "If it writes checkpoints to HEADROOM_CHECKPOINT_DIR, declare them: checkpoint: { every: auto }."
  );
}

/** Earlier runs with this name among the newest workloads, the newest first. */
function* earlierRuns(engine: Engine, { team, name }: WorkloadSpec): Generator<Workload> {
  let lookedAt = 0;
  for (const workload of submissionOrder(engine).beside(engine.state.submittedCount + 1, "older")) {
    if (workload.spec.team === team && workload.spec.name === name) yield workload;
    if (++lookedAt >= RECENT_MAX) return;
  }
}

/** True: the last ended run took less time than a checkpoint would be worth. */
function endedSoonBefore(earlier: readonly Workload[]): boolean {
  for (const { firstStartedAtMs, endedAtMs } of earlier)
    if (firstStartedAtMs !== null && endedAtMs !== null) return endedAtMs - firstStartedAtMs < LONG_MS;
  return false;
}

/** True: an earlier run reported a checkpoint. */
const hasSavedBefore = (earlier: readonly Workload[]): boolean => earlier.some(({ checkpoint }) => checkpoint !== null);
