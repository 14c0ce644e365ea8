/** Proposals as resources of the API, and its requests as changes of the engine. */
import type { Engine, ReadonlyState } from "@headroom/engine";
import { artifactKey, PROPOSAL_KINDS, isProposalOver, teamWithQuota, usualProposalRules } from "@headroom/model";
import type {
  AmountChanges,
  Proposal as EngineProposal,
  ProposalEffect,
  ProposalGround,
  ProposalKind,
  ProposalRule as EngineRule,
  ProposedChange,
  Team,
  TeamName,
} from "@headroom/model";
import { PAGE_ITEMS_DEFAULT, ProblemError } from "@headroom/protocol";
import type { Page, Proposal, ProposalRequest, ProposalRule, ProposalRuleInput } from "@headroom/protocol";
import { findArtifact } from "./artifact-view.ts";
import { AcceleratorNames, teamsWithTypesOfFleet } from "./accelerator-names.ts";
import type { TypeCatalogue } from "./accelerator-names.ts";
import { refusedCursor } from "./page-cursor.ts";
import { proposalEffectText, proposalSentence } from "./proposal-text.ts";
import { isReadable } from "./readable-teams.ts";
import type { ReadableTeams } from "./readable-teams.ts";
import { rejectionProblem } from "./rejection-view.ts";
import { teamSpecResource } from "./wire-forms.ts";

interface ProposalListQuery {
  readonly all?: boolean | undefined;
  readonly cursor?: string | null | undefined;
  readonly limit?: number | undefined;
}

/** Proposals in the order of creation; without `all`, those that wait for a decision, the change or the score. Those of teams that the reader may not see are left out. */
export function proposalList(
  { state }: Engine,
  { all, cursor, limit = PAGE_ITEMS_DEFAULT }: ProposalListQuery,
  readable: ReadableTeams = null,
): Page<Proposal> {
  const after = typeof cursor === "string" ? ordinalOf(cursor) : 0;
  if (after === null) throw refusedCursor(String(cursor));
  const chosen = [...state.proposals.values()].filter(
    (proposal) =>
      (ordinalOf(proposal.id) ?? 0) > after &&
      isVisible(proposal, readable) &&
      (all === true || !isProposalOver(proposal)),
  );
  const page = chosen.slice(0, limit);
  const items = page.map((proposal) => proposalResource(state, proposal, readable));
  return { items, nextCursor: chosen.length > page.length ? (page.at(-1)?.id ?? null) : null };
}

/**
 * The number in an id; `null`: it is no id of a proposal. Pages begin after a number, whether its proposal exists or not: a
 * cursor must not tell the reader which proposals of other teams exist, and a proposal may be forgotten between two pages.
 */
function ordinalOf(id: string): number | null {
  const digits = /^p([1-9][0-9]{0,14})$/.exec(id)?.[1];
  return digits === undefined ? null : Number(digits);
}

const isVisible = ({ team }: EngineProposal, readable: ReadableTeams): boolean =>
  team === null || isReadable(readable, team);

/** The proposal; `null`: it does not exist, or the reader may not see it. */
export function proposalView({ state }: Engine, id: string, readable: ReadableTeams = null): Proposal | null {
  const proposal = state.proposals.get(id);
  return proposal === undefined || !isVisible(proposal, readable) ? null : proposalResource(state, proposal, readable);
}

function proposalResource(state: ReadonlyState, proposal: EngineProposal, readable: ReadableTeams): Proposal {
  const { effect, ground, steps, score, change, agent } = proposal;
  const { id, phase, team, actor, reason, expiresAtMs, actedAtMs } = proposal;
  const nameOf = (workloadId: string): string => {
    const spec = state.workloads.get(workloadId as never)?.spec;
    return spec === undefined ? workloadId : `${spec.name} (${workloadId})`;
  };
  return {
    id,
    phase,
    change: plainChange(change),
    team,
    actor,
    ...(agent === undefined ? {} : { agent }),
    reason,
    ground: ground.map(({ measure, valueMilli, unit }) => ({ measure, value: valueMilli / 1000, unit })),
    expiresAtMs,
    effect: effect === null ? null : readableEffect(state, effect, readable),
    effectSentence: effect === null ? null : proposalEffectText(effect),
    actedAtMs,
    score: score === null ? null : { ...score },
    steps: steps.map((step) => ({ ...step })),
    sentence: proposalSentence(proposal, nameOf),
  };
}

