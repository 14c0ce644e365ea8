/** Verdicts and the queue: numbers of the engine, each with a sentence. */
import {
  entitlementExceeded,
  expectedCapacity,
  explain,
  explainBriefly,
  holdReason,
  queuePage,
  waitingSummary,
} from "@headroom/explain";
import type { EntitlementExceeded, QueuePage as EngineQueuePage, QueueQuery } from "@headroom/explain";
import { clockOf } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { groupAt, specOfGroup } from "@headroom/model";
import type {
  BlockedReason as EngineReason,
  ClosedCapacity,
  Prediction,
  Verdict as EngineVerdict,
  Workload,
  WorkloadId,
} from "@headroom/model";
import { PAGE_ITEMS_DEFAULT, resourceNames, writeCarbon, writeEnergyPrice, writeInstant } from "@headroom/protocol";
import type { BlockedReason, HoldReason, QueueEntry, QueuePage, QueryFor, Verdict } from "@headroom/protocol";
import { spentText } from "./budget-text.ts";
import { needText } from "./need-text.ts";
import { refusedCursor } from "./page-cursor.ts";
import { withExpectedCapacity, withOrderedNodes } from "./expected-capacity.ts";
import { predictionText } from "./prediction-text.ts";
import { rolloutGoingText } from "./rollout-text.ts";
import { groundText } from "./scale-text.ts";
import { acceleratorNoun, durationText, grouped, plural, resourceForm, wattsText } from "./plain-text.ts";
import {
  acceleratorShortfallSentence,
  exceedsFleetSentence,
  partShortfallSentence,
  workerShortfallSentence,
} from "./shortfall-text.ts";
import { isReadable, type ReadableTeams } from "./readable-teams.ts";
import { foreignUseSentence } from "./foreign-use-text.ts";
import { suspendedSentence } from "./suspended-text.ts";
import { imageSentence, secretsSentence } from "./ability-sentences.ts";
import { transfersSentence } from "./transfers-sentence.ts";
import { matcher } from "./workload-list.ts";
import { workloadSummary } from "./workload-view.ts";

/** The verdict; `null`: the workload does not exist. */
export function verdictView(engine: Engine, id: string): Verdict | null {
  const workload = engine.state.workloads.get(id as WorkloadId);
  if (workload === undefined) return null;
  const verdict = explain(engine, workload.id);
  const view = verdictResource(engine, workload, verdict);
  const ordered = withOrderedNodes(view, engine, workload.id);
  if (ordered !== view) return ordered;
  if (exceedsFleet(verdict)) return withExpectedCapacity(view, expectedCapacity(engine, workload.id), clockOf(engine));
  const passed = verdict.kind === "blocked" && isShortfall(verdict) ? entitlementExceeded(engine, workload.id) : null;
  return passed === null ? view : { ...view, sentence: `${view.sentence} ${entitlementSentence(workload, passed)}` };
}

const exceedsFleet = (verdict: EngineVerdict): boolean =>
  verdict.kind === "blocked" && verdict.reasons.some(({ kind }) => kind === "exceedsFleet");

/** True: the reason is missing capacity, which other work can hold. */
const isShortfall = ({ reasons: [first] }: EngineVerdict & { readonly kind: "blocked" }): boolean =>
  first?.kind === "acceleratorShortfall" || first?.kind === "workerShortfall" || first?.kind === "partShortfall";

/** Says why the work cannot preempt work of other teams. */
function entitlementSentence({ spec }: Waiting, { team, resource, entitlement, held }: EntitlementExceeded): string {
  const others = team === spec.team ? "other teams" : "teams outside of it";
  return `Team ${team} is entitled to ${amountText(resource, entitlement)} and uses ${bareAmount(resource, held)}. This would exceed its entitlement, so it cannot preempt ${others}.`;
}

/** The facts about the work that a sentence needs. The work need not be submitted. */
export type Waiting = Pick<Workload, "spec" | "phase" | "endedAtMs" | "stopRequested" | "scale" | "rollout">;

