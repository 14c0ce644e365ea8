/** What is tried and not declared, from a request: refused where it would be if it were declared. */
import { nodeId, planApply } from "@headroom/engine";
import type { Engine, Policy, Team } from "@headroom/engine";
import { ProblemError, refuse } from "@headroom/protocol";
import type { WhatIfQuestion } from "@headroom/protocol";
import { chosenPolicy, presetsView } from "./policy-view.ts";
import { rejectionProblem } from "./rejection-view.ts";
import { engineDocuments } from "./wire-forms.ts";

export interface TriedChange {
  /** Teams as they would be defined. */
  readonly teams: readonly Team[];
  /** `null`: the one in force. */
  readonly policy: Policy | null;
}

export interface TriedNodes {
  readonly loseNodes: readonly string[];
  readonly addNodes: readonly { readonly like: string; readonly count: number }[];
}

export function triedChange(engine: Engine, { teams, policy }: Pick<WhatIfQuestion, "teams" | "policy">): TriedChange {
  const chosen = policy === undefined ? null : chosenPolicy(policy);
  if (policy !== undefined && chosen === null) throw noPreset();
  const documents = engineDocuments({ sites: [], pools: [], teams, workloads: [] });
  const forecast = planApply(engine, documents);
  if (forecast.kind === "refused") throw new ProblemError(rejectionProblem(forecast.rejection));
  return { teams: documents.teams, policy: chosen };
}

export function whatIfChange(engine: Engine, question: WhatIfQuestion): TriedChange & TriedNodes {
  const { loseNodes, addNodes } = question;
  const change = triedChange(engine, question);
  const missing = [...loseNodes, ...addNodes.map(({ like }) => like)].find((id) => !engine.state.nodes.has(nodeId(id)));
  if (missing !== undefined) throw refuse("unknownNode", `There is no node ${missing}.`);
  return { ...change, loseNodes, addNodes };
}

export function noPreset(): ProblemError {
  const names = presetsView().items.map(({ name }) => name);
  return refuse("unknownPreset", `There is no such preset. There are: ${names.join(", ")}.`);
}
