/** Remediation of drift: documents that operators wrote, the nodes that differ, and the waves that change them. */
import { z } from "zod";
import { instantMs } from "@headroom/spec";
import { remediationName } from "./proposal.ts";

const factDeviation = z
  .object({
    fact: z.string(),
    value: z.string().nullable().meta({ description: "null: the node does not state the fact." }),
    expected: z.string(),
  })
  .meta({ id: "FactDeviation" });

const driftingNode = z
  .object({
    nodeId: z.string(),
    deviations: z.array(factDeviation),
    problem: z
      .string()
      .nullable()
      .meta({ description: "Why the facts of the node could not be read; null: they were." }),
  })
  .meta({ id: "DriftingNode" });

const driftCheck = z
  .object({
    atMs: instantMs,
    nodeCount: z.int().min(0).meta({ description: "Nodes whose facts were read." }),
    nodes: z.array(driftingNode).meta({ description: "Nodes that differ, or that could not be read." }),
  })
  .meta({ id: "DriftCheck" });

const remediation = z
  .object({
    name: z.string(),
    digest: z.string().meta({ description: "Hash of the document and its playbook. A proposal is bound to it." }),
    pools: z.array(z.string()),
    desired: z.record(z.string(), z.string()),
    change: z.string().meta({ description: "The command or the playbook that changes a node." }),
    mode: z.enum(["drain", "live"]).meta({ description: "`drain`: nodes are empty while they are changed." }),
    canary: z.int().min(1),
    wave: z.string().meta({ description: "Nodes of each further wave, as a number or in percent." }),
    checkEveryMs: z.int().nullable().meta({ description: "null: facts are read only on request." }),
    lastCheck: driftCheck.nullable(),
  })
  .meta({ id: "Remediation", description: "A document of remediations.yaml in the state directory." });

export const remediationList = z
  .object({
    items: z.array(remediation),
    problem: z.string().nullable().meta({ description: "Why the file is not used as it is; null: it is valid." }),
  })
  .meta({ id: "RemediationList" });

export const remediationCheck = driftCheck;

const nodePhase = z
  .enum(["pending", "draining", "changing", "proving", "returned", "asDesired", "failed", "left"])
  .meta({
    id: "RemediatedNodePhase",
    description:
      "`pending`, `draining`, `changing` and `proving` follow each other. `returned`: proven and in service. `asDesired`: nothing to change. `failed`: out of service, with the reason. `left`: not changed, because the run ended.",
  });

const remediatedNode = z
  .object({
    nodeId: z.string(),
    wave: z.int().min(0).meta({ description: "0: the canary." }),
    phase: nodePhase,
    sinceMs: instantMs,
    detail: z.string(),
    drainProposal: z.string().nullable().meta({ description: "Proposal that drains the node; null: none yet." }),
    wasDrained: z.boolean().meta({ description: "Somebody else drained the node, so it stays drained." }),
    begunAtMs: instantMs.nullable().meta({ description: "Counts for the budget of change." }),
    before: z.number().nullable().meta({ description: "Performance before the change, more is better." }),
    after: z.number().nullable(),
  })
  .meta({ id: "RemediatedNode" });

export const remediationRun = z
  .object({
    id: z.string().meta({ description: "The proposal that it carries out." }),
    remediation: z.string(),
    digest: z.string(),
    phase: z.enum(["running", "stopping", "cancelling", "done", "stopped", "cancelled"]).meta({
      id: "RemediationRunPhase",
      description:
        "`stopping` and `cancelling`: nodes that were begun are brought to their end. `stopped`: a node failed, so no further node is changed.",
    }),
    reason: z.string(),
    waitsFor: z.string().meta({ description: "Why no node is changed now; empty: nothing is waited for." }),
    approvedBy: z.string().nullable().meta({ description: "null: the rule of its kind." }),
    startedAtMs: instantMs,
    endedAtMs: instantMs.nullable(),
    waveCount: z.int().min(1),
    nodes: z.array(remediatedNode),
  })
  .meta({ id: "RemediationRun", description: "Waves in which nodes are changed and proven." });

export const remediationRunList = z.object({ items: z.array(remediationRun) }).meta({ id: "RemediationRunList" });

/** Runs that are kept; the oldest are forgotten first. */
export const REMEDIATION_RUNS_KEPT = 50;
export const byRemediation = z.strictObject({ name: remediationName });

export type Remediation = z.output<typeof remediation>;
export type RemediationList = z.output<typeof remediationList>;
export type DriftCheck = z.output<typeof driftCheck>;
export type DriftingNode = z.output<typeof driftingNode>;
export type RemediatedNode = z.output<typeof remediatedNode>;
export type RemediationRun = z.output<typeof remediationRun>;
export type RemediationRunList = z.output<typeof remediationRunList>;
