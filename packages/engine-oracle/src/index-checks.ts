/** Compares the indexes, which are kept up to date event by event, with a recount of the state. */
import {
  PREDICTED_MS_MAX,
  decodeSnapshot,
  encodeSnapshot,
  expectedEndMs,
  nextLookMs,
  plannedDurationMs,
  stateDigest,
  knownFit,
  rejectedAtEpoch,
} from "@headroom/engine/internals";
import type { Findings, NodeSlot, QueueBucket, TypeCapacity, World } from "@headroom/engine/internals";
import { nextDueMs, rulesOf, tariffEndMs, taskCountOf, typeOrder } from "@headroom/model";
import type { WorkloadEntity } from "@headroom/engine";
import { canBeTold } from "./constraint-checks.ts";
import { withoutClosedNodes } from "./closed-nodes.ts";
import {
  compareByPolicy,
  feasibility,
  foreignOn,
  requestOf,
  hasReadyTask,
  heldByNode,
  isInGroups,
  isUsable,
} from "./recount.ts";
import type { Held } from "./recount.ts";
import { checkPowerMeters } from "./power-checks.ts";
import { checkDecayedUsage } from "./decayed-usage-checks.ts";
import { checkNodeIndexes } from "./removal-checks.ts";
import {
  checkEvictable,
  checkGrowth,
  checkTerminating,
  checkLending,
  checkTeamUse,
  checkUserUse,
} from "./team-checks.ts";

export function checkIndexes(findings: Findings, world: World, nowMs: number): void {
  checkCapacity(findings, world);
  checkNodeIndexes(findings, world);
  checkTeamUse(findings, world);
  checkUserUse(findings, world);
  checkLending(findings, world);
  checkGrowth(findings, world);
  checkEvictable(findings, world);
  checkTerminating(findings, world);
  checkQueue(findings, world, nowMs);
  checkClasses(findings, world, nowMs);
  checkCompletions(findings, world);
  checkTimers(findings, world, nowMs);
  checkPowerMeters(findings, world);
  checkDecayedUsage(findings, world);
  checkEndedKept(findings, world);
  checkEndpoints(findings, world);
  checkDigest(findings, world);
}

function checkEndpoints(findings: Findings, { state, endpoints }: World): void {
  for (const { id, spec, endedAtMs } of state.workloads.values())
    findings.expect(
      endpoints.has(id) === (spec.kind === "serve" && endedAtMs === null),
      () => `${id} is indexed as an endpoint and is none, or the other way round`,
    );
}

function checkCapacity(findings: Findings, { state, capacity, hotSparesStated }: World): void {
  const hotSpares = [...state.pools.values()].reduce((sum, pool) => sum + (pool.hotSpares ?? 0), 0);
  findings.expect(
    hotSpares === hotSparesStated,
    () => `${hotSpares} spares are stated, ${hotSparesStated} are indexed`,
  );
  const held = heldByNode(state);
  const slotsByType = new Map<string, NodeSlot[]>();
  for (const node of state.nodes.values()) {
    const slot = capacity.slot(node.id);
    findings.expect(slot.node === node, () => `the slot of ${node.id} is of another node object`);
    checkSlot(findings, slot, held.get(node.id) as Held);
    const slots = slotsByType.get(node.acceleratorType) ?? [];
    slotsByType.set(node.acceleratorType, slots);
    slots.push(slot);
  }
  for (const [name, slots] of slotsByType) {
    const type = capacity.type(name);
    findings.expect(type !== undefined, () => `accelerator type "${name}" has nodes and no capacity`);
    if (type !== undefined) checkType(findings, type, slots);
  }
}

