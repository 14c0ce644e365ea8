/**
 * Reads journals of format 1 and names of format 2 that were retired later; no other code does. Format 2 changed names,
 * not facts: kinds and fields took the terms of `docs/glossary.md`. An event of format 1 is recognised by its retired
 * kind, or by a version below the first one of format 2, and is renamed field by field. Its version stays, because it
 * also determines the facts that the event carries. Snapshots of format 1 are renamed by the same table; format 3 of
 * snapshots has one record for each task, format 4 the terms of migration. Upcasting runs after the hash chain was
 * checked on the recorded text.
 */
import type {
  Event,
  Input,
  Task,
  BackfillRules,
  DefragmentRules,
  EvictionRules,
  FragmentationFor,
  Growth,
  NodeOrder,
  Policy,
  StrategyName,
} from "@headroom/model";

const kinds: ReadonlyMap<string, string> = new Map([
  ["placePromised", "placementNominated"],
  ["promiseWithdrawn", "nominationWithdrawn"],
  ["offPeakBegan", "startWindowOpened"],
  ["offPeakEnded", "startWindowClosed"],
  ["spareKept", "hotSpareReserved"],
  ["spareReleased", "hotSpareReleased"],
  ["loanRelabelled", "opportunisticJobRelabelled"],
]);

/** The first version of each kind with renamed fields that belongs to format 2. */
const renamedSince: ReadonlyMap<string, number> = new Map([
  ["poolDefined", 3],
  ["teamDefined", 4],
  ["policySet", 3],
  ["workloadSubmitted", 3],
  ["scheduleSet", 2],
  ["gangPlaced", 2],
  ["gangGrown", 2],
  ["workersReplaced", 2],
  ["evictionPlanned", 2],
]);

const fields: ReadonlyMap<string, string> = new Map([
  ["promise", "nomination"],
  ["promises", "nominations"],
  ["beneficiary", "preemptor"],
  ["leaving", "terminating"],
  ["apart", "antiAffinity"],
  ["alone", "exclusive"],
  ["groups", "taskGroups"],
  ["group", "taskGroup"],
  ["offPeak", "startWindow"],
  ["spares", "hotSpares"],
  ["spare", "hotSpare"],
  ["shapes", "reservedTopology"],
  ["waives", "waivedInvariants"],
  ["leastFreeWithoutWish", "unconstrainedToFullest"],
  ["lazy", "lazyPreemption"],
  ["pastUse", "decayedUsage"],
  ["pastEntries", "endedEntries"],
]);

/** Fields that contain maps with user-defined keys. These keys are not renamed. */
const ofUsers: ReadonlySet<string> = new Set([
  "env",
  "metrics",
  "labels",
  "nodeLabels",
  "nodeSelector",
  "limit",
  "userLimit",
  "guarantee",
  "lendingLimit",
  "borrowingLimit",
]);

/** Renamed values, by the name of the field that contains them. */
const values: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map([
  ["phases", new Map([["refill", "rebalance"]])],
  [
    "search",
    new Map([
      ["cheapest", "lowest-cost"],
      ["fewest", "volcano"],
      ["growing-list", "kai"],
      ["by-share", "kueue-fair-sharing"],
      ["by-advantage", "kueue-classical"],
    ]),
  ],
  [
    "order",
    new Map([
      ["claim", "entitlement"],
      ["without-claim-last", "without-entitlement-last"],
    ]),
  ],
]);

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** Renames fields and values. `field`: the name of the field that contains the value. */
function renamed(value: Json, field: string): Json {
  if (typeof value === "string") return values.get(field)?.get(value) ?? value;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item: Json) => renamed(item, field));
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      // In a budget, `over` is the action when the budget is used up. Elsewhere it names a topology key.
      const isLabel = name === "over" && ("maxPerDomain" in value || "set" in value);
      const to = isLabel ? "topologyKey" : (fields.get(name) ?? name);
      return [to, ofUsers.has(name) ? item : renamed(item, to)];
    }),
  );
}

/** The event with the present names, in its policy too. The same object is returned if nothing changes. */
export function upcastEvent(event: Event): Event {
  const renamedEvent = withTermsOfMigration(renameEvent(event));
  return renamedEvent.kind === "policySet" && renamedEvent.version < PRESENT_KNOBS_SINCE
    ? { ...renamedEvent, policy: upcastPolicy(renamedEvent.policy) }
    : renamedEvent;
}