export function verdictResource(engine: Engine, workload: Waiting, verdict: EngineVerdict): Verdict {
  switch (verdict.kind) {
    case "blocked": {
      const reasons = verdict.reasons.map((reason) => reasonView(engine, workload, reason));
      const missed = missedDeadline(engine, workload);
      const late = missed === null ? [] : [missedSentence(missed, workload)];
      const sentence = [...reasons.map((reason) => reason.sentence), ...late].join(" ");
      const deadline = missed === null ? {} : { deadline: missed };
      const never = verdict.neverStarts === true ? { neverStarts: true as const } : {};
      return { kind: "blocked", sentence, ...never, reasons, ...deadline, wakeOn: [...verdict.wakeOn] };
    }
    case "placeable":
      return { kind: "placeable", sentence: "It fits and starts shortly." };
    case "notWaiting":
      return { kind: "notWaiting", sentence: notWaitingSentence(workload) };
    default:
      return unreachable(verdict);
  }
}

interface MissedDeadline {
  readonly deadlineMs: number;
  readonly earliestEndMs: number;
}

/**
 * The deadline that the work has missed, or will miss even with the earliest start; `null`: there is none, or it can be
 * met.
 */
function missedDeadline(engine: Engine, { spec }: Waiting): MissedDeadline | null {
  const { deadlineMs, walltimeMs, notBeforeMs = 0 } = spec;
  if (deadlineMs === undefined) return null;
  const earliestEndMs = Math.max(clockOf(engine), notBeforeMs) + (walltimeMs ?? 0);
  return earliestEndMs > deadlineMs ? { deadlineMs, earliestEndMs } : null;
}

function missedSentence({ deadlineMs, earliestEndMs }: MissedDeadline, { spec: { walltimeMs } }: Waiting): string {
  const deadline = `its deadline of ${writeInstant(deadlineMs)}`;
  return walltimeMs === null
    ? `It misses ${deadline}: it does not end before ${writeInstant(earliestEndMs)}.`
    : `It will miss ${deadline}: with its walltime it ends at ${writeInstant(earliestEndMs)} at the earliest.`;
}

function notWaitingSentence(workload: Waiting): string {
  if (workload.endedAtMs !== null) return `It has ended: ${workload.phase}.`;
  if (workload.stopRequested) return "It is being stopped.";
  const { scale, rollout } = workload;
  if (rollout !== undefined) return rolloutGoingText(rollout);
  if (scale?.ground.kind === "load")
    return `${scale.actor} set ${plural(scale.replicas, "replica")} instead of ${scale.from}${groundText(scale.ground)}.`;
  if (scale?.replicas === 0) return "It should have no replicas; `headroom set NAME replicas=N` starts some.";
  return `It does not wait: all of its ${workload.scale === undefined ? "tasks" : "replicas"} are placed.`;
}

function reasonView(engine: Engine, workload: Waiting, reason: EngineReason): BlockedReason {
  const sentence = reasonSentence(engine, workload, reason);
  if (reason.kind === "acceleratorShortfall") {
    const { closed, ...others } = reason;
    return { ...others, acceleratorTypes: [...reason.acceleratorTypes], ...closedView(closed), sentence };
  }
  if (reason.kind === "workerShortfall") {
    const { closed, ...others } = reason;
    return { ...others, ...closedView(closed), sentence };
  }
  if (reason.kind === "exceedsFleet" || reason.kind === "hotSparesKept")
    return { ...reason, acceleratorTypes: [...reason.acceleratorTypes], sentence };
  if (reason.kind === "antiAffinity") return { ...reason, workloadIds: [...reason.workloadIds], sentence };
  if (
    reason.kind === "dataRule" ||
    reason.kind === "image" ||
    reason.kind === "secrets" ||
    reason.kind === "workloadKind" ||
    reason.kind === "transfers"
  )
    return { ...reason, pools: [...reason.pools], sentence };
  if (reason.kind === "nominated") return { ...reason, nodes: [...reason.nodes], sentence };
  return { ...reason, sentence };
}

const closedView = (closed: ClosedCapacity | undefined): Pick<ClosedShortfall, "closed"> =>
  closed === undefined ? {} : { closed: { ...closed, nodes: [...closed.nodes] } };

type ClosedShortfall = BlockedReason & { readonly kind: "workerShortfall" };

const endings = { ok: "succeeds", failed: "fails", any: "ends" } as const;

type TeamLimit = EngineReason & { readonly kind: "teamLimit" };