function checkSlot(findings: Findings, slot: NodeSlot, held: Held): void {
  const { node } = slot;
  const foreign = foreignOn(node);
  let free = 0;
  let releasing = 0;
  for (let index = 0; index < slot.free.length * 32; index++) {
    const exists = index < node.acceleratorCount;
    const taken = (held.accelerators.get(index) ?? 0) + (held.nominated.get(index) ?? 0);
    const terminating = held.terminating.get(index) ?? 0;
    const isFiled = (mask: Int32Array): boolean => ((mask[index >>> 5] as number) & (1 << (index & 31))) !== 0;
    const isFree = exists && taken === 0 && !foreign.has(index);
    findings.expect(
      isFiled(slot.free) === isFree,
      () => `accelerator ${index} of ${node.id} is indexed as ${isFree ? "taken" : "free"} and is not`,
    );
    const isReleasing = exists && taken > 0 && taken === terminating && !foreign.has(index);
    findings.expect(
      isFiled(slot.releasing) === isReleasing,
      () => `accelerator ${index} of ${node.id} is indexed as ${isReleasing ? "staying" : "releasing"} and is not`,
    );
    if (isFree) free++;
    if (isReleasing) releasing++;
    if (exists) {
      const left = slot.left(index, "releasing");
      findings.expect(
        left === 1000 - taken + terminating,
        () =>
          `accelerator ${index} of ${node.id} is indexed with room for ${left}, it has ${1000 - taken + terminating}`,
      );
      checkSlicesFiled(findings, slot, { index, held });
    }
  }
  const compare = (what: string, filed: number, counted: number): void =>
    findings.expect(filed === counted, () => `${node.id} is indexed with ${filed} ${what}, it has ${counted}`);
  const { coresMilli: cores, memoryMib: memory } = node.foreignUse ?? { coresMilli: 0, memoryMib: 0 };
  compare("free accelerators", slot.freeCount, free);
  compare("coming accelerators", slot.releasingCount, releasing);
  compare("accelerators", slot.totalCount, node.acceleratorCount);
  compare("free mcores", slot.coresFreeMilli, node.coresMilli - cores - held.coresMilli - held.ahead.coresMilli);
  compare("coming mcores", slot.coresReleasingMilli, held.away.coresMilli);
  compare("free MiB", slot.memoryFreeMib, node.memoryMib - memory - held.memoryMib - held.ahead.memoryMib);
  compare("coming MiB", slot.memoryReleasingMib, held.away.memoryMib);
  compare("coming workers", slot.workersReleasing, held.away.workers);
  if (node.workersMax !== undefined)
    compare("free workers", slot.workersFree, node.workersMax - held.workers - held.ahead.workers);
  findings.expect(
    slot.attempts.size === held.attempts.size && [...held.attempts].every((id) => slot.attempts.has(id)),
    () =>
      `${node.id} is indexed with attempts ${[...slot.attempts.keys()].join(", ")}; it holds ${[...held.attempts].join(", ")}`,
  );
}

/**
 * Checks the index of slices, slice by slice. A device that is not divided, or is shared by fractions, offers no slice.
 */
function checkSlicesFiled(
  findings: Findings,
  slot: NodeSlot,
  { index, held }: { readonly index: number; readonly held: Held },
): void {
  const { node } = slot;
  if (node.mig === undefined) return;
  const { slices } = held;
  const [own = [], terminating = [], nominated = []] = [slices.held, slices.terminating, slices.nominated].map((of) =>
    of.get(index),
  );
  for (const layer of ["idle", "releasing"] as const) {
    const taken = [...own, ...nominated];
    if (layer === "releasing") for (const slice of terminating) taken.splice(taken.indexOf(slice), 1);
    const isForeign = foreignOn(node).has(index);
    const isShared = isForeign || 1000 - slot.left(index, layer) !== 125 * taken.length;
    const counted = (slice: number): number => (isShared ? 1 : taken.filter((each) => each === slice).length);
    const filed = slot.slicesTaken(index, layer);
    for (let slice = 0; slice < 8; slice++)
      findings.expect(
        ((filed >>> (4 * slice)) & 15) === counted(slice),
        () =>
          `slice ${slice} of accelerator ${index} of ${node.id} is indexed as taken otherwise than ${counted(slice)} times`,
      );
    findings.expect(
      slot.room(index, layer) ===
        (taken.length === 0 && !isForeign ? slot.left(index, layer) : Math.min(0, slot.left(index, layer))),
      () => `accelerator ${index} of ${node.id} is indexed with room for shares beside parts`,
    );
  }
}

