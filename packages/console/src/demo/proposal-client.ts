/** Proposals in the demo: the same views and commands as in the server; the simulation runs in the demo's worker. */
import { effectOfMove } from "@headroom/engine";
import * as catalogue from "@headroom/perf/accelerator-types";
import type { ProposalEffect } from "@headroom/model";
import { ProblemError, decisionRequest, proposalRequest, proposalRuleRequest } from "@headroom/protocol";
import type { HeadroomClient, Proposal } from "@headroom/protocol";
import * as views from "@headroom/views";
import { accepted } from "../workers/accepted.ts";
import { answerWhatIf } from "../workers/answer-what-if.ts";
import type { DemoWorld } from "./demo-world.ts";

type ProposalReading = Pick<HeadroomClient, "listProposals" | "getProposal" | "proposalRules">;
type ProposalCommands = Pick<
  HeadroomClient,
  "createProposal" | "simulateProposal" | "decideProposal" | "withdrawProposal" | "setProposalRule"
>;
type World = Pick<DemoWorld, "engine" | "nowMs">;

export const proposalReading = ({ engine }: World): ProposalReading => ({
  listProposals: async (query = {}) => {
    const { items, nextCursor } = views.proposalList(engine, query);
    return { items: [...items], nextCursor };
  },
  getProposal: async (id) => shown(engine, id),
  proposalRules: async () => ({ items: [...views.proposalRuleViews(engine.state)] }),
});

function shown(engine: World["engine"], id: string): Proposal {
  const view = views.proposalView(engine, id);
  if (view === null) throw new ProblemError(views.rejectionProblem({ code: "unknownProposal", id }));
  return view;
}

export function proposalCommands(world: World, run: DemoWorld["command"]): ProposalCommands {
  const { engine } = world;
  const simulate = (id: string): Proposal => {
    run({ kind: "simulateProposal", id, effect: effectOf(world, shown(engine, id)) });
    return shown(engine, id);
  };
  const decide = (id: string, verdict: "approve" | "reject" | "withdraw", reason = ""): Proposal => {
    run({ kind: "decideProposal", id, verdict, reason });
    return shown(engine, id);
  };
  return {
    createProposal: async (body) => {
      const { change, reason, ground, agent } = accepted(proposalRequest.safeParse(body));
      const result = run({
        kind: "createProposal",
        change: views.engineChange(engine, change, catalogue),
        reason,
        ground: views.engineGround(ground),
        agent,
      });
      return simulate("id" in result ? result.id : "");
    },
    simulateProposal: async (id) => simulate(id),
    decideProposal: async (id, body) => {
      const { verdict, reason } = accepted(decisionRequest.safeParse(body));
      return decide(id, verdict, reason);
    },
    withdrawProposal: async (id, { reason }) => decide(id, "withdraw", reason),
    setProposalRule: async (kind, body) => {
      const rule = views.changedRule(engine.state, kind, accepted(proposalRuleRequest.safeParse(body)));
      run({ kind: "setProposalRule", rule });
      return rule;
    },
  };
}

function effectOf({ engine, nowMs }: World, { id, change }: Proposal): ProposalEffect {
  if (change.kind === "alias") return effectOfMove(nowMs);
  if (change.kind === "defragment")
    return views.effectOfDefragmentation(views.defragmentationView(engine), change.migrationsMax, nowMs);
  const present = { engine, sequence: engine.state.sequence, nowMs };
  const answer = answerWhatIf(present, { proposals: [id], horizonMs: views.PROPOSAL_HORIZON_MS });
  return views.effectOfWhatIf(answer, nowMs);
}