const plainChange = (change: ProposedChange): Proposal["change"] =>
  JSON.parse(JSON.stringify(change)) as Proposal["change"];

/** The effect on teams and work that the reader may see. Its totals count everybody. */
export function readableEffect(
  { workloads }: Pick<ReadonlyState, "workloads">,
  { teams, starts, ...totals }: ProposalEffect,
  readable: ReadableTeams,
): {
  -readonly [Key in keyof ProposalEffect]: ProposalEffect[Key] extends readonly (infer Item)[]
    ? Item[]
    : ProposalEffect[Key];
} {
  const isOwn = (workloadId: ProposalEffect["starts"][number]["workloadId"]): boolean =>
    readable === null || isReadable(readable, workloads.get(workloadId)?.spec.team ?? "");
  return {
    ...totals,
    teams: teams.filter(({ team }) => isReadable(readable, team)).map((each) => ({ ...each })),
    starts: starts.filter(({ workloadId }) => isOwn(workloadId)).map((each) => ({ ...each })),
  };
}

/** Amounts can name accelerator types as the catalogue does. */
export function engineChange(
  { state }: Engine,
  change: ProposalRequest["change"],
  catalogue: TypeCatalogue,
): ProposedChange {
  if (change.kind === "alias")
    return { ...change, artifact: artifactKey(findArtifact(state, change.artifact, null).artifact) };
  if (change.kind !== "quota") return change as unknown as ProposedChange;
  const current = state.teams.get(change.team as TeamName);
  if (current === undefined) throw new ProblemError(rejectionProblem({ code: "unknownTeam", team: change.team }));
  const { kind: _kind, team: _team, ...amounts } = change;
  const names = new AcceleratorNames(state, catalogue);
  const wanted = teamWithQuota(current, amounts as Parameters<typeof teamWithQuota>[1]);
  const [named = teamSpecResource(wanted)] = teamsWithTypesOfFleet([teamSpecResource(wanted)], names);
  const fields = (["guarantee", "limit", "userLimit"] as const).flatMap((field) => {
    const differing = differenceOf(current[field], named[field]);
    return Object.keys(differing).length === 0 ? [] : [[field, differing] as const];
  });
  const weight = change.weight === undefined ? {} : { weight: change.weight };
  return { kind: "quota", team: current.name, ...Object.fromEntries(fields), ...weight };
}

function differenceOf(before: Team["limit"] = {}, after: Team["limit"] = {}): AmountChanges {
  const resources = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return Object.fromEntries(
    resources.filter((each) => before[each] !== after[each]).map((each) => [each, after[each] ?? null]),
  );
}

export const engineGround = (ground: ProposalRequest["ground"]): readonly ProposalGround[] =>
  ground.map(({ measure, value, unit }) => ({ measure, valueMilli: Math.round(value * 1000), unit }));

export const proposalRuleViews = (state: Pick<ReadonlyState, "proposalRules">): readonly ProposalRule[] =>
  PROPOSAL_KINDS.map((kind) => ({ ...ruleOf(state, kind) }));

const ruleOf = ({ proposalRules }: Pick<ReadonlyState, "proposalRules">, kind: ProposalKind): EngineRule =>
  proposalRules.get(kind) ?? usualProposalRules[kind];

/** The rule with the stated fields changed. */
export function changedRule(
  state: Pick<ReadonlyState, "proposalRules">,
  kind: ProposalKind,
  changes: ProposalRuleInput,
): EngineRule {
  const stated = Object.entries(changes).filter(([, value]) => value !== undefined);
  return { ...ruleOf(state, kind), ...Object.fromEntries(stated) };
}