function checkType(findings: Findings, type: TypeCapacity, slots: readonly NodeSlot[]): void {
  findings.expect(
    type.slots.length === slots.length && slots.every((slot, position) => type.slots[position] === slot),
    () => `the nodes of type "${type.type}" are not indexed in the order of joining`,
  );
  const usable = slots.filter(({ node }) => isUsable(node));
  const free = usable.reduce((sum, slot) => sum + slot.freeCount, 0);
  const total = usable.reduce((sum, slot) => sum + slot.node.acceleratorCount, 0);
  findings.expect(
    type.freeCount === free,
    () => `type "${type.type}" is indexed with ${type.freeCount} free, it has ${free}`,
  );
  findings.expect(
    type.usableCount === total,
    () => `type "${type.type}" is indexed with ${type.usableCount} usable accelerators, it has ${total}`,
  );
  const sums = [
    ["releasing", type.releasingCount, usable.reduce((sum, slot) => sum + slot.releasingCount, 0)],
    ["usable mcores", type.usableCoresMilli, usable.reduce((sum, { node }) => sum + node.coresMilli, 0)],
    ["usable MiB", type.usableMemoryMib, usable.reduce((sum, { node }) => sum + node.memoryMib, 0)],
  ] as const;
  for (const [what, filed, counted] of sums)
    findings.expect(filed === counted, () => `type "${type.type}" is indexed with ${filed} ${what}, it has ${counted}`);
  for (const slot of slots) {
    const isReleasing = type.releasing.next(slot.position) === slot.position;
    findings.expect(
      isReleasing === (isUsable(slot.node) && slot.workersReleasing > 0),
      () => `${slot.node.id} is ${isReleasing ? "" : "not "}indexed among the nodes with terminating work`,
    );
  }
  type.byFree.forEach((set, freeCount) => {
    const filed: number[] = [];
    for (let position = set.next(0); position >= 0; position = set.next(position + 1)) filed.push(position);
    const counted = usable.filter((slot) => slot.freeCount === freeCount).map((slot) => slot.position);
    findings.expect(
      filed.join() === counted.join(),
      () =>
        `nodes of type "${type.type}" with ${freeCount} free: indexed [${filed.join()}], counted [${counted.join()}]`,
    );
    findings.expect(
      (type.freeCounts.next(freeCount) === freeCount) === filed.length > 0,
      () =>
        `type "${type.type}": ${freeCount} is wrongly ${filed.length > 0 ? "not " : ""}among the counts of free accelerators`,
    );
  });
  const most = Math.max(0, ...usable.map((slot) => slot.freeCount));
  findings.expect(
    type.perNodeMax >= most,
    () => `type "${type.type}" looks for no more than ${type.perNodeMax} on a node`,
  );
}

const isOfClass = (
  { request: { team, gang, acceleratorTypes } }: QueueBucket,
  { spec, scale }: WorkloadEntity,
): boolean =>
  spec.team === team &&
  spec.gang.workers === gang.workers &&
  spec.gang.accelerators === gang.accelerators &&
  spec.gang.coresMilli === gang.coresMilli &&
  spec.gang.memoryMib === gang.memoryMib &&
  spec.gang.shareMilli === gang.shareMilli &&
  spec.gang.profile === gang.profile &&
  spec.gang.minWorkers === gang.minWorkers &&
  JSON.stringify([spec.gang.taskGroups, spec.gang.antiAffinity]) ===
    JSON.stringify([gang.taskGroups, gang.antiAffinity]) &&
  typeOrder({ spec, ...(scale === undefined ? {} : { scale }) }).join() === acceleratorTypes.join();

