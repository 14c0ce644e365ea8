/** Hypothetical changes in a request. They are refused if their real declaration would be. */
import { isOutstanding, nodeId } from "@headroom/model";
import type { NodeSpec, ProposedChange } from "@headroom/model";
import type { Engine, ReadonlyState } from "@headroom/engine";
import { orderedNodes, planApply } from "@headroom/explain";
import { ProblemError, WHAT_IF_ADDED_NODES_MAX, refuse } from "@headroom/protocol";
import type { Pool, Site, WhatIfQuestion } from "@headroom/protocol";
import type { ReplayChange, WhatIfChange } from "@headroom/sim";
import { AcceleratorNames, teamsWithTypesOfFleet } from "./accelerator-names.ts";
import type { TypeCatalogue } from "./accelerator-names.ts";
import { addedFleet } from "./added-fleet.ts";
import type { AddedFleet } from "./added-fleet.ts";
import { withCataloguePower } from "./catalogue-power.ts";
import { nodesOfDomains } from "./failure-domains.ts";
import { chosenPolicy, presetsView } from "./policy-view.ts";
import { grouped } from "./plain-text.ts";
import { rejectionProblem } from "./rejection-view.ts";
import { cappedFleet } from "./tried-caps.ts";
import { engineDocuments } from "./wire-forms.ts";

interface TriedChange extends Pick<WhatIfQuestion, "teams" | "policy"> {
  readonly sites?: readonly Site[];
  readonly pools?: readonly Pool[];
}

/** In teams and pools, accelerator types can have any name in the catalogue. */
export function triedChange(
  engine: Engine,
  { sites = [], pools = [], teams: asked, policy }: TriedChange,
  catalogue: TypeCatalogue,
): ReplayChange {
  const teams = teamsWithTypesOfFleet(asked, new AcceleratorNames(engine.state, catalogue, pools));
  const chosen = policy === undefined ? null : chosenPolicy(policy);
  if (policy !== undefined && chosen === null) throw noPreset();
  const documents = engineDocuments({ sites: [...sites], pools: [...pools], teams, workloads: [] });
  const forecast = planApply(engine, documents);
  if (forecast.kind === "refused") throw new ProblemError(rejectionProblem(forecast.rejection));
  return { teams: documents.teams, policy: chosen };
}

export function whatIfChange(engine: Engine, question: WhatIfQuestion, catalogue: TypeCatalogue): WhatIfChange {
  const { addNodes, lose, loseNodes } = question;
  const names = new AcceleratorNames(engine.state, catalogue);
  const declared = addedFleet(engine.state, question);
  const capped = cappedFleet(engine.state, question.caps, catalogue);
  const sites = [...capped.sites, ...declared.sites];
  const named = declared.pools.map((pool) => names.pool(pool));
  const pools = [...capped.pools, ...withCataloguePower(engine.state, sites, named, catalogue)];
  const added = { sites, pools, nodes: declared.nodes };
  const change = triedChange(engine, { ...question, ...added }, catalogue);
  const missing = [...loseNodes, ...addNodes.map(({ like }) => like)].find((id) => !engine.state.nodes.has(nodeId(id)));
  if (missing !== undefined) throw refuse("unknownNode", `There is no node ${missing}.`);
  const nodes = [...added.nodes, ...nodesOfOrders(engine.state, question.orders)];
  const lost = [...new Set([...loseNodes, ...nodesOfDomains(engine.state, lose)])];
  const proposed = proposedChanges(engine.state, question.proposals);
  return {
    ...change,
    ...(proposed.length === 0 ? {} : { proposed }),
    loseNodes: lost,
    addNodes,
    ...(nodes.length + added.pools.length + added.sites.length === 0
      ? {}
      : { added: engineFleet({ ...added, nodes }) }),
  };
}

function proposedChanges({ proposals }: ReadonlyState, ids: readonly string[]): readonly ProposedChange[] {
  return [...new Set(ids)].map((id) => {
    const proposal = proposals.get(id);
    if (proposal === undefined) throw new ProblemError(rejectionProblem({ code: "unknownProposal", id }));
    return proposal.change;
  });
}

/** The outstanding nodes of these orders. An order that is over, or whose nodes have all joined, adds none. */
function nodesOfOrders(state: ReadonlyState, names: readonly string[]): readonly NodeSpec[] {
  const orders = [...new Set(names)].map((name) => {
    const order = state.capacityOrders.get(name);
    if (order === undefined)
      throw refuse("unknownCapacityOrder", `There is no capacity order ${name}. headroom order list shows all.`);
    return { order, count: isOutstanding(order) ? order.nodeCount - order.joinedCount : 0 };
  });
  const total = orders.reduce((sum, { count }) => sum + count, 0);
  if (total > WHAT_IF_ADDED_NODES_MAX) throw tooManyNodes(total);
  return orders.flatMap(({ order, count }) => orderedNodes(state, order, count));
}

const tooManyNodes = (count: number): ProblemError =>
  refuse(
    "invalidRequest",
    `The question adds ${grouped(count)} nodes, and the limit is ${grouped(WHAT_IF_ADDED_NODES_MAX)}. Ask about fewer orders.`,
  );

function engineFleet({ sites, pools, nodes }: AddedFleet): NonNullable<WhatIfChange["added"]> {
  const documents = engineDocuments({ sites: [...sites], pools: [...pools], teams: [], workloads: [] });
  return { sites: documents.sites, pools: documents.pools, nodes };
}

export function noPreset(): ProblemError {
  const names = presetsView().items.map(({ name }) => name);
  return refuse("unknownPreset", `There is no such preset. The presets are: ${names.join(", ")}.`);
}
