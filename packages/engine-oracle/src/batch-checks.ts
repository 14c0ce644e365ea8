/**
 * Checks the newest batch by its events. No work is placed on a node that takes no work, beyond a limit, against a
 * constraint or ahead of a head of the queue that blocks it. Effects match the decisions. Every accepted command has
 * had its effect. Every event that a user causes names its actor.
 */
import { Findings, windowBroken } from "@headroom/engine/internals";
import { wholeSlices, rulesOf } from "@headroom/model";
import type { AttemptId, Effect, Event, Node, NodeId, WorkerAllocation, Workload, WorkloadSpec } from "@headroom/model";
import type { ReadonlyState, Ready } from "@headroom/engine";
import { checkAlike } from "./alike-checks.ts";
import { checkDefragmentation } from "./defragment-checks.ts";
import { checkEvictions } from "./eviction-checks.ts";
import {
  amountsHeld,
  amountsOf,
  heldByTeam,
  isWithinLimits,
  isWithinUserLimits,
  typeInFamily,
} from "./held-by-team.ts";
import { checkArtifactEvents } from "./artifact-checks.ts";
import { checkBurstEvents } from "./burst-checks.ts";
import { checkOrderEvents } from "./capacity-order-checks.ts";
import { checkEvictedAtSilent } from "./executor-checks.ts";
import { checkProposalEvents } from "./proposal-checks.ts";
import { checkPredictions } from "./prediction-checks.ts";
import { checkPower } from "./power-checks.ts";
import { checkRetries } from "./retry-checks.ts";
import { checkProtectedStarts } from "./protected-starts.ts";
import { compareByPolicy, isUsable } from "./recount.ts";
import { blockingHead } from "./rest.ts";
import { checkTime } from "./time-checks.ts";
import {
  brokenConstraints,
  canBring,
  canRunImage,
  canUpload,
  givesSecrets,
  isAdmitted,
  takesKind,
} from "./constraint-checks.ts";
import type { Share } from "./constraint-checks.ts";

/**
 * All rules that the batch broke, judged by the state at the end of the batch. Empty if it broke none.
 * `nominatedBefore`: tasks that were nominated when the batch began; their nominations were checked in an earlier
 * batch.
 */
export function checkBatch(
  state: ReadonlyState,
  ready: Ready,
  nominatedBefore: ReadonlySet<AttemptId> = new Set(),
): string[] {
  const findings = new Findings();
  checkPlacements(findings, state, { ready, nominatedBefore });
  checkEvictions(findings, state, ready);
  checkEffects(findings, ready);
  checkActors(findings, ready.events);
  checkEvictedAtSilent(findings, state, ready.events);
  const batch = { events: ready.events, known: nominatedBefore, nowMs: ready.atMs };
  checkProtectedStarts(findings, state, batch);
  checkAlike(findings, state, batch);
  checkDefragmentation(findings, state, batch);
  checkPredictions(findings, state, ready.events);
  checkRetries(findings, state, ready.events);
  checkPower(findings, state, ready.events);
  checkOrderEvents(findings, state, ready.events);
  checkBurstEvents(findings, state, ready.events);
  checkProposalEvents(findings, state, ready.events);
  checkArtifactEvents(findings, ready.events);
  for (const reply of ready.replies) {
    if (reply.kind !== "accepted" || reply.result.kind !== "workloadSubmitted") continue;
    const { workloadId } = reply.result;
    // A retried command may be answered long after its workload has ended and is no longer in the state.
    const isNew = ready.events.some((event) => event.kind === "workloadSubmitted" && event.workloadId === workloadId);
    findings.expect(!isNew || state.workloads.has(workloadId), () => `${workloadId} was accepted and is not there`);
  }
  return findings.list;
}

type Declared = "siteDefined" | "teamDefined" | "teamRemoved" | "policySet";
type EventWithActor = Extract<Event, { readonly actor: string } | { readonly kind: Declared }>;

