/** A policy in words, generated from its settings: presets and user policies read alike, defaults included. */
import { rulesOf } from "@headroom/engine";
import type { Rules } from "@headroom/engine";
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
  starting: "what does not run with its least number of workers yet",
  running: "what runs already",
  user: "whose user holds less of the team",
  deadline: "deadline, earliest first",
};

const placementWords: Words<Rules["placement"]> = {
  pack: "on the fullest nodes that have room",
  spread: "on the emptiest nodes",
  random: "on any nodes that have room, drawn by lot",
  "best-fit": "where least of cores and accelerators is left over",
  fragmentation: "where least becomes useless for what is typically asked",
  balanced: "where what has lately been asked for loses least",
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
    backfill.reserve === "none" ? ", without a reservation for it" : ", but not at the cost of its start";
  const line = (knob: string, text: string): PolicyLine => ({ section: "Order", knob, text });
  return [
    line("Order", withEnd.join(", then ")),
    line(
      "When the first does not fit",
      whenHeadBlocked === "stop" ? "nothing behind it starts" : `whatever fits behind it starts${reservation}`,
    ),
    line("Placement", placementWords[placement]),
    line(
      "Retries",
      retryInPlaceMs === 0
        ? "a failed task gives its place up during its back-off"
        : `a failed task keeps its place during a back-off of up to ${durationText(retryInPlaceMs)}`,
    ),
    line("Larger than the fleet", exceedsFleet === "hold" ? "waits until the fleet has grown" : "is refused"),
  ];
}

const phaseWords: Words<Rules["phases"][number]> = {
  place: "start what fits",
  consolidate: "move work that may move to make room",
  reclaim: "take back for teams what others hold beyond theirs",
  preempt: "take from lower priority in the same team",
  rebalance: "give out anew what teams hold above their share",
  defragment: "gather what is idle by moving work",
  grow: "grow elastic gangs",
  "drop-incomplete": "end gangs below their least number of workers",
};

const teamOrderWords: Words<Rules["teams"]["order"][number]> = {
  "above-share-last": "those above their share last",
  "within-guarantee": "those that stay within their guarantee",
  priority: "priority",
  "without-entitlement-last": "those without a claim to what they ask for last",
  "share-with": "the smaller share with the request",
  share: "the smaller share",
  entitlement: "the smaller claim",
  "weighted-use": "the smaller use for its weight",
  "guarantee-ratio": "the smaller part of their guarantee",
  name: "name",
};

function teamLines({ teams }: Rules): PolicyLine[] {
  const line = (knob: string, text: string): PolicyLine => ({ section: "Teams", knob, text });
  const keys = teams.order.map((key) => teamOrderWords[key]);
  return [
    line("Take turns by", keys.length === 0 ? "nothing: teams play no part in the order" : keys.join(", then ")),
    line(
      "Fair share",
      teams.share === "divide" ? "the guarantee, then the rest by weight" : "by weight alone, among those that want",
    ),
    line(
      "Not preemptible",
      teams.nonPreemptible === "guarantee" ? "stays within the guarantee" : "may go as far as any other work",
    ),
    line(
      "Beyond the guarantee",
      teams.overGuarantee === "idle"
        ? "whatever is idle, up to the limit"
        : "only what other teams lend; a guarantee comes on top of those of the teams below",
    ),
    line(
      "Past use",
      teams.usageHalfLifeMs === null
        ? "does not count, only what is held now"
        : `counts, and halves every ${durationText(teams.usageHalfLifeMs)}`,
    ),
    line(
      "Shapes",
      teams.reservedTopology === undefined
        ? "play no part"
        : `hold work from priority ${teams.reservedTopology.fromPriority} on, which gets them back whenever it asks`,
    ),
  ];
}

function backfillLines({ backfill }: Rules): PolicyLine[] {
  const line = (knob: string, text: string): PolicyLine => ({ section: "Backfill", knob, text });
  if (backfill.reserve === "none") return [line("Protected starts", "none")];
  const protectedStarts =
    backfill.reserve === "head"
      ? "the first that does not fit"
      : `the first ${plural(backfill.depth, "workload")} that do not fit`;
  return [
    line("Protected starts", protectedStarts),
    line("Work without a walltime", `is taken to last ${durationText(backfill.assumedWalltimeMs)}`),
    line(
      "Durations",
      backfill.predictFrom === undefined
        ? "are as walltimes say"
        : `are predicted, by the last ${plural(backfill.predictFrom, "run")} of the kind, and never longer than walltimes say`,
    ),
  ];
}