function teamLimitSentence(reason: TeamLimit): string {
  const { bound, user, team, resource, limitCount, usedCount, neededCount } = reason;
  if (neededCount > limitCount && bound !== "borrowing") return exceededAloneSentence(reason);
  const held = `${bareAmount(resource, usedCount)} of ${amountText(resource, limitCount)}`;
  const more = `this needs ${bareAmount(resource, neededCount)} more`;
  switch (bound) {
    case "limit":
      return `Limit of team ${team} reached: ${held} in use, ${more}.`;
    case "user":
      return `User limit of team ${team} reached: ${user} uses ${held}, ${more}.`;
    case "guarantee":
      return `Guarantee of team ${team} reached for non-preemptible work: ${held} in use, ${more}. Preemptible work can exceed the guarantee.`;
    case "unguaranteed":
      return `Non-preemptible work of team ${team} must leave what other teams are guaranteed: ${held} guaranteed or in use by non-preemptible work, ${more}. Preemptible work can use guaranteed capacity while it is idle.`;
    case "borrowing":
      return `Borrowing limit of team ${team} reached: ${held} in use, ${more}.`;
    case "budget":
      return `Budget of team ${team} used up.`;
    default:
      return unreachable(bound);
  }
}

/** The name of the quota in a sentence, and the field of a team's file that states it. */
const exceededQuotas: Readonly<Partial<Record<TeamLimit["bound"], readonly [name: string, field: string]>>> = {
  limit: ["limit", "limit"],
  user: ["limit per user", "userLimit"],
  guarantee: ["guarantee", "guarantee"],
  unguaranteed: ["capacity that other teams' guarantees leave", "guarantee"],
};

/** Text for a request that exceeds the quota even if nothing else runs. */
function exceededAloneSentence({ bound, team, resource, limitCount, neededCount }: TeamLimit): string {
  const [name, field] = exceededQuotas[bound] ?? [bound, bound];
  const exceeds = `it needs ${bareAmount(resource, neededCount)}, but the ${name} is ${amountText(resource, limitCount)}, whatever else runs`;
  const raise = `raise ${field}.${resource} of team ${team} to at least ${bareAmount(resource, neededCount)} in its file and run headroom apply -f FILE`;
  if (bound === "unguaranteed") {
    const left = `it needs ${bareAmount(resource, neededCount)}, but they leave only ${amountText(resource, limitCount)}, whatever else runs`;
    return `Exceeds what other teams' guarantees leave to non-preemptible work of team ${team}: ${left}. Request less, submit it as preemptible work, or ${raise}.`;
  }
  const request =
    bound === "guarantee"
      ? "Non-preemptible work must stay within the guarantee: request less, submit it as preemptible work"
      : "Request less";
  return `Exceeds the ${name} of team ${team}: ${exceeds}. ${request}, or ${raise}.`;
}

/** The amount in the unit in which teams state the resource. */
function amountText(resource: string, amount: number): string {
  const noun = acceleratorNoun(resource === resourceNames.allAccelerators ? [] : [resource], amount);
  return resourceForm(resource)?.text(amount) ?? `${grouped(amount)} ${noun}`;
}

/** The amount without the noun, if the sentence already contains it. */
function bareAmount(resource: string, amount: number): string {
  return resourceForm(resource)?.text(amount) ?? grouped(amount);
}

const predictionNote = ({ walltimeMs }: Waiting["spec"], prediction: Prediction | undefined): string =>
  prediction === undefined ? "" : `; it is ${predictionText(prediction, walltimeMs)}`;

type DataRule = EngineReason & { readonly kind: "dataRule" };

function reasonSentence(engine: Engine, waiting: Waiting, reason: EngineReason): string {
  const index =
    "group" in reason ? (waiting.spec.gang.taskGroups ?? []).findIndex(({ name }) => name === reason.group) : -1;
  if (index < 0) return sentenceAlone(engine, waiting, reason);
  const sentence = sentenceAlone(engine, { ...waiting, spec: specOfGroup(waiting.spec, index) }, reason);
  return sentence.replace("it needs", `its group ${groupAt(waiting.spec.gang, index).name} needs`);
}

function antiAffinitySentence(
  state: Engine["state"],
  { workloadIds, placeableWorkers, workers }: EngineReason & { readonly kind: "antiAffinity" },
): string {
  const others = workloadIds.map((id) => nameIn(state, id)).join(", ");
  return `Blocked by anti-affinity with ${others}: ${grouped(placeableWorkers)} of ${plural(workers, "worker")} ${placeableWorkers === 1 ? "fits" : "fit"}.`;
}

