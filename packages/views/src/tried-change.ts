/** Hypothetical changes in a request: refused if their declaration would be. */
import { nodeId, planApply } from "@headroom/engine";
import type { Engine } from "@headroom/engine";
import { ProblemError, refuse } from "@headroom/protocol";
import type { WhatIfQuestion } from "@headroom/protocol";
import type { ReplayChange, WhatIfChange } from "@headroom/sim";
import { chosenPolicy, presetsView } from "./policy-view.ts";
import { rejectionProblem } from "./rejection-view.ts";
import { engineDocuments } from "./wire-forms.ts";

export function triedChange(engine: Engine, { teams, policy }: Pick<WhatIfQuestion, "teams" | "policy">): ReplayChange {
  const chosen = policy === undefined ? null : chosenPolicy(policy);
  if (policy !== undefined && chosen === null) throw noPreset();
  const documents = engineDocuments({ sites: [], pools: [], teams, workloads: [] });
  const forecast = planApply(engine, documents);
  if (forecast.kind === "refused") throw new ProblemError(rejectionProblem(forecast.rejection));
  return { teams: documents.teams, policy: chosen };
}

export function whatIfChange(engine: Engine, question: WhatIfQuestion): WhatIfChange {
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
