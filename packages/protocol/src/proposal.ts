/** Proposals: changes that one user asks for and another decides, with their simulated effect. */
import { z } from "zod";
import { count, instantMs, integer, limits, names, opaqueId } from "@headroom/spec";
import { ARTIFACT_NUMBER_MAX } from "./artifact.ts";
import { nodeShape, orderArrival, orderPrice } from "./capacity-order.ts";
import { pageOf, pageQuery, queryBoolean } from "./page.ts";

const proposalKinds = [
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
export const proposalKind = z.enum(proposalKinds);

const proposalPhases = [
  "advised",
  "simulated",
  "approved",
  "acted",
  "scored",
  "rejected",
  "withdrawn",
  "expired",
  "failed",
] as const;

export const proposalPhase = z.enum(proposalPhases).meta({
  id: "ProposalPhase",
  description:
    "`advised`, `simulated`, `approved`, `acted` and `scored` follow each other. The other phases end a proposal whose change is not made.",
});

export const remediationName = z
  .string()
  .regex(/^[a-z0-9]([-.a-z0-9]{0,61}[a-z0-9])?$/, "must be lower-case letters, digits, dots and dashes");

/** Most nodes of one remediation. */
export const REMEDIATED_NODES_MAX = 2_000;

const amountChanges = z
  .record(names.acceleratorType, z.number().min(0).max(limits.AMOUNT_MAX).nullable())
  .refine((entries) => Object.keys(entries).length <= limits.AMOUNT_KINDS_MAX, {
    message: `must have at most ${limits.AMOUNT_KINDS_MAX} entries`,
  })
  .meta({
    id: "AmountChanges",
    description: "New amounts by resource, in the units of teams; null removes the entry. Others stay.",
  });

const quotaChange = {
  kind: z.literal("quota"),
  team: names.teamName,
  guarantee: amountChanges.optional(),
  limit: amountChanges.optional(),
  userLimit: amountChanges.optional(),
  weight: z.number().min(0).max(limits.WEIGHT_MAX).optional(),
};
const priorityChange = {
  kind: z.literal("priority"),
  workloadId: opaqueId,
  priority: integer(-limits.PRIORITY_MAX, limits.PRIORITY_MAX),
};
const drainChange = { kind: z.literal("drain"), nodeId: opaqueId };
const drainRunning = z.enum(["wait", "requeue"]);
const defragmentChange = { kind: z.literal("defragment"), migrationsMax: integer(1, 100) };
const resumeChange = { kind: z.literal("resume"), nodeId: opaqueId };
const restartChange = { kind: z.literal("restart"), workloadId: opaqueId };
const sparesChange = { kind: z.literal("spares"), pool: names.poolName, hotSpares: integer(0, limits.HOT_SPARES_MAX) };
const requestChange = {
  kind: z.literal("request"),
  workloadId: opaqueId,
  walltimeMs: integer(1_000, limits.DURATION_MS_MAX).optional(),
  workers: integer(1, limits.WORKERS_MAX).optional(),
  minWorkers: integer(1, limits.WORKERS_MAX).optional(),
};

const orderDraft = {
  kind: z.literal("order"),
  order: z
    .strictObject({
      name: names.orderName,
      pool: names.poolName,
      nodeCount: integer(1, limits.ORDER_NODES_MAX),
      arrival: orderArrival,
      price: orderPrice.optional(),
      shape: nodeShape.optional(),
    })
    .meta({ id: "ProposedOrder", description: "A capacity order, which is recorded as planned when it is approved." }),
};
const adviceChange = {
  kind: z.literal("advice"),
  about: names.reason.min(1).meta({ description: "Subject of the advice, such as a scaling trigger." }),
  text: names.reason.min(1).meta({ description: "The step that people take outside the control plane." }),
};
const remediateChange = {
  kind: z.literal("remediate"),
  remediation: remediationName.meta({ description: "Name of a document in remediations.yaml." }),
  nodeIds: z.array(opaqueId).min(1).max(REMEDIATED_NODES_MAX),
};

const aliasChange = {
  kind: z.literal("alias"),
  artifact: names.artifactRef.meta({ description: "Name of the artifact, with its team: `model:default/chat`." }),
  alias: names.artifactAlias,
  number: integer(1, ARTIFACT_NUMBER_MAX).nullable().meta({ description: "null: the alias is removed." }),
};

/** The change as the journal has it. */
export const recordedProposedChange = z
  .discriminatedUnion("kind", [
    z.object(quotaChange),
    z.object(priorityChange),
    z.object({ ...drainChange, running: drainRunning }),
    z.object(defragmentChange),
    z.object(resumeChange),
    z.object(restartChange),
    z.object(sparesChange),
    z.object(requestChange),
    z.object(orderDraft),
    z.object(adviceChange),
    z.object({ ...remediateChange, digest: z.string() }),
    z.object(aliasChange),
  ])
  .meta({ id: "ProposedChange" });

const proposedChange = z
  .discriminatedUnion("kind", [
    z.strictObject(quotaChange),
    z.strictObject(priorityChange),
    z.strictObject({ ...drainChange, running: drainRunning.default("wait") }),
    z.strictObject({ ...defragmentChange, migrationsMax: integer(1, 100).default(10) }),
    z.strictObject(resumeChange),
    z.strictObject(restartChange),
    z.strictObject(sparesChange),
    z.strictObject(requestChange),
    z.strictObject(orderDraft),
    z.strictObject(adviceChange),
    z.strictObject(remediateChange),
    z.strictObject(aliasChange),
  ])
  .meta({ id: "ProposedChangeRequest" });

const measureName = z
  .string()
  .min(1)
  .max(64)
  .regex(/^[\p{L}\p{N} ._/%-]+$/u, "must be plain words");

const ground = z
  .strictObject({
    measure: measureName,
    value: z.number().min(-1e9).max(1e9),
    unit: z
      .string()
      .max(16)
      .regex(/^[\p{L}\p{N} ./%-]*$/u, "must be a plain unit"),
  })
  .meta({ id: "ProposalGround", description: "A number that speaks for the change." });

const agentName = z
  .string()
  .min(1)
  .max(64)
  .regex(/^[A-Za-z0-9][A-Za-z0-9 ._/@-]*$/, "must be letters, digits, spaces and ._/@-");

export const proposalRequest = z
  .strictObject({
    change: proposedChange,
    reason: names.reason,
    ground: z.array(ground).max(20).default([]),
    agent: agentName.optional().meta({ description: "The program that proposes on the user's behalf." }),
  })
  .meta({ id: "ProposalRequest" });

export const decisionRequest = z
  .strictObject({ verdict: z.enum(["approve", "reject"]), reason: names.reason.optional() })
  .meta({ id: "DecisionRequest" });

export const withdrawalRequest = z.strictObject({ reason: names.reason.optional() }).meta({ id: "WithdrawalRequest" });

const simulatedStart = { workloadId: z.string(), presentAtMs: instantMs.nullable(), changedAtMs: instantMs.nullable() };
const teamEffect = { team: z.string(), earlierCount: count, laterCount: count, interruptedCount: count };

/** The effect as the journal has it. */
export const recordedEffect = z
  .object({
    atMs: instantMs,
    horizonMs: count,
    earlierCount: count,
    laterCount: count,
    interruptedCount: count,
    lostAcceleratorMs: z.number(),
    presentUsedMilli: count,
    changedUsedMilli: count,
    teams: z.array(z.object(teamEffect)),
    starts: z.array(z.object(simulatedStart)),
  })
  .meta({ id: "ProposalEffect", description: "The simulated difference that the change makes, for everybody." });

export const proposalScore = z
  .object({ atMs: instantMs, expectedCount: count, startedCount: count, meanErrorMs: count })
  .meta({ id: "ProposalScore", description: "Simulated starts beside the actual ones." });

/** The proposal as the journal has it. */
export const recordedProposal = z
  .object({
    id: z.string(),
    change: recordedProposedChange,
    team: z.string().nullable(),
    actor: z.string(),
    agent: z.string().optional(),
    reason: z.string(),
    ground: z.array(z.object({ measure: z.string(), valueMilli: z.number(), unit: z.string() })),
    expiresAtMs: instantMs,
    run: z.string().optional().meta({ description: "The run of a pipeline that proposes it. Absent: a user does." }),
  })
  .meta({ id: "RecordedProposal" });

export const groundMeasures = z.array(z.object({ measure: z.string(), value: z.number(), unit: z.string() }));

export const proposal = z
  .object({
    id: z.string(),
    phase: proposalPhase,
    change: recordedProposedChange,
    team: z.string().nullable().meta({ description: "null: the proposal is about the whole fleet." }),
    actor: z.string(),
    agent: z.string().optional(),
    reason: z.string(),
    ground: groundMeasures,
    expiresAtMs: instantMs,
    effect: recordedEffect.nullable().meta({ description: "null: not simulated yet." }),
    effectSentence: z.string().nullable(),
    actedAtMs: instantMs.nullable(),
    score: proposalScore.nullable(),
    steps: z
      .array(
        z.object({
          atMs: instantMs,
          phase: proposalPhase,
          actor: z.string().nullable().meta({ description: "null: Headroom." }),
          reason: z.string(),
        }),
      )
      .meta({ description: "The newest steps, oldest first; at most 12." }),
    sentence: z.string(),
  })
  .meta({ id: "Proposal" });

export const proposalPage = pageOf(proposal, "ProposalPage");
export const proposalQuery = pageQuery.extend({
  all: queryBoolean.optional().meta({ description: "Also proposals that are over, as far as they are kept." }),
});

const ruleFields = {
  mode: z.enum(["advise", "approve", "automatic"]).meta({
    description:
      "`advise`: nobody approves. `approve`: another user decides. `automatic`: approved once it is simulated, within the budget.",
  }),
  ownApproval: z.boolean().meta({ description: "Whether the user who proposes may also approve." }),
  expiresAfterMs: integer(60_000, limits.DURATION_MS_MAX),
  perHourMax: integer(0, 1_000).meta({ description: "The most changes of this kind within any hour." }),
  poolPercentPerHourMax: integer(0, 100).meta({
    description:
      "The most nodes of a pool, in percent, that are drained, or changed by remediations, within any hour; one node at least.",
  }),
};

export const recordedProposalRule = z.object({ kind: proposalKind, ...ruleFields }).meta({ id: "ProposalRule" });
export const proposalRuleRequest = z.strictObject(ruleFields).partial().meta({ id: "ProposalRuleRequest" });
export const proposalRules = z.object({ items: z.array(recordedProposalRule) }).meta({ id: "ProposalRules" });

export type Proposal = z.output<typeof proposal>;
export type ProposalPage = z.output<typeof proposalPage>;
export type ProposalPhase = z.output<typeof proposalPhase>;
export type ProposalKind = z.output<typeof proposalKind>;
export type ProposalRequest = z.output<typeof proposalRequest>;
export type ProposalRequestInput = z.input<typeof proposalRequest>;
export type ProposalDecisionInput = z.input<typeof decisionRequest>;
export type ProposalRule = z.output<typeof recordedProposalRule>;
export type ProposalRuleInput = z.input<typeof proposalRuleRequest>;
export type ProposalRuleList = z.output<typeof proposalRules>;
