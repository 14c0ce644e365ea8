/** The simulated effect of a proposal, for people, agents and the remedy service alike. */
import { effectOfMove } from "@headroom/engine";
import type { ProposalEffect, ProposedChange, RemediateChange } from "@headroom/model";
import { ProblemError } from "@headroom/protocol";
import { PROPOSAL_HORIZON_MS, effectOfDefragmentation, effectOfWhatIf, rejectionProblem } from "@headroom/views";
import type { Driver } from "../driver/driver.ts";
import type { ForecastService } from "../forecast/forecast-service.ts";

export interface EffectParts {
  readonly remediations: { drainsOf(change: RemediateChange): readonly ProposedChange[] };
  readonly driver: Pick<Driver, "read">;
  readonly forecast: Pick<ForecastService, "ask" | "whatIf">;
  nowMs(): number;
}

export async function effectOfProposal(
  { driver, forecast, remediations, nowMs }: EffectParts,
  id: string,
  { actor, gone }: { readonly actor: string; readonly gone: AbortSignal },
): Promise<ProposalEffect> {
  const change = await driver.read(({ state }) => state.proposals.get(id)?.change ?? null);
  if (change === null) throw new ProblemError(rejectionProblem({ code: "unknownProposal", id }));
  if (change.kind === "alias") return effectOfMove(nowMs());
  if (change.kind === "defragment") {
    const answer = await forecast.ask({ kind: "defragmentation" }, actor, gone);
    return effectOfDefragmentation(answer, change.migrationsMax, nowMs());
  }
  const none = { loseNodes: [], addNodes: [], teams: [], policy: null };
  const question = { kind: "whatIf", horizonMs: PROPOSAL_HORIZON_MS, arrivals: "recorded" } as const;
  const proposed = change.kind === "remediate" ? remediations.drainsOf(change) : [change];
  const answer = await forecast.whatIf(() => ({ ...question, change: { ...none, proposed } }), actor, gone);
  return effectOfWhatIf(answer, nowMs());
}