/** The first version of each kind in which an eviction that migrates work has the reason `migrated`, not `moved`. */
const migratedSince: ReadonlyMap<string, number> = new Map([
  ["attemptStopRequested", 3],
  ["gangShrinkRequested", 2],
  ["checkpointWaitEnded", 2],
  ["evictionPlanned", 3],
]);

/** A victim of a plan before version 3 of `evictionPlanned`. */
interface FormerVictim {
  readonly right?: string;
  readonly moves?: true;
}

const reasonOf = (reason: string | null): string | null => (reason === "moved" ? "migrated" : reason);

/** Renames what became a migration, a ground or lost ranks. Facts and versions stay. */
function withTermsOfMigration(event: Event): Event {
  const former = event as unknown as {
    readonly kind: string;
    readonly version: number;
    readonly reason: string;
    readonly victims?: readonly FormerVictim[];
    readonly ranks?: readonly number[];
  };
  if (former.kind === "ranksLost") {
    const { ranks, ...rest } = former;
    return { ...rest, kind: "gangDegraded", lostRanks: ranks } as unknown as Event;
  }
  if (!(former.version < (migratedSince.get(former.kind) ?? 0))) return event;
  const { victims } = former;
  return {
    ...former,
    reason: reasonOf(former.reason),
    ...(victims === undefined ? {} : { victims: victims.map(victimOf) }),
  } as unknown as Event;
}

const victimOf = ({ right, moves, ...rest }: FormerVictim): object => ({
  ...rest,
  ...(right === undefined ? {} : { ground: right }),
  ...(moves === undefined ? {} : { migrates: moves }),
});

function renameEvent(event: Event): Event {
  const { kind, version } = event as { readonly kind: string; readonly version: number };
  const to = kinds.get(kind);
  if (to === undefined && !(version < (renamedSince.get(kind) ?? 0))) return event;
  return { ...(renamed(event as unknown as Json, "") as unknown as Event), kind: to ?? kind } as Event;
}

/** The events of a group, read from its recorded text, with the names of format 2. */
export const readEvents = (text: string): readonly Event[] => (JSON.parse(text) as readonly Event[]).map(upcastEvent);

/**
 * The inputs of a recorded round with the names of format 2. Inputs have no version. No new name is an old name of
 * another field, so renaming is safe for inputs of both formats.
 */
export const readInputs = (text: string): readonly Input[] =>
  (renamed(JSON.parse(text) as Json, "") as unknown as Input[]).map((input) =>
    input.kind === "setPolicy" ? { ...input, policy: upcastPolicy(input.policy) } : input,
  );

/** The content of a snapshot of format 1, 2 or 3 in format 4. Its policy is read by `upcastPolicy`. */
export function upcastSnapshot<Stored extends { readonly format: number }>(stored: Stored): Stored {
  const named = stored.format === 1 ? (renamed(stored, "") as unknown as Stored) : stored;
  const { workloads, ...rest } = named as unknown as { readonly workloads: readonly FormerTasks[] };
  const withRecords = stored.format < 3 ? workloads.map(withTasks) : workloads;
  return withMigrations({ ...rest, workloads: withRecords } as unknown as FormerMigrations) as unknown as Stored;
}

interface FormerMigrations {
  readonly moved?: unknown;
  readonly attempts: readonly { readonly stop: { readonly reason: string } | null }[];
  readonly workloads: readonly { readonly endedAttempts: readonly { readonly stopReason: string | null }[] }[];
}

/** Fields keep their positions, because the digest of an entity depends on them. */
const withMigrations = ({ moved, attempts, workloads, ...rest }: FormerMigrations): object => ({
  ...rest,
  ...(moved === undefined ? {} : { migrated: moved }),
  attempts: attempts.map((attempt) =>
    attempt.stop?.reason === "moved" ? { ...attempt, stop: { ...attempt.stop, reason: "migrated" } } : attempt,
  ),
  workloads: workloads.map((workload) => ({
    ...workload,
    endedAttempts: workload.endedAttempts.map((ended) => ({ ...ended, stopReason: reasonOf(ended.stopReason) })),
  })),
});

/** The fields of a workload before format 3, which had a separate list for each fact about tasks. */
interface FormerTasks {
  readonly retries: readonly { readonly task: number; readonly notBeforeMs: number }[];
  readonly failureCounts: readonly (readonly [number, number])[];
  readonly attemptCounts: readonly (readonly [number, number])[];
  readonly losses?: readonly { readonly task: number; readonly count: number }[];
  readonly givenUpTasks?: readonly number[];
}