function behindHeadSentence(
  state: Engine["state"],
  { headWorkloadId, aheadCount }: EngineReason & { readonly kind: "behindHead" },
): string {
  const ahead = `${plural(aheadCount, "workload")} ${aheadCount === 1 ? "is" : "are"} ahead.`;
  return `Behind the head of the queue: ${nameIn(state, headWorkloadId)} does not fit yet, and policy ${state.policy.name} starts no work before it. ${ahead}`;
}

const workloadKindSentence = ({
  workloadKind,
  pools,
  placeableWorkers,
  workers,
}: EngineReason & { readonly kind: "workloadKind" }): string =>
  pools.length === 0
    ? `Kind of workload: no pool takes ${workloadKind} workloads (\`kinds\` of the pools).`
    : `Kind of workload: ${grouped(placeableWorkers)} of ${plural(workers, "worker")} ${placeableWorkers === 1 ? "fits" : "fit"} in pools that take ${workloadKind} workloads (${pools.join(", ")}).`;

function powerCapSentence({
  of,
  domain,
  capWatts,
  usedWatts,
  neededWatts,
}: EngineReason & { readonly kind: "powerCap" }): string {
  if (neededWatts === null)
    return `Power cap: ${domain} is capped, and the pool of its nodes does not state what an accelerator draws (\`power\` of the pool).`;
  const word = of === "power" ? "Power" : "Cooling";
  return `${word} cap: ${domain}: ${wattsText(usedWatts)} of ${wattsText(capWatts)} are used, ${wattsText(neededWatts)} are needed.`;
}

type ConstraintReason = EngineReason & {
  readonly kind: "workloadKind" | "image" | "secrets" | "transfers" | "powerCap";
};

function constraintSentence(reason: ConstraintReason): string {
  switch (reason.kind) {
    case "transfers":
      return transfersSentence(reason);
    case "image":
      return imageSentence(reason);
    case "secrets":
      return secretsSentence(reason);
    case "powerCap":
      return powerCapSentence(reason);
    case "workloadKind":
      return workloadKindSentence(reason);
  }
}

const reservedTopologySentence = (
  spec: Waiting["spec"],
  { team, heldCount, ownedCount }: EngineReason & { readonly kind: "reservedTopology" },
): string =>
  team === null
    ? `Reserved topology: work of its priority needs reserved cells, and no team above it owns any.`
    : `Reserved topology: it needs ${needText(spec)} in the cells of team ${team}; ${grouped(heldCount)} of their ${grouped(ownedCount)} ${acceleratorNoun(spec.acceleratorTypes, ownedCount)} are in use, and the rest does not fit.`;

function sentenceAlone(engine: Engine, { spec }: Waiting, reason: EngineReason): string {
  const { state } = engine;
  switch (reason.kind) {
    case "exceedsFleet":
      return exceedsFleetSentence(state, spec, reason) + suspendedSentence(state, spec);
    case "acceleratorShortfall":
      return (
        acceleratorShortfallSentence(spec, reason) + foreignUseSentence(state, spec) + suspendedSentence(state, spec)
      );
    case "workerShortfall":
      return workerShortfallSentence(spec, reason) + foreignUseSentence(state, spec) + suspendedSentence(state, spec);
    case "partShortfall":
      return partShortfallSentence(spec, reason);
    case "minRuntime":
      return `Minimum runtime: ${nameIn(state, reason.workloadId)} can be preempted from ${writeInstant(reason.untilMs)} (in ${durationText(Math.max(0, reason.untilMs - clockOf(engine)))}), when its minRuntime ends.`;
    case "antiAffinity":
      return antiAffinitySentence(state, reason);
    case "dataRule":
      return dataRuleSentence(reason);
    case "workloadKind":
    case "image":
    case "secrets":
    case "transfers":
    case "powerCap":
      return constraintSentence(reason);
    case "teamLimit":
      return teamLimitSentence(reason);
    case "reservedTopology":
      return reservedTopologySentence(spec, reason);
    case "behindHead":
      return behindHeadSentence(state, reason);
    case "held":
      return "Held: it starts after a release.";
    case "waitsFor": {
      const others = reason.othersCount === 0 ? "" : `, and ${plural(reason.othersCount, "other condition")}`;
      const what = reason.on === "artifact" ? `has produced ${reason.artifact}` : endings[reason.on];
      return `Dependency: it waits until ${nameIn(state, reason.workloadId)} ${what}${others}.`;
    }
    case "notBefore":
      return `Start time not reached: it starts at ${writeInstant(reason.atMs)} at the earliest, in ${durationText(Math.max(0, reason.atMs - clockOf(engine)))}.`;
    case "startWindow":
      return startWindowSentence(reason);
    case "reservation":
      return reservationSentence(engine, spec, reason);
    case "budget": {
      const used = `${spentText(reason.resource, reason.spent)} of ${spentText(reason.resource, reason.limit)}`;
      const renewed =
        reason.renewsAtMs === null
          ? ` It is not renewed: raise budget of team ${reason.team} in its file and run headroom apply -f FILE.`
          : ` It is renewed at ${writeInstant(reason.renewsAtMs)}.`;
      return `Budget of team ${reason.team} used up: ${used}.${renewed}`;
    }
    case "window": {
      const what = reason.window === "maintenance" ? `maintenance ${reason.name}` : `reservation ${reason.name}`;
      const times = `from ${writeInstant(reason.startMs)} until ${writeInstant(reason.endMs)}`;
      return `Calendar: the nodes that fit are closed by ${what}, ${times}, and the work might run until ${writeInstant(reason.expectedEndMs)}.`;
    }
    case "hotSparesKept":
      return hotSparesSentence(reason);
    case "nominated":
      return `Nominated: it starts on ${reason.nodes.slice(0, 3).join(", ")}${reason.nodes.length > 3 ? "…" : ""} as soon as terminating work has ended.`;
    case "taskLimit":
      return `The array runs ${plural(reason.tasksAtOnce, "task")} at once (tasksAtOnce); the next starts when one ends.`;
    case "backoff":
      return backoffSentence(reason, clockOf(engine));
    default:
      return unreachable(reason);
  }
}