/** All kinds of events with an actor. The type makes the list complete. */
const kindsWithActor: Readonly<Record<EventWithActor["kind"], true>> = {
  siteDefined: true,
  teamDefined: true,
  teamRemoved: true,
  policySet: true,
  nodeDrainStarted: true,
  nodeResumed: true,
  nodeRemovalRequested: true,
  nodeRemovalCancelled: true,
  nodeRemoved: true,
  poolRemovalRequested: true,
  poolRemovalCancelled: true,
  poolRemoved: true,
  siteRemovalRequested: true,
  siteRemovalCancelled: true,
  siteRemoved: true,
  executorDeclared: true,
  executorRemoved: true,
  executorAbandoned: true,
  historyImported: true,
  capacityOrderCreated: true,
  capacityOrderAdvanced: true,
  capacityOrderCancelled: true,
  proposalRejected: true,
  proposalWithdrawn: true,
  proposalRuleSet: true,
  calendarSet: true,
  calendarRemoved: true,
  scheduleSet: true,
  scheduleRemoved: true,
  pipelineSet: true,
  pipelineRemoved: true,
  pipelineRunCreated: true,
  pipelineStepDecided: true,
  pipelineRunCancelRequested: true,
  pipelineRunRetried: true,
  workloadSubmitted: true,
  workloadRerun: true,
  workloadChanged: true,
  workloadHeld: true,
  execStarted: true,
  incidentAnnotated: true,
  faultsReported: true,
  taskStopRequested: true,
  endpointScaled: true,
  rolloutStarted: true,
  rolloutSteered: true,
  rolloutEnded: true,
  workloadReleased: true,
  workloadStopRequested: true,
};

const hasActor = (event: Event): event is EventWithActor => Object.hasOwn(kindsWithActor, event.kind);

/** An event without an actor comes from a command that bypassed authentication. */
function checkActors(findings: Findings, events: readonly Event[]): void {
  for (const event of events) {
    if (!hasActor(event)) continue;
    // A journal or a faulty engine may lack the field, whatever the type says.
    findings.expect(event.actor !== undefined && event.actor !== "", () => `${event.kind} has no actor`);
  }
}

/** A gang, or a part of one, that the batch placed or nominated. */
interface CheckedBatch {
  readonly attemptId: AttemptId;
  readonly workload: Workload;
  readonly type: string;
  readonly workers: readonly WorkerAllocation[];
  readonly kind: "start" | "growth" | "nomination";
}

function givenBy(state: ReadonlyState, event: Event): CheckedBatch | null {
  const of = (given: Omit<CheckedBatch, "workload">, id: Workload["id"] | undefined): CheckedBatch | null => {
    const workload = id === undefined ? undefined : state.workloads.get(id);
    return workload === undefined ? null : { ...given, workload };
  };
  if (event.kind === "gangPlaced") {
    const { attemptId, acceleratorType: type, workers, workloadId } = event;
    return of({ attemptId, type, workers, kind: "start" }, workloadId);
  }
  if (event.kind === "placementNominated") {
    const { attemptId, acceleratorType: type, workers, workloadId } = event.nomination;
    return of({ attemptId, type, workers, kind: "nomination" }, workloadId);
  }
  if (event.kind !== "gangGrown" && event.kind !== "workersReplaced") return null;
  const attempt = state.attempts.get(event.attemptId);
  const { attemptId, workers } = event;
  return of({ attemptId, type: attempt?.acceleratorType ?? "", workers, kind: "growth" }, attempt?.workloadId);
}

interface Round {
  readonly ready: Ready;
  readonly nominatedBefore: ReadonlySet<AttemptId>;
}