function withTasks({ retries, failureCounts, attemptCounts, losses, givenUpTasks, ...rest }: FormerTasks): object {
  const failures = new Map(failureCounts);
  const attempts = new Map(attemptCounts);
  const retriesAtMs = new Map(retries.map(({ task, notBeforeMs }) => [task, notBeforeMs]));
  const lost = new Map((losses ?? []).map(({ task, count }) => [task, count]));
  const givenUp = new Set(givenUpTasks);
  const indexes = new Set([failures, attempts, retriesAtMs, lost, givenUp].flatMap((each) => [...each.keys()]));
  const tasks = [...indexes]
    .toSorted((left, right) => left - right)
    .map((index): Task => ({
      index,
      attemptCount: attempts.get(index) ?? 1,
      failureCount: failures.get(index) ?? 0,
      lossCount: lost.get(index) ?? 0,
      retryAtMs: retriesAtMs.get(index) ?? null,
      isGivenUp: givenUp.has(index),
    }));
  return { ...rest, tasks };
}

/**
 * The first version of `policySet` in which a policy has the present names of its knobs. Version 4 was the first one in
 * which a policy names a strategy, version 5 the first one with the present number of knobs.
 */
const PRESENT_KNOBS_SINCE = 6;

/** The fields of a policy before it named a strategy. */
interface FormerPolicy {
  readonly teams?: { readonly share?: string; readonly overGuarantee?: string; readonly reservedTopology?: unknown };
  readonly fabric?: { readonly choose: string; readonly unconstrainedToFullest: boolean; readonly balanced: boolean };
  readonly eviction?: {
    readonly search?: string;
    readonly shareTests?: readonly string[];
    readonly nominations?: string;
    readonly lazyPreemption?: boolean;
  };
}

interface Waiving {
  readonly waivedInvariants?: readonly number[];
}

/**
 * A policy of any version in its present form. The fields of the policy show its version. The same object is returned
 * if nothing changes.
 */
export const upcastPolicy = (policy: Policy): Policy => withMigrationKnobs(withMergedKnobs(withStrategy(policy)));

/** A policy before version 6. */
interface FormerMigrationKnobs {
  readonly eviction?: { readonly movesMax?: number };
  readonly defragment?: { readonly movesPerHour?: number };
}

/** Renames the two knobs that bound migrations; each keeps its position. */
function withMigrationKnobs(policy: Policy): Policy {
  const { eviction, defragment } = policy as unknown as FormerMigrationKnobs;
  if (eviction?.movesMax === undefined && defragment?.movesPerHour === undefined) return policy;
  return {
    ...policy,
    ...(eviction?.movesMax === undefined ? {} : { eviction: withKey(eviction, "movesMax", "migrationsMax") }),
    ...(defragment?.movesPerHour === undefined
      ? {}
      : { defragment: withKey(defragment, "movesPerHour", "migrationsPerHour") }),
  } as unknown as Policy;
}

const withKey = (section: object, former: string, key: string): object =>
  Object.fromEntries(Object.entries(section).map(([name, value]) => [name === former ? key : name, value as unknown]));

/**
 * Turns the rules of an imitated system into the policy's strategy; a policy that names a strategy stays unchanged.
 * Every former preset keeps its rules. If a policy combined rules of several systems, it gets the strategy to which its
 * victim search belongs.
 */
function withStrategy(policy: Policy): Policy {
  const { waivedInvariants: waived, ...former } = policy as Policy & Waiving;
  const recorded = former as unknown as FormerPolicy;
  if (former.strategy !== undefined || !(isFormer(recorded) || waived !== undefined)) return policy;
  const { teams, fabric, eviction } = recorded;
  const { share: _share, overGuarantee: _over, reservedTopology: _reserved, ...teamRules } = teams ?? {};
  const {
    search: _search,
    shareTests: _tests,
    nominations: _nominations,
    lazyPreemption: _lazy,
    ...evictionRules
  } = eviction ?? {};
  const choose = fabric?.balanced === true ? "balanced" : fabric?.choose;
  const { teams: _teams, fabric: _fabric, eviction: _eviction, ...rest } = former;
  const strategy = strategyOf(recorded);
  return {
    ...rest,
    ...(strategy === "headroom" ? {} : { strategy }),
    ...(teams === undefined ? {} : { teams: teamRules }),
    ...(choose === undefined || choose === "cells" ? {} : { fabric: choose }),
    ...(eviction === undefined ? {} : { eviction: evictionRules }),
  } as Policy;
}