function dataRuleSentence({ rule, pools, workers, placeableWorkers }: DataRule): string {
  if (pools.length === 0) return `Data rule ${rule}: no site or pool admits it.`;
  const where = `${pools.slice(0, 3).join(", ")}${pools.length > 3 ? ` and ${pools.length - 3} more` : ""}`;
  return `Data rule ${rule}: it is admitted only in ${pools.length === 1 ? "the pool" : "the pools"} ${where}, where ${grouped(placeableWorkers)} of ${plural(workers, "worker")} ${placeableWorkers === 1 ? "fits" : "fit"}.`;
}

function hotSparesSentence({ nodes, suffice }: EngineReason & { readonly kind: "hotSparesKept" }): string {
  const kept = `${nodes === 1 ? "one node is kept as a hot spare" : `${nodes} nodes are kept as hot spares`} for work that loses nodes`;
  return suffice === false
    ? `Hot spares: it fits only with them, and ${kept}.`
    : `Hot spares: it would fit, but ${kept}.`;
}

function reservationSentence(
  engine: Engine,
  spec: Waiting["spec"],
  { workloadId, startMs, prediction, awaitsNodes }: EngineReason & { readonly kind: "reservation" },
): string {
  const name = nameIn(engine.state, workloadId);
  const wait = durationText(Math.max(0, startMs - clockOf(engine)));
  if (awaitsNodes === true)
    return `Idle capacity is held for ${name}, whose other nodes are ordered and expected in ${wait}.`;
  return `Would delay a protected start: ${name} is to start there, by walltimes in ${wait} at the latest (the bound that backfill keeps, not the forecast)${predictionNote(spec, prediction)}. A shorter walltime could be backfilled.`;
}

function backoffSentence({ untilMs, failures }: EngineReason & { readonly kind: "backoff" }, nowMs: number): string {
  const wait = durationText(Math.max(0, untilMs - nowMs));
  return failures === 0
    ? `Back-off: the attempt was lost. The next one starts in ${wait}.`
    : `Back-off: it failed ${plural(failures, "time")}. The next attempt starts in ${wait}.`;
}

type StartWindow = EngineReason & { readonly kind: "startWindow" };