function checkPlacements(findings: Findings, state: ReadonlyState, { ready, nominatedBefore }: Round): void {
  const held = heldByTeam(state);
  // For these batches the head of the queue cannot be derived from the state at the end, because plans change quotas
  // and hot spares become ordinary nodes after the head was checked.
  const mayHaveChanged =
    rulesOf(state.policy).phases.length > 1 || ready.events.some(({ kind }) => kind === "hotSpareReleased");
  const head = mayHaveChanged ? null : blockingHead(state, ready.atMs);
  for (const [at, event] of ready.events.entries()) {
    const given = givenBy(state, event);
    if (given === null) continue;
    const { attemptId, workload, type, workers, kind } = given;
    for (const { node: id } of workers) {
      const node = state.nodes.get(id);
      const takesWork =
        node === undefined
          ? isRemovedAfter(ready.events, at, id)
          : isUsable(node) || closesAfter(ready.events, at, node);
      findings.expect(takesWork, () => `${attemptId} was placed on ${id}, which takes no work`);
      const window = node === undefined ? null : windowBroken(state, workload, node, ready.atMs);
      findings.expect(window === null, () => `${attemptId} was placed on ${id}, where it may run into ${window}`);
    }
    checkConstraints(findings, state, given);
    if (kind === "start" && !nominatedBefore.has(attemptId)) checkTime(findings, state, workload, ready.atMs);
    if (nominatedBefore.has(attemptId) || keepsType(state, event)) continue;
    const { team, gang } = workload.spec;
    const asked =
      gang.taskGroups === undefined ? amountsOf(gang, 1, typeInFamily(state, type)) : amountsHeld(state, gang, workers);
    // A plan may evict work before it places other work, so the limits are checked in the state at the end of the
    // batch.
    const isKept = isWithinLimits(state, held, { team, asked });
    const isKeptByUser = isWithinUserLimits(state, workload.actor, { team, asked });
    findings.expect(isKeptByUser, () => `${attemptId} put user ${workload.actor} above the limit per user for ${type}`);
    findings.expect(isKept, () => `${attemptId} put team ${team}, or a team above it, above its limit for ${type}`);
    findings.expect(
      kind !== "start" || head === null || workload.id === head.id || compareByPolicy(state.policy, workload, head) < 0,
      () => `${attemptId} was started ahead of ${head?.id}, which the policy puts first`,
    );
  }
}

const closingKinds: ReadonlySet<string> = new Set([
  "nodeLost",
  "nodeDrainStarted",
  "nodeRemovalRequested",
  "nodeQualificationRequired",
  "foreignUseChanged",
]);

/** Whether the node was removed later in the same batch, which ended the work that the batch had placed there. */
const isRemovedAfter = (events: readonly Event[], at: number, id: NodeId): boolean =>
  events.slice(at + 1).some((event) => event.kind === "nodeRemoved" && event.nodeId === id);

/**
 * Whether the node stopped taking work later in the same batch. A task that keeps its place after a failure is placed
 * while the inputs are applied, so the next input of the batch may report the loss of its node.
 */
const closesAfter = (events: readonly Event[], at: number, { id, pool, acceleratorsChanged }: Node): boolean =>
  events
    .slice(at + 1)
    .some(
      (event) =>
        (closingKinds.has(event.kind) && "nodeId" in event && event.nodeId === id) ||
        (event.kind === "poolDefined" && event.pool.name === pool && acceleratorsChanged === true),
    );

/**
 * Whether the event migrates a gang to nodes of the same accelerator type. The gang then holds the same amount as
 * before, so a limit that was lowered does not stop the migration.
 */
function keepsType(state: ReadonlyState, event: Event): boolean {
  if (event.kind !== "placementNominated" || event.nomination.afterAttempt === undefined) return false;
  return state.attempts.get(event.nomination.afterAttempt)?.acceleratorType === event.nomination.acceleratorType;
}

/**
 * Whether the gang must consist of whole slices. This is false if a slice of the gang lost workers while the gang grew,
 * or if the gang was partly evicted and has no whole slices.
 */
const isInSlices = (spec: WorkloadSpec, workers: readonly WorkerAllocation[]): boolean =>
  spec.gang.minWorkers === undefined || wholeSlices(spec, workers, workers.length) === workers.length;

/**
 * Checks that the new workers of a gang, together with its earlier workers, meet its constraints (labels, level,
 * spreading, slices).
 */