const isFormer = ({ teams, fabric, eviction }: FormerPolicy): boolean =>
  teams?.share !== undefined || typeof fabric === "object" || eviction?.search !== undefined;

function strategyOf({ teams, fabric, eviction }: FormerPolicy): StrategyName {
  switch (eviction?.search) {
    case "kai":
    case "volcano":
    case "kueue-classical":
      return eviction.search;
    case "kueue-fair-sharing": {
      const [first = "final", second] = eviction.shareTests ?? [];
      if (first === "initial") return "kueue-fair-sharing-initial";
      return second === "initial" ? "kueue-fair-sharing" : "kueue-fair-sharing-final";
    }
    case "cells":
      return eviction.lazyPreemption === true ? "hived" : "hived-eager";
    default:
      if (fabric?.unconstrainedToFullest === true) return "kueue-topology";
      return teams?.share === "weights" ? "armada" : "headroom";
  }
}

/** The knobs of a policy before version 5 that have since become parts of other knobs, or constants. */
interface SplitKnobs {
  readonly placement: NodeOrder;
  readonly typicalDemand?: FragmentationFor["typicalDemand"];
  readonly backfill?: {
    readonly reserve: "none" | "head" | "all";
    readonly depth: number;
    readonly assumedWalltimeMs: number;
    readonly predictFrom?: number;
  };
  readonly eviction?: {
    readonly preemptibleBelowPriority: number | null;
    readonly unstatedPreemptible?: "never" | "aboveGuarantee";
    readonly movesMax?: number;
    readonly moveLossMsMax?: number;
    readonly checkpointTimeoutMs: number;
  };
  readonly elastic?: { readonly grow: "in-order" | "last" | "never"; readonly by?: "order" | "throughput" };
  readonly defragment?: DefragmentRules & { readonly restMs?: number };
}

/**
 * Converts each section to its present form. `depth` had no effect unless `reserve` was `all`. `by` had only one effect
 * on a policy that never grows gangs: it set the order of workers that a gang gives up. `moveLossMsMax` and `restMs`
 * became constants (`MOVE_LOSS_MS_MAX`, `MIGRATION_REST_MS`), so the constants replace the values of a recorded policy.
 */
function withMergedKnobs(policy: Policy): Policy {
  const split = policy as unknown as SplitKnobs;
  const { typicalDemand, placement, backfill, eviction, elastic, defragment } = split;
  const merged = {
    ...(typicalDemand === undefined ? {} : { placement: placementOf(placement, typicalDemand) }),
    ...(backfill !== undefined && "reserve" in backfill ? { backfill: backfillOf(backfill) } : {}),
    ...(eviction !== undefined && "preemptibleBelowPriority" in eviction ? { eviction: evictionOf(eviction) } : {}),
    ...(typeof elastic === "object" ? { elastic: growthOf(elastic) } : {}),
    ...(defragment?.restMs === undefined ? {} : { defragment: withoutRest(defragment) }),
  };
  if (Object.keys(merged).length === 0) return policy;
  const { typicalDemand: _demand, ...rest } = { ...split, ...merged };
  return rest as unknown as Policy;
}

const placementOf = (order: NodeOrder, typicalDemand: FragmentationFor["typicalDemand"]): Policy["placement"] =>
  order === "fragmentation" ? { order, typicalDemand } : order;

function backfillOf({ reserve, depth, ...rest }: NonNullable<SplitKnobs["backfill"]>): BackfillRules {
  return { protectedStarts: reserve === "none" ? 0 : reserve === "head" ? 1 : depth, ...rest };
}

function evictionOf(former: NonNullable<SplitKnobs["eviction"]>): EvictionRules {
  const {
    preemptibleBelowPriority: belowPriority,
    unstatedPreemptible: otherwise,
    moveLossMsMax: _loss,
    ...rest
  } = former;
  return { preemptible: { belowPriority, ...(otherwise === undefined ? {} : { otherwise }) }, ...rest };
}

const growthOf = ({ grow, by = "order" }: NonNullable<SplitKnobs["elastic"]>): Growth =>
  grow === "never" || by === "order" ? grow : `${grow}-by-throughput`;

function withoutRest({ restMs: _rest, ...rules }: NonNullable<SplitKnobs["defragment"]>): DefragmentRules {
  return rules;
}