const chooseWords: Words<Rules["fabric"]["choose"]> = {
  fullest: "of those that hold the gang the fullest",
  fewest: "as few as can be, then the tightest",
  cells: "the smallest cell, next to what the work holds already",
};

function fabricLines({ fabric }: Rules): PolicyLine[] {
  const line = (knob: string, text: string): PolicyLine => ({ section: "Fabric", knob, text });
  return [
    line("Domains", chooseWords[fabric.choose]),
    line(
      "Work without wishes",
      fabric.unconstrainedToFullest ? "goes where least is free" : "goes where the placement says",
    ),
    line("What no domain holds", fabric.balanced ? "is spread as evenly as can be" : "is filled domain after domain"),
  ];
}

const searchWords: Words<Rules["eviction"]["search"]> = {
  "lowest-cost": "those whose stop costs least",
  volcano: "as few as can be",
  kai: "a list that grows until the work fits",
  "kueue-fair-sharing": "by the shares of their teams",
  "kueue-classical": "by priority, and whether their team borrows more",
  cells: "those in the cells that belong to the team",
};

const evicting: ReadonlySet<Rules["phases"][number]> = new Set(["consolidate", "reclaim", "preempt", "rebalance"]);

function evictionLines({ phases, eviction }: Rules): PolicyLine[] {
  const line = (knob: string, text: string): PolicyLine => ({ section: "Eviction", knob, text });
  if (!phases.some((phase) => evicting.has(phase))) return [line("Victims", "none: nothing is taken from anybody")];
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
      ? [line("Tests of shares", shareTests.length === 0 ? "none" : shareTests.join(", then "))]
      : []),
    line("Preemptible unless work says so", below === null ? "all work" : `work below priority ${below}`),
    ...(unstatedPreemptible === "aboveGuarantee"
      ? [line("Other work", "is reclaimed only above its team's guarantee, by a team below its own")]
      : []),
    line(
      "A place that becomes free",
      nominations === "kept" ? "is kept for whom it was freed" : "is open to all again",
    ),
    line("Who gives up a place", lazyPreemption ? "runs on as a loan where something is idle" : "is stopped"),
    line(
      "Before a stop",
      checkpointTimeoutMs === 0
        ? "no checkpoint is asked for"
        : `a checkpoint is asked for and given ${durationText(checkpointTimeoutMs)}`,
    ),
  ];
}

function defragmentLines({ phases, defragment }: Rules): PolicyLine[] {
  const line = (knob: string, text: string): PolicyLine => ({ section: "Defragmentation", knob, text });
  if (defragment === undefined || !phases.includes("defragment"))
    return [line("Moves", "none: what is idle is gathered for those who wait alone")];
  const { movesPerHour, restMs, lossPerPairMs, during } = defragment;
  return [
    line(
      "Moves",
      `at most ${plural(movesPerHour, "move")} within an hour, each workload once in ${durationText(restMs)}`,
    ),
    line(
      "A move may cost",
      `${durationText(lossPerPairMs)} of an accelerator for each pair of idle ones that it brings together`,
    ),
    line("When", during === undefined ? "always" : `from set times on for ${durationText(during.lastsMs)}`),
  ];
}

function elasticLines({ elastic }: Rules): PolicyLine[] {
  const line = (knob: string, text: string): PolicyLine => ({ section: "Elastic gangs", knob, text });
  const grow = line("Grow", growWords[elastic.grow]);
  return elastic.grow === "never" ? [grow] : [grow, line("Whom a worker goes to", growByWords[elastic.by])];
}

const growByWords: Words<Rules["elastic"]["by"]> = {
  order: "one at a time, in the order of serving",
  throughput: "to whom it brings most, as far as curves are known",
};

const growWords: Words<Rules["elastic"]["grow"]> = {
  "in-order": "worker by worker, in the order of the queue",
  last: "when all else was served",
  never: "never",
};
