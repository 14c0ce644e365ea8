/** Findings about the fleet, each with the change that answers it and the proposal that was made of it. */
import { z } from "zod";
import { instantMs } from "@headroom/spec";
import { runbooks } from "./incident.ts";
import { groundMeasures, proposalPhase, recordedProposedChange } from "./proposal.ts";

export const findingKind = z
  .enum([
    "fault",
    "repeatedLoss",
    "lemon",
    "stall",
    "spares",
    "walltime",
    "drift",
    "straggler",
    "deviation",
    "checkpoint",
    "power",
    "request",
  ])
  .meta({
    id: "FindingKind",
    description:
      "`fault`: critical faults of a node. `repeatedLoss`: a node that was lost again and again. `lemon`: a node whose faults and losses add up. `stall`: work without progress. `spares`: too few hot spares. `walltime`: far more time requested than similar work took. `drift`: nodes whose facts differ from a remediation document. `straggler`: ranks on one node slower than the others of their gang, or one part of their steps. `deviation`: readings of a node worse than those of its comparable set for over an hour. `checkpoint`: an interval between checkpoints that does not suit the failures of the nodes. `power`: a domain draws more than its cap. `request`: far more memory, cores or accelerators requested than earlier runs used.",
  });

const finding = z
  .object({
    id: z.string(),
    kind: findingKind,
    sinceMs: instantMs,
    sentence: z.string(),
    team: z.string().nullable().meta({ description: "null: the finding is about the fleet." }),
    change: recordedProposedChange,
    remedy: z.string().meta({ description: "The change in words." }),
    ground: groundMeasures,
    runbooks,
    proposal: z.object({ id: z.string(), phase: proposalPhase }).nullable().meta({
      description:
        "null: no proposal yet; at most 20 repairs, 8 changes of sizes and 8 pieces of advice are open at a time.",
    }),
  })
  .meta({ id: "Finding" });

export const findingList = z.object({ items: z.array(finding) }).meta({
  id: "FindingList",
  description: "At most 1,000 findings.",
});

export type Finding = z.output<typeof finding>;
export type FindingList = z.output<typeof findingList>;
