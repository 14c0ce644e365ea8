/** What a policy leaves out, filled in: the form in which the phases of a round read it. */
import type { ElasticRules, Phase, Policy } from "./policy.ts";

export type Rules = Required<Omit<Policy, Optional | "elastic">> &
  Pick<Policy, Optional> & { readonly elastic: Required<ElasticRules> };

/** Sections for which there is nothing that holds where they are left out. */
type Optional = "typicalDemand" | "defragment";

/** What holds where a policy says nothing: whatever fits is started, and nothing is taken from anybody. */
const plain: Omit<Rules, "defragment" | "name" | "order" | "whenHeadBlocked" | "placement" | "exceedsFleet"> = {
  phases: ["place"],
  teams: { order: [], share: "divide", nonPreemptible: "limit", overGuarantee: "idle", usageHalfLifeMs: null },
  backfill: { reserve: "none", depth: 1, assumedWalltimeMs: 24 * 3_600_000 },
  fabric: { choose: "fullest", unconstrainedToFullest: false, balanced: false },
  eviction: {
    search: "lowest-cost",
    shareTests: ["final", "initial"],
    preemptibleBelowPriority: null,
    nominations: "kept",
    lazyPreemption: false,
    checkpointTimeoutMs: 0,
  },
  elastic: { grow: "never", by: "order" },
  retryInPlaceMs: 0,
  waivedInvariants: [],
};

/** Whether the policy's scores want to know what has lately been asked for. */
export const learnsDemand = ({ placement, typicalDemand }: Rules): boolean =>
  placement === "balanced" || (placement === "fragmentation" && typicalDemand === undefined);

/** Whether it matters who is first among those that do not fit: it blocks the others, or its start is protected. */
export const heedsHead = ({ whenHeadBlocked, backfill }: Rules): boolean =>
  whenHeadBlocked === "stop" || backfill.reserve !== "none";

/** Whether any phase asks work to leave, or to move. */
export const mayEvict = ({ phases }: Rules): boolean => phases.some(requestsTermination);

const requestsTermination = (phase: Phase): boolean => phase !== "place" && phase !== "grow";

export const rulesOf = (policy: Policy): Rules => ({
  ...plain,
  ...policy,
  elastic: { ...plain.elastic, ...policy.elastic },
});
