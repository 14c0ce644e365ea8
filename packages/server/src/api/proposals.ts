/** Proposals: a user proposes, the server simulates, another user decides. */
import * as catalogue from "@headroom/perf/accelerator-types";
import { ProblemError } from "@headroom/protocol";
import type { Proposal } from "@headroom/protocol";
import { changedRule, engineChange, engineGround, proposalView, rejectionProblem } from "@headroom/views";
import type { Principal } from "../auth/authorize.ts";
import { readableTeams } from "../auth/team-tree.ts";
import { effectOfProposal } from "../remedies/proposal-effect.ts";
import { command } from "./calls.ts";
import type { Answer, Call, Gone } from "./calls.ts";
import type { ControlPlane } from "./control-plane.ts";

const noProposal = (id: string): ProblemError => new ProblemError(rejectionProblem({ code: "unknownProposal", id }));

async function shown({ driver }: ControlPlane, id: string, principal: Principal): Promise<Proposal> {
  const view = await driver.read((engine) => proposalView(engine, id, readableTeams(engine.state, principal)));
  if (view === null) throw noProposal(id);
  return view;
}

export const getProposal = (
  plane: ControlPlane,
  { params: { id }, principal }: Call<"getProposal">,
): Promise<Proposal> => shown(plane, id, principal);

/**
 * Records the proposal, then simulates it. If the simulation fails, or the caller leaves, the proposal stays advised: it
 * can be simulated later, and nobody approves it before.
 */
export async function createProposal(plane: ControlPlane, call: Call<"createProposal">, gone: Gone): Promise<Proposal> {
  const { change: asked, reason, ground, agent } = call.body;
  const change =
    asked.kind === "remediate"
      ? await plane.remediations.proposed(asked.remediation, asked.nodeIds)
      : await plane.driver.read((engine) => engineChange(engine, asked, catalogue));
  const wanted = { kind: "createProposal", change, reason, ground: engineGround(ground), agent } as const;
  const { id } = await command(plane, call, wanted, "proposalSet");
  const { phase } = await shown(plane, id, call.principal);
  if (phase === "advised") {
    try {
      await simulate(plane, id, call.actor, gone());
    } catch (error) {
      if (!(error instanceof ProblemError) && !gone().aborted) throw error;
    }
  }
  return shown(plane, id, call.principal);
}

export async function simulateProposal(
  plane: ControlPlane,
  call: Call<"simulateProposal">,
  gone: Gone,
): Promise<Proposal> {
  await simulate(plane, call.params.id, call.actor, gone());
  return shown(plane, call.params.id, call.principal);
}

async function simulate(plane: ControlPlane, id: string, actor: string, gone: AbortSignal): Promise<void> {
  const effect = await effectOfProposal(plane, id, { actor, gone });
  const wanted = { kind: "simulateProposal", id, effect } as const;
  await command(plane, { actor, idempotencyKey: null }, wanted, "proposalSet");
}

export async function decideProposal(plane: ControlPlane, call: Call<"decideProposal">): Promise<Proposal> {
  const { verdict, reason = "" } = call.body;
  const { id } = call.params;
  await command(plane, call, { kind: "decideProposal", id, verdict, reason }, "proposalSet");
  return shown(plane, id, call.principal);
}

export async function withdrawProposal(plane: ControlPlane, call: Call<"withdrawProposal">): Promise<Proposal> {
  const { id } = call.params;
  const { reason = "" } = call.body;
  await command(plane, call, { kind: "decideProposal", id, verdict: "withdraw", reason }, "proposalSet");
  return shown(plane, id, call.principal);
}

export async function setProposalRule(
  plane: ControlPlane,
  call: Call<"setProposalRule">,
): Promise<Answer<"setProposalRule">> {
  const rule = await plane.driver.read(({ state }) => changedRule(state, call.params.kind, call.body));
  await command(plane, call, { kind: "setProposalRule", rule }, "proposalRuleSet");
  return rule;
}