function checkQueue(findings: Findings, { state, queue }: World, nowMs: number): void {
  const filed = new Set<WorkloadEntity>();
  let count = 0;
  for (const bucket of queue.classes()) {
    let before: WorkloadEntity | null = null;
    let length = 0;
    for (const workload of bucket.waiting.from(0)) {
      length++;
      filed.add(workload);
      findings.expect(
        state.workloads.get(workload.id) === workload,
        () => `${workload.id} is queued and does not exist`,
      );
      findings.expect(
        queue.bucketIn(workload) === bucket,
        () => `${workload.id} waits in a bucket, and the queue names another one`,
      );
      findings.expect(
        isOfClass(bucket, workload),
        () => `${workload.id} waits in a queue class whose request differs from its own`,
      );
      const lastsMs = plannedDurationMs(rulesOf(state.policy), state.runTimes, workload);
      findings.expect(
        rulesOf(state.policy).backfill.protectedStarts === 0 || bucket.request.durationMs === lastsMs,
        () =>
          `${workload.id} has a planned duration of ${lastsMs} ms, but its queue class has ${bucket.request.durationMs} ms`,
      );
      const previous = before;
      findings.expect(
        previous === null || compareByPolicy(state.policy, previous, workload) < 0,
        () => `${workload.id} waits behind ${previous?.id}, but goes before it by the policy`,
      );
      before = workload;
    }
    findings.expect(
      length === bucket.waiting.length,
      () => `a queue class with ${length} workloads counts ${bucket.waiting.length}`,
    );
    const arrays = [...bucket.waiting.from(0)].filter(({ spec }) => spec.kind !== "train");
    findings.expect(
      arrays.length === bucket.waitingArrays.size && arrays.every((each) => bucket.waitingArrays.has(each)),
      () => `a queue class with ${arrays.length} job arrays lists ${bucket.waitingArrays.size}, or lists other ones`,
    );
    count += length;
  }
  findings.expect(count === filed.size, () => "a workload waits twice");
  const inUse = [...queue.classes()].filter(({ waiting }) => waiting.length > 0);
  const listed = queue.waitingClasses();
  findings.expect(
    listed.length === inUse.length && inUse.every((bucket) => listed[bucket.waitingAt] === bucket),
    () => `work waits in ${inUse.length} classes, ${listed.length} are listed, or others`,
  );
  findings.expect(count === queue.readyCount, () => `${count} workloads wait, the queue says ${queue.readyCount}`);
  for (const workload of state.workloads.values()) {
    const shouldWait = hasReadyTask(workload, nowMs);
    findings.expect(
      filed.has(workload) === shouldWait,
      () => `${workload.id} ${shouldWait ? "may start and is not in the queue" : "is in the queue and may not start"}`,
    );
    findings.expect(
      queue.has(workload) === shouldWait,
      () =>
        `the queue names ${shouldWait ? "no bucket" : "a bucket"} for ${workload.id}, which ${shouldWait ? "may" : "may not"} start`,
    );
  }
}

/**
 * Checks that a bucket marked as rejected really does not fit, and that cached results about the empty fleet are
 * correct.
 */
function checkClasses(findings: Findings, world: World, nowMs: number): void {
  const { state, queue, capacity, teamUse } = world;
  const { couldEver, couldNow } = feasibility(state);
  const describe = ({ request: { team, gang, acceleratorTypes } }: QueueBucket): string =>
    `the class of ${gang.workers}x${gang.accelerators} [${acceleratorTypes.join()}] of ${team}`;
  for (const bucket of queue.classes()) {
    const { request } = bucket;
    const asked = requestOf(request);
    const fitsFleet = knownFit(world, bucket);
    const isClosed = bucket.memo.get(rejectedAtEpoch) === capacity.freedEpoch + teamUse.limitEpoch;
    const first = bucket.waiting.first();
    const isOpen = (workload: WorkloadEntity): boolean =>
      feasibility(withoutClosedNodes(state, workload, nowMs)).couldNow(requestOf(workload));
    // The calendar cannot be evaluated for a bucket without workloads.
    const fits = (): boolean =>
      couldNow(asked) && (state.calendar.size === 0 || (first !== undefined && isOpen(first)));
    findings.expect(!isClosed || !fits(), () => `${describe(bucket)} is closed and fits`);
    if (fitsFleet === null) continue;
    if (isInGroups(request)) {
      const isSure = couldEver(asked);
      findings.expect(!isSure || fitsFleet, () => `${describe(bucket)} is said not to fit the empty fleet`);
      continue;
    }
    const isKnown = canBeTold(state, request.spec);
    const isRight = fitsFleet === couldEver(asked);
    // A gang that may use hot spares may fit on hot spares only.
    findings.expect(
      !isKnown || isRight || (fitsFleet && request.lostWorkers > 0),
      () => `${describe(bucket)} is said ${fitsFleet ? "" : "not "}to fit the empty fleet, which is wrong`,
    );
  }
}

/** Checks that running work is indexed by its expected end, under policies that protect starts. */
function checkCompletions(findings: Findings, { state, completions }: World): void {
  const rules = rulesOf(state.policy);
  const filed: string[] = [];
  const all = completions.inOrder();
  for (let next = all.next(); next.done !== true; next = all.next())
    filed.push(`${next.value.attempt.id} at ${next.value.endMs}`);
  const counted = [...state.attempts.values()].map((attempt) => {
    const { spec } = state.workloads.get(attempt.workloadId) as WorkloadEntity;
    return `${attempt.id} at ${expectedEndMs(rules, attempt, spec)}`;
  });
  const expected = rules.backfill.protectedStarts === 0 ? [] : counted;
  findings.expect(
    filed.toSorted().join() === expected.toSorted().join(),
    () => `ends are indexed as ${filed.join(", ")}; they are expected as ${expected.join(", ")}`,
  );
}

