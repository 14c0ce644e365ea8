/**
 * A policy in words, generated from its settings. Presets and user policies get the same words; defaults are included.
 */
import { MIGRATION_REST_MS, rulesOf } from "@headroom/model";
import type { Rules } from "@headroom/model";
import type { Policy } from "@headroom/protocol";
import { durationText, plural } from "./plain-text.ts";
import { enginePolicy } from "./wire-forms.ts";

export interface PolicyLine {
  readonly section:
    | "Order"
    | "Round"
    | "Teams"
    | "Backfill"
    | "Fabric"
    | "Eviction"
    | "Defragmentation"
    | "Elastic gangs";
  readonly knob: string;
  readonly text: string;
}

export function policyLines(policy: Policy): readonly PolicyLine[] {
  const rules = rulesOf(enginePolicy(policy));
  return [
    ...orderLines(rules),
    { section: "Round", knob: "Does", text: rules.phases.map((phase) => phaseWords[phase]).join(", then ") },
    ...teamLines(rules),
    ...backfillLines(rules),
    ...fabricLines(rules),
    ...evictionLines(rules),
    ...defragmentLines(rules),
    ...elasticLines(rules),
  ];
}

type Words<Value extends string> = Readonly<Record<Value, string>>;

const orderWords: Words<Rules["order"][number]> = {
  submitted: "order of submission",
  priority: "priority",
  walltime: "walltime, shortest first",
  starting: "gangs below their minimum number of workers",
  running: "running work",
  user: "users with the smaller share of the team",
  deadline: "deadline, earliest first",
};

const placementWords: Words<Rules["placement"]> = {
  pack: "bin-packing: the fullest nodes that fit",
  spread: "spread: the emptiest nodes",
  random: "random nodes that fit",
  "best-fit": "best fit of cores and accelerators",
  fragmentation: "minimise fragmentation for typical demand",
  balanced: "minimise fragmentation for recent demand",
};

function orderLines({
  order,
  whenHeadBlocked,
  placement,
  exceedsFleet,
  backfill,
  retryInPlaceMs,
}: Rules): PolicyLine[] {
  const keys = order.map((key) => orderWords[key]);
  const withEnd = order.at(-1) === "submitted" ? keys : [...keys, orderWords.submitted];
  const reservation =
    backfill.protectedStarts === 0 ? ", without protecting its start" : ", but without delaying its start";
  const line = (knob: string, text: string): PolicyLine => ({ section: "Order", knob, text });
  return [
    line("Order", withEnd.join(", then ")),
    line(
      "When the head of the queue does not fit",
      whenHeadBlocked === "stop" ? "no request behind it starts" : `requests behind it start${reservation}`,
    ),
    line("Placement", placementWords[placement]),
    line(
      "Retries",
      retryInPlaceMs === 0
        ? "a failed task gives up its place during its back-off"
        : `a failed task keeps its place during a back-off of up to ${durationText(retryInPlaceMs)}`,
    ),
    line("Larger than the fleet", exceedsFleet === "hold" ? "waits until the fleet grows" : "is refused"),
  ];
}

const phaseWords: Words<Rules["phases"][number]> = {
  place: "start requests that fit",
  consolidate: "consolidate: migrate work to free capacity",
  reclaim: "reclaim: stop work of teams above their entitlement for teams below",
  preempt: "preempt: stop work of lower priority in the same team",
  rebalance: "rebalance: evict work above the teams' shares, then start work in fair order",
  defragment: "defragment: gather idle accelerators by migration",
  grow: "grow elastic gangs",
  "drop-incomplete": "end gangs below their minimum number of workers",
};

const teamOrderWords: Words<Rules["teams"]["order"][number]> = {
  "above-share-last": "teams above their share last",
  "within-guarantee": "teams within their guarantee",
  priority: "priority",
  "without-entitlement-last": "teams without an entitlement to the request come last",
  "share-with": "the smaller share, the request included",
  share: "the smaller share",
  entitlement: "the smaller entitlement",
  "weighted-use": "the smaller usage for its weight",
  "guarantee-ratio": "the smaller part of its guarantee",
  name: "name",
};

const nonPreemptibleWords: Readonly<Record<Rules["teams"]["nonPreemptible"], string>> = {
  guarantee: "stays within the guarantee",
  unguaranteed: "above the guarantee, it uses idle capacity that other teams' unused guarantees do not need",
  limit: "is treated like other work",
};

function teamLines({ teams }: Rules): PolicyLine[] {
  const line = (knob: string, text: string): PolicyLine => ({ section: "Teams", knob, text });
  const keys = teams.order.map((key) => teamOrderWords[key]);
  return [
    line("Order of teams", keys.length === 0 ? "none: teams do not affect the order" : keys.join(", then ")),
    line(
      "Fair share",
      teams.share === "divide" ? "the guarantee, and the rest by weight" : "by weight alone, among teams with demand",
    ),
    line("Not preemptible", nonPreemptibleWords[teams.nonPreemptible]),
    line(
      "Beyond the guarantee",
      teams.overGuarantee === "idle"
        ? "idle capacity, up to the limit"
        : "only capacity that other teams lend; guarantees of the teams below are added",
    ),
    line(
      "Past use",
      teams.usageHalfLifeMs === null
        ? "does not count, only current usage"
        : `counts, with a half-life of ${durationText(teams.usageHalfLifeMs)}`,
    ),
    line(
      "Shapes",
      teams.reservedTopology === undefined
        ? "not used"
        : `serves work from priority ${teams.reservedTopology.fromPriority} on, which can always reclaim it`,
    ),
  ];
}

