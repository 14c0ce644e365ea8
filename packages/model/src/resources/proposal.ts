/**
 * A proposal: a change that somebody asks for and somebody else decides. It is advised, simulated, approved or rejected,
 * acted on, and scored. A rule for each kind of change says who decides, and how many such changes an hour may be made.
 */
import type { CapacityOrderDraft } from "./capacity-order.ts";
import type { NodeId, PoolName, TeamName, WorkloadId } from "./ids.ts";
import type { PipelineRunId } from "./pipeline.ts";
import type { Amounts, Team } from "./team.ts";

export const PROPOSAL_KINDS = [
  "quota",
  "priority",
  "drain",
  "defragment",
  "resume",
  "restart",
  "spares",
  "request",
  "order",
  "advice",
  "remediate",
  "alias",
] as const;
export type ProposalKind = (typeof PROPOSAL_KINDS)[number];

/** New amounts by resource; `null`: the entry of the resource is removed. Other resources stay as they are. */
export type AmountChanges = Readonly<Record<string, number | null>>;

/** Changed amounts of a team. Absent fields stay as they are. */
export interface QuotaChange {
  readonly guarantee?: AmountChanges;
  readonly limit?: AmountChanges;
  readonly userLimit?: AmountChanges;
  readonly weight?: number;
}

export type ProposedChange =
  | ({ readonly kind: "quota"; readonly team: TeamName } & QuotaChange)
  | { readonly kind: "priority"; readonly workloadId: WorkloadId; readonly priority: number }
  /** The node takes no new work. `requeue`: its running work is stopped and queued again. */
  | { readonly kind: "drain"; readonly nodeId: NodeId; readonly running: "wait" | "requeue" }
  /** At most this number of migrations, each worth its loss under the rules of defragmentation. */
  | { readonly kind: "defragment"; readonly migrationsMax: number }
  /** A drained node takes work again, for example because it passed its tests. */
  | { readonly kind: "resume"; readonly nodeId: NodeId }
  /** Running attempts of the workload are stopped, after a checkpoint where they write one, and queued again. */
  | { readonly kind: "restart"; readonly workloadId: WorkloadId }
  /** Number of hot spares of a pool. */
  | { readonly kind: "spares"; readonly pool: PoolName; readonly hotSpares: number }
  | ({ readonly kind: "request"; readonly workloadId: WorkloadId } & RequestChange)
  /** A capacity order is recorded in phase `planned`. It buys nothing: a person places it with the supplier. */
  | { readonly kind: "order"; readonly order: CapacityOrderDraft }
  /** A step that people take outside the control plane. Approving it acknowledges it and changes nothing. */
  | { readonly kind: "advice"; readonly about: string; readonly text: string }
  | RemediateChange
  | AliasChange;

/**
 * A remediation document of the operator is carried out on the nodes, in waves outside the engine. `digest` is that of the
 * document, so that what is carried out is what was approved.
 */
export interface RemediateChange {
  readonly kind: "remediate";
  readonly remediation: string;
  readonly digest: string;
  readonly nodeIds: readonly NodeId[];
}

/** An alias of an artifact (`artifact`: its key) is pointed to a version. `null`: the alias is removed. */
export interface AliasChange {
  readonly kind: "alias";
  readonly artifact: string;
  readonly alias: string;
  readonly number: number | null;
}

/** Other amounts that a workload requests. Absent fields stay as they are. */
export interface RequestChange {
  readonly walltimeMs?: number;
  readonly workers?: number;
  readonly minWorkers?: number;
}

/** Kinds that came with version 2 of `proposalCreated`. A snapshot that has one has a newer format. */
const LATER_KINDS: ReadonlySet<ProposalKind> = new Set(["resume", "restart", "spares", "request"]);

/** The kind that came with version 4 of `proposalCreated`. */
export const isRemediationKind = (kind: ProposalKind): boolean => kind === "remediate";

/** The kind that came with version 5 of `proposalCreated`. */
export const isAliasKind = (kind: ProposalKind): boolean => kind === "alias";

export const isLaterProposalKind = (kind: ProposalKind): boolean => LATER_KINDS.has(kind);

/** Kinds that came with version 3 of `proposalCreated`. */
export const isPlanningProposalKind = (kind: ProposalKind): boolean => kind === "order" || kind === "advice";

/** A number that speaks for the change, such as a node's slowdown, in thousandths of its unit. */
export interface ProposalGround {
  readonly measure: string;
  readonly valueMilli: number;
  readonly unit: string;
}

export interface ProposalSpec {
  readonly id: string;
  readonly change: ProposedChange;
  /** The team that the change is about. `null`: the whole fleet. */
  readonly team: TeamName | null;
  /** The user who proposes. */
  readonly actor: string;
  /** The program that proposes on the user's behalf, as it names itself. Absent: none. */
  readonly agent?: string;
  readonly reason: string;
  readonly ground: readonly ProposalGround[];
  readonly expiresAtMs: number;
  /** The run of a pipeline whose step proposes the change. Absent: none. */
  readonly run?: PipelineRunId;
}

/** Start of waiting work with and without the change. `null`: not within the horizon. */
export interface SimulatedStart {
  readonly workloadId: WorkloadId;
  readonly presentAtMs: number | null;
  readonly changedAtMs: number | null;
}

export interface TeamEffect {
  readonly team: TeamName;
  readonly earlierCount: number;
  readonly laterCount: number;
  readonly interruptedCount: number;
}