function startWindowSentence(reason: StartWindow): string {
  const { microUsdPerKwh, microUsdPerKwhMax, gramsPerKwh, gramsPerKwhMax, opensAtMs, latestStartAtMs } = reason;
  const { cheapestMs, cleanestMs } = reason;
  const wanted: string[] = [];
  const now: string[] = [];
  if (microUsdPerKwhMax !== null) wanted.push(`power of at most ${writeEnergyPrice(microUsdPerKwhMax)}`);
  if (gramsPerKwhMax !== null)
    wanted.push(`${wanted.length === 0 ? "power of at most " : ""}${writeCarbon(gramsPerKwhMax)}`);
  if (cheapestMs !== undefined) wanted.push(`the cheapest ${durationText(cheapestMs)} before its latest start`);
  if (cleanestMs !== undefined) wanted.push(`the cleanest ${durationText(cleanestMs)} before its latest start`);
  if (microUsdPerKwhMax !== null || cheapestMs !== undefined)
    now.push(microUsdPerKwh === null ? "no tariff states a price" : `it costs ${writeEnergyPrice(microUsdPerKwh)}`);
  if (gramsPerKwhMax !== null || cleanestMs !== undefined)
    now.push(gramsPerKwh === null ? "no tariff states its carbon" : `it has ${writeCarbon(gramsPerKwh)}`);
  const opens =
    opensAtMs === null ? "No tariff says when the window opens" : `The window opens at ${writeInstant(opensAtMs)}`;
  const anyway = latestStartAtMs === null ? "" : `; its latest start is ${writeInstant(latestStartAtMs)}`;
  return `Start window: it waits for ${wanted.join(" and ")}; now ${now.join(" and ")}. ${opens}${anyway}.`;
}

const nameIn = ({ workloads }: Engine["state"], id: WorkloadId): string => workloads.get(id)?.spec.name ?? id;

/**
 * Waiting work in queue order. The cursor is the id of the last workload shown. Its position stays known even after it
 * starts, so that a changing queue neither hides nor repeats entries.
 */
export function queueView(engine: Engine, query: QueryFor<"queue">, readable: ReadableTeams = null): QueuePage {
  const after = (query.cursor ?? null) as WorkloadId | null;
  const last = after === null ? null : engine.state.workloads.get(after);
  if (after !== null && (last == null || !isReadable(readable, last.spec.team))) throw refusedCursor(after);
  const isWanted = matcher(engine.state, query, readable);
  const limit = query.limit ?? PAGE_ITEMS_DEFAULT;
  const { workloads, nextAfter: nextCursor } = pageOfQueue(engine, { after, limit, isWanted }, readable !== null);
  const items = workloads.map(({ workload, position }) => queueEntry(engine, workload, position));
  const others = query.holdReason === true ? { holdReason: holdReason(engine, isWanted) } : {};
  return { items, nextCursor, waiting: waitingSummary(engine), ...others };
}

/**
 * `isWholePage`: a page is filled however many entries are passed over, so that its cursor never names an entry that the
 * reader may not see.
 */
function pageOfQueue(engine: Engine, query: QueueQuery, isWholePage: boolean): EngineQueuePage {
  const found: EngineQueuePage["workloads"][number][] = [];
  let { after } = query;
  for (;;) {
    const page = queuePage(engine, { ...query, after, limit: query.limit - found.length });
    found.push(...page.workloads);
    after = page.nextAfter;
    if (!isWholePage || after === null || found.length >= query.limit) return { workloads: found, nextAfter: after };
  }
}

/** `Not in the queue: 2 are held, 1 waits for its start time.`; `null`: nothing is. */
export function holdReasonSentence(counts: HoldReason): string | null {
  const parts = (Object.keys(holdReasonWords) as (keyof HoldReason)[]).flatMap((kind) => {
    const [one, many] = holdReasonWords[kind];
    return counts[kind] === 0 ? [] : [`${grouped(counts[kind])} ${counts[kind] === 1 ? one : many}`];
  });
  return parts.length === 0 ? null : `Not in the queue: ${parts.join(", ")}.`;
}

const holdReasonWords: Readonly<Record<keyof HoldReason, readonly [one: string, many: string]>> = {
  held: ["is held", "are held"],
  waitsFor: ["waits for a dependency", "wait for dependencies"],
  notBefore: ["waits for its start time", "wait for their start time"],
  startWindow: ["waits for its start window", "wait for their start window"],
  backoff: ["is in back-off", "are in back-off"],
  nominated: ["is nominated", "are nominated"],
};

function queueEntry(engine: Engine, workload: Workload, position: number): QueueEntry {
  const verdict = explainBriefly(engine, workload.id);
  const dominant = verdict.kind === "blocked" ? verdict.reasons[0] : undefined;
  return {
    position,
    workload: workloadSummary(engine.state, workload),
    reason: dominant === undefined ? null : reasonView(engine, workload, dominant),
    ...(verdict.kind === "blocked" && verdict.neverStarts === true ? { neverStarts: true } : {}),
  };
}

function unreachable(value: never): never {
  throw new Error(`unhandled: ${JSON.stringify(value)}`);
}