function checkConstraints(
  findings: Findings,
  state: ReadonlyState,
  { attemptId, workload, workers, kind }: CheckedBatch,
): void {
  const { spec } = workload;
  const before = kind === "start" ? [] : (state.attempts.get(attemptId)?.workers ?? []);
  const known = new Set(before);
  const all = [...before, ...workers.filter((worker) => !known.has(worker))];
  const sharesOf = (those: readonly WorkerAllocation[]): Share[] =>
    those.flatMap(({ node: id }) => {
      const node = state.nodes.get(id);
      return node === undefined ? [] : [{ node, workers: 1 }];
    });
  const broken = brokenConstraints(state, spec, sharesOf(all), isInSlices(spec, all));
  for (const [index, { fabric, minWorkers }] of (spec.gang.taskGroups ?? []).entries()) {
    const own = all.filter(({ taskGroup }) => taskGroup === index);
    const isWhole = minWorkers === undefined || isInSlices(spec, own);
    broken.push(...brokenConstraints(state, fabric === undefined ? {} : { fabric }, sharesOf(own), isWhole));
  }
  for (const { node } of sharesOf(workers)) {
    if (!isAdmitted(state, node, spec)) broken.push(`${node.id} does not admit what is under rule ${spec.data?.rule}`);
    if (!takesKind(state, node, spec)) broken.push(`${node.id} takes no work of the kind ${spec.kind}`);
    if (!canRunImage(state, node, spec)) broken.push(`${node.id} runs no container images`);
    if (!givesSecrets(state, node, { ...spec, actor: workload.actor }))
      broken.push(`${node.id} gives workers no secrets`);
    if (!canBring(state, node, spec)) broken.push(`${node.id} gets no inputs from stores`);
    if (!canUpload(state, node, spec)) broken.push(`${node.id} uploads nothing`);
  }
  for (const each of broken) findings.expect(false, () => `${attemptId} was not placed as it asked: ${each}`);
}

/**
 * Checks that each placement has one launch with the same workers, each stop request one stop, and that there are no
 * other effects. An attempt in back-off is launched when the back-off is over; before that no executor gets an effect
 * about it.
 */
function checkEffects(findings: Findings, { events, effects }: Ready): void {
  const unlaunched = new Set(events.flatMap((event) => (isOfUnlaunched(event) ? [event.attemptId] : [])));
  const launchOf = (id: AttemptId): string =>
    effects.map(effectText).find((text) => text.startsWith(`launch ${id} `)) ?? `launch ${id}`;
  const asksFirst = new Set(events.flatMap((event) => (event.kind === "checkpointRequested" ? [event.attemptId] : [])));
  const decided = events.flatMap((event) => {
    if (event.kind === "backoffEnded") return [launchOf(event.attemptId)];
    if ("attemptId" in event && unlaunched.has(event.attemptId)) return [];
    if (event.kind === "gangPlaced") return [`launch ${event.attemptId} ${JSON.stringify(event.workers)}`];
    if (event.kind === "gangGrown") return [`grow ${event.attemptId} ${JSON.stringify(event.workers)}`];
    if (event.kind === "workersReplaced") return [`replace ${event.attemptId} ${JSON.stringify(event.workers)}`];
    if (event.kind === "gangShrinkRequested") return [`shrink ${event.attemptId} ${event.workers}`];
    if (event.kind === "checkpointRequested") return [`checkpoint ${event.attemptId} ${event.untilMs}`];
    if (event.kind === "checkpointWaitEnded") return [`stop ${event.attemptId} ${event.reason}`];
    const isStop = event.kind === "attemptStopRequested" && !asksFirst.has(event.attemptId);
    return isStop ? [`stop ${event.attemptId} ${event.reason}`] : [];
  });
  const asked = effects.map(effectText);
  findings.expect(
    decided.toSorted().join("\n") === asked.toSorted().join("\n"),
    () => `decided: ${decided.join("; ")}; asked of executors: ${asked.join("; ")}`,
  );
}

/**
 * Whether the event begins or ends an attempt's back-off in place. Other events of this attempt in the batch happen
 * while none of its workers runs.
 */
const isOfUnlaunched = (event: Event): event is Event & { readonly attemptId: AttemptId } =>
  (event.kind === "gangPlaced" && event.launchAtMs !== undefined) ||
  (event.kind === "attemptEnded" && event.detail === "stopped during its back-off");

function effectText(effect: Effect): string {
  switch (effect.kind) {
    case "launchGang":
      return `launch ${effect.attemptId} ${JSON.stringify(effect.workers)}`;
    case "growGang":
      return `grow ${effect.attemptId} ${JSON.stringify(effect.workers)}`;
    case "replaceWorkers":
      return `replace ${effect.attemptId} ${JSON.stringify(effect.workers.map(({ worker }) => worker))}`;
    case "checkpointGang":
      return `checkpoint ${effect.attemptId} ${effect.untilMs}`;
    case "shrinkGang":
      return `shrink ${effect.attemptId} ${effect.workers}`;
    case "stopGang":
      return `stop ${effect.attemptId} ${effect.reason}`;
  }
}