function backfillLines({ backfill }: Rules): PolicyLine[] {
  const line = (knob: string, text: string): PolicyLine => ({ section: "Backfill", knob, text });
  const { protectedStarts: count } = backfill;
  if (count === 0) return [line("Protected starts", "none")];
  const protectedStarts = count === 1 ? "the head of the queue" : `the first ${plural(count, "blocked request")}`;
  return [
    line("Protected starts", protectedStarts),
    line("Work without a walltime", `is assumed to run for ${durationText(backfill.assumedWalltimeMs)}`),
    line(
      "Durations",
      backfill.predictFrom === undefined
        ? "are the walltimes"
        : `are predicted from the last ${plural(backfill.predictFrom, "run")} of the same kind, but not above the walltime`,
    ),
  ];
}

const chooseWords: Words<Rules["fabric"]["choose"] | NonNullable<Rules["fabric"]["placedBy"]>> = {
  fullest: "the fullest domain that fits",
  fewest: "the fewest domains, then the tightest",
  cells: "the smallest cell, next to the gang's own",
};

function fabricLines({ fabric }: Rules): PolicyLine[] {
  const line = (knob: string, text: string): PolicyLine => ({ section: "Fabric", knob, text });
  return [
    line("Domains", chooseWords[fabric.placedBy ?? fabric.choose]),
    line(
      "Unconstrained work",
      fabric.unconstrainedToFullest ? "goes to the fullest domain" : "follows the node placement",
    ),
    line(
      "Gangs that fit no single domain",
      fabric.balanced ? "are split as evenly as possible" : "fill one domain after the other",
    ),
  ];
}

const searchWords: Words<Rules["eviction"]["search"]> = {
  "lowest-cost": "lowest cost of lost work",
  volcano: "Volcano: as few victims as possible",
  kai: "KAI: a growing list until the request fits",
  "kueue-fair-sharing": "Kueue fair sharing: by the shares of their teams",
  "kueue-classical": "Kueue classical: by priority, borrowing teams first",
  cells: "HiveD: work in the team's own cells",
};

const evicting: ReadonlySet<Rules["phases"][number]> = new Set(["consolidate", "reclaim", "preempt", "rebalance"]);

function evictionLines({ phases, eviction }: Rules): PolicyLine[] {
  const line = (knob: string, text: string): PolicyLine => ({ section: "Eviction", knob, text });
  if (!phases.some((phase) => evicting.has(phase))) return [line("Victims", "none: no work is evicted")];
  const {
    search,
    shareTests,
    preemptibleBelowPriority: below,
    unstatedPreemptible,
    nominations,
    lazyPreemption,
    checkpointTimeoutMs,
  } = eviction;
  return [
    line("Victims", searchWords[search]),
    ...(search === "kueue-fair-sharing"
      ? [line("Share tests", shareTests.length === 0 ? "none" : shareTests.join(", then "))]
      : []),
    line("Preemptible by default", below === null ? "all work" : `work below priority ${below}`),
    ...(unstatedPreemptible === "aboveGuarantee"
      ? [line("Other work", "can be reclaimed only above its team's guarantee, by a team below its own guarantee")]
      : []),
    line("Freed capacity", nominations === "kept" ? "is nominated for its preemptor" : "is open to all requests again"),
    line(
      "Owners of reclaimed cells",
      lazyPreemption ? "continue as opportunistic jobs on idle capacity" : "are stopped",
    ),
    line(
      "Before a stop",
      checkpointTimeoutMs === 0
        ? "no checkpoint is requested"
        : `a checkpoint is requested, with ${durationText(checkpointTimeoutMs)} to write it`,
    ),
  ];
}

function defragmentLines({ phases, defragment }: Rules): PolicyLine[] {
  const line = (knob: string, text: string): PolicyLine => ({ section: "Defragmentation", knob, text });
  if (defragment === undefined || !phases.includes("defragment"))
    return [line("Migrations", "none: capacity is gathered for waiting requests only")];
  const { migrationsPerHour, lossPerPairMs, during } = defragment;
  return [
    line(
      "Migrations",
      `at most ${plural(migrationsPerHour, "migration")} per hour, and each workload once in ${durationText(MIGRATION_REST_MS)}`,
    ),
    line(
      "Cost limit of a move",
      `${durationText(lossPerPairMs)} of accelerator time for each pair of idle accelerators gathered`,
    ),
    line("When", during === undefined ? "always" : `for ${durationText(during.lastsMs)} from each scheduled time on`),
  ];
}

function elasticLines({ elastic }: Rules): PolicyLine[] {
  const line = (knob: string, text: string): PolicyLine => ({ section: "Elastic gangs", knob, text });
  const grow = line("Grow", growWords[elastic.grow]);
  return elastic.grow === "never" ? [grow] : [grow, line("An additional worker goes to", growByWords[elastic.by])];
}

const growByWords: Words<Rules["elastic"]["by"]> = {
  order: "the next gang in queue order",
  throughput: "the gang with the highest gain, if throughput curves are known",
};

const growWords: Words<Rules["elastic"]["grow"]> = {
  "in-order": "one worker at a time, in queue order",
  last: "after all other requests",
  never: "never",
};