/** The difference that a simulation of the change shows, for everybody. */
export interface ProposalEffect {
  readonly atMs: number;
  readonly horizonMs: number;
  readonly earlierCount: number;
  readonly laterCount: number;
  /** Running workloads that the change interrupts, and the work in accelerators times ms that is repeated. */
  readonly interruptedCount: number;
  readonly lostAcceleratorMs: number;
  /** Mean number of allocated accelerators over the horizon, in thousandths. */
  readonly presentUsedMilli: number;
  readonly changedUsedMilli: number;
  /** At most `EFFECT_TEAMS_MAX`, those with the most affected work first. */
  readonly teams: readonly TeamEffect[];
  /** At most `EFFECT_STARTS_MAX`, in the order of submission. */
  readonly starts: readonly SimulatedStart[];
}

/** The simulated starts beside the actual ones. */
export interface ProposalScore {
  readonly atMs: number;
  /** Number of `starts` that the simulation expected within the horizon, and how many of them took place. */
  readonly expectedCount: number;
  readonly startedCount: number;
  /** Mean difference of simulated and actual starts; 0 if none took place. */
  readonly meanErrorMs: number;
}

export type ProposalPhase =
  | "advised"
  | "simulated"
  | "approved"
  | "acted"
  | "scored"
  | "rejected"
  | "withdrawn"
  | "expired"
  /** The change was refused when it was to be made. */
  | "failed";

/** `actor` is `null` if the engine made the change of phase. */
export interface ProposalStep {
  readonly atMs: number;
  readonly phase: ProposalPhase;
  readonly actor: string | null;
  readonly reason: string;
}

export interface Proposal extends ProposalSpec {
  readonly phase: ProposalPhase;
  readonly effect: ProposalEffect | null;
  readonly actedAtMs: number | null;
  readonly score: ProposalScore | null;
  /** The newest steps, oldest first, at most `PROPOSAL_STEPS_KEPT`. */
  readonly steps: readonly ProposalStep[];
}

/**
 * `advise`: nobody approves such proposals; they are advice. `approve`: a person decides. `automatic`: a proposal is
 * approved when it has been simulated, within the budget of change.
 */
export type ProposalMode = "advise" | "approve" | "automatic";

export interface ProposalRule {
  readonly kind: ProposalKind;
  readonly mode: ProposalMode;
  /** Whether the user who proposes may also approve. */
  readonly ownApproval: boolean;
  readonly expiresAfterMs: number;
  /** Budget of change: the most proposals of this kind that are acted on within any hour. */
  readonly perHourMax: number;
  /** The most nodes of a pool that `drain` proposals take, or remediations change, within any hour, in percent; one node at least. */
  readonly poolPercentPerHourMax: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const rule = (kind: ProposalKind, expiresAfterMs: number, perHourMax: number): ProposalRule => ({
  kind,
  mode: "approve",
  ownApproval: false,
  expiresAfterMs,
  perHourMax,
  poolPercentPerHourMax: 10,
});

/** The rules of a control plane on which none was set. */
export const usualProposalRules: Readonly<Record<ProposalKind, ProposalRule>> = {
  quota: rule("quota", 7 * DAY_MS, 60),
  priority: rule("priority", 7 * DAY_MS, 60),
  drain: rule("drain", DAY_MS, 4),
  defragment: rule("defragment", DAY_MS, 1),
  resume: rule("resume", 7 * DAY_MS, 60),
  restart: rule("restart", 6 * HOUR_MS, 4),
  spares: rule("spares", 7 * DAY_MS, 4),
  request: rule("request", 7 * DAY_MS, 60),
  order: rule("order", 30 * DAY_MS, 4),
  advice: { ...rule("advice", 30 * DAY_MS, 60), mode: "advise" },
  remediate: rule("remediate", 7 * DAY_MS, 4),
  alias: rule("alias", 7 * DAY_MS, 60),
};

export const isProposalOpen = ({ phase }: Pick<Proposal, "phase">): boolean =>
  phase === "advised" || phase === "simulated" || phase === "approved";

/** Whether nothing happens to the proposal any more. */
export const isProposalOver = (proposal: Pick<Proposal, "phase">): boolean =>
  !isProposalOpen(proposal) && proposal.phase !== "acted";

/** The team with changed amounts. */
export function teamWithQuota(team: Team, { guarantee, limit, userLimit, weight }: QuotaChange): Team {
  return {
    ...team,
    limit: withAmounts(team.limit, limit),
    ...(guarantee === undefined ? {} : { guarantee: withAmounts(team.guarantee, guarantee) }),
    ...(userLimit === undefined ? {} : { userLimit: withAmounts(team.userLimit, userLimit) }),
    ...(weight === undefined ? {} : { weight }),
  };
}

function withAmounts(amounts: Amounts = {}, changes: AmountChanges = {}): Amounts {
  const changed = Object.entries({ ...amounts, ...changes });
  return Object.fromEntries(changed.filter((entry): entry is [string, number] => entry[1] !== null));
}

/** The actor of proposals that the control plane makes by itself. */
export const CONTROL_PLANE_ACTOR = "headroom";
/** Maximum number of proposals that wait for a simulation, a decision or the change itself: of one user, and of all users. */
export const OPEN_PROPOSALS_OF_USER_MAX = 50;
export const OPEN_PROPOSALS_OF_USERS_MAX = 200;
/** Those of the control plane have places of their own: it drains faulty nodes however much users propose. */
export const OPEN_PROPOSALS_OF_CONTROL_PLANE_MAX = 80;
export const OPEN_PROPOSALS_MAX: number = OPEN_PROPOSALS_OF_USERS_MAX + OPEN_PROPOSALS_OF_CONTROL_PLANE_MAX;
/** Proposals that are over, of which the newest are kept. Those of the last hour count for budgets and stay longer. */
export const ENDED_PROPOSALS_KEPT = 200;
export const PROPOSAL_STEPS_KEPT = 12;
export const EFFECT_TEAMS_MAX = 50;
export const EFFECT_STARTS_MAX = 50;