/** Checks that the next wake-up is never late; it may be early. */
function checkTimers(findings: Findings, world: World, nowMs: number): void {
  const { state, timers } = world;
  const due: number[] = [];
  for (const attempt of state.attempts.values()) {
    const spec = state.workloads.get(attempt.workloadId)?.spec;
    const walltimeMs = spec?.walltimeMs ?? null;
    const savesUntilMs = attempt.stop?.checkpointUntilMs;
    if (savesUntilMs !== undefined) due.push(savesUntilMs);
    const mayRunOn = attempt.stop === null || savesUntilMs !== undefined;
    if (attempt.startedAtMs !== null && mayRunOn && walltimeMs !== null) due.push(attempt.startedAtMs + walltimeMs);
    if (attempt.startedAtMs !== null && attempt.stop === null && attempt.prediction !== undefined)
      if (attempt.prediction.durationMs < (walltimeMs ?? PREDICTED_MS_MAX))
        due.push(attempt.startedAtMs + attempt.prediction.durationMs);
    if (spec?.kind === "serve" && attempt.startedAtMs !== null && attempt.ready === undefined && attempt.stop === null)
      due.push((attempt.notReadySinceMs ?? attempt.startedAtMs) + spec.ready.timeoutMs);
    // The instant from which the attempt can be preempted.
    const mayLeaveAtMs = attempt.placedAtMs + (spec?.minRuntimeMs ?? 0);
    if (attempt.stop === null && mayLeaveAtMs > nowMs) due.push(mayLeaveAtMs);
  }
  for (const workload of state.workloads.values()) {
    if (workload.endedAtMs !== null || workload.stopRequested) continue;
    const { notBeforeMs: notBeforeAtMs = 0 } = workload.spec;
    if (notBeforeAtMs > nowMs) due.push(notBeforeAtMs);
    if (workload.spec.kind !== "serve" && workload.nextTask < taskCountOf(workload.spec)) continue;
    for (const { retryAtMs } of workload.tasks.values())
      if (retryAtMs !== null && retryAtMs > nowMs) due.push(retryAtMs);
  }
  for (const { schedule, lookedAtMs } of state.schedules.values()) {
    const dueAtMs = nextDueMs(schedule.times, lookedAtMs);
    findings.expect(dueAtMs === null || dueAtMs > nowMs, () => `schedule ${schedule.name} is overdue since ${dueAtMs}`);
    if (dueAtMs !== null) due.push(dueAtMs);
  }
  for (const { entry, begun } of state.calendar.values()) {
    if (entry.kind !== "tariff") due.push(begun === true ? entry.endMs : entry.startMs);
    else if (entry.when.kind !== "recurring") due.push(tariffEndMs(entry.when));
  }
  const lookAtMs = nextLookMs(world, nowMs);
  if (lookAtMs !== null) due.push(lookAtMs);
  if (due.length === 0) return;
  const earliest = due.reduce((first, at) => Math.min(first, at));
  const wake = timers.nextAtMs();
  findings.expect(
    wake !== null && wake <= earliest,
    () => `the next wake-up is at ${wake}, ${earliest} is too late for it`,
  );
}

function checkEndedKept(findings: Findings, { state, endedKept, endedDropped, backingOff }: World): void {
  const kept = [...state.attempts.values()].filter(({ launchAtMs }) => launchAtMs !== undefined).map(({ id }) => id);
  findings.expect(
    kept.length === backingOff.size && kept.every((id) => backingOff.has(id)),
    () => `in their back-off: indexed ${[...backingOff].join(", ")}, counted ${kept.join(", ")}`,
  );
  const filed = endedKept.slice(endedDropped);
  const counted = [...state.workloads.values()]
    .filter(({ endedAtMs }) => endedAtMs !== null)
    .toSorted((left, right) => left.endOrdinal - right.endOrdinal)
    .map(({ id }) => id);
  findings.expect(
    filed.join() === counted.join(),
    () => `ended and kept: indexed ${filed.join()}, counted ${counted.join()}`,
  );
}

/**
 * Checks that the digest from cached hashes of entities equals a digest that is computed from scratch, also after a
 * snapshot was read.
 */
function checkDigest(findings: Findings, { state }: World): void {
  const live = stateDigest(state);
  const fromNothing = stateDigest(decodeSnapshot(encodeSnapshot(state)));
  findings.expect(live === fromNothing, () => `the digest is ${live}, from nothing it is ${fromNothing}`);
}
