/**
 * Selects the findings that become proposals next. Each group of kinds has a bound of its own on open proposals, so that advice, which
 * stays open until a person reads it, never takes the place of a proposal that takes a faulty node out of service.
 */
import type { ReadonlyState } from "@headroom/engine";
import type { Finding, WatchedAttempt } from "@headroom/health";
import { CONTROL_PLANE_ACTOR, canonicalJson, isProposalOpen } from "@headroom/model";
import type { Proposal, ProposalKind } from "@headroom/model";

export const FINDINGS_AGENT = "health";
/** New proposals in one look: each costs a simulation. */
const NEW_AT_ONCE = 4;

type Group = "repair" | "sizing" | "advice";
/** Order in which the groups are served. */
const GROUPS: readonly Group[] = ["repair", "sizing", "advice"];
/** Open proposals of the service at a time, by group. The findings behind them wait. The sum leaves places for triggers and remediations (`OPEN_PROPOSALS_OF_CONTROL_PLANE_MAX`). */
const OPEN_MAX: Readonly<Record<Group, number>> = { repair: 20, sizing: 8, advice: 8 };

function groupOf(kind: ProposalKind): Group {
  if (kind === "advice") return "advice";
  return kind === "spares" || kind === "request" || kind === "order" ? "sizing" : "repair";
}

export interface Due {
  /** Proposals of the service whose finding is over. */
  readonly over: readonly string[];
  readonly fresh: readonly Finding[];
  /** Proposals of the service without an effect. */
  readonly unsimulated: readonly string[];
}

export function dueOf(state: ReadonlyState, findings: readonly Finding[], attempts: readonly WatchedAttempt[]): Due {
  const open = [...state.proposals.values()].filter(
    ({ actor, agent, phase }) => actor === CONTROL_PLANE_ACTOR && agent === FINDINGS_AGENT && isProposalOpen({ phase }),
  );
  const present = new Map(findings.map((each) => [canonicalJson(each.change), each]));
  const isOver = (proposal: Proposal): boolean => {
    const { change, phase, steps } = proposal;
    const finding = present.get(canonicalJson(change));
    if (phase === "approved" || (finding !== undefined && !isOfOtherTeam(proposal, finding))) return false;
    if (change.kind !== "restart") return true;
    // The pace of an attempt is unknown after a restart, so only a report shows that it goes on.
    const reportAtMs = attempts.find(({ workloadId }) => workloadId === change.workloadId)?.progress?.atMs;
    return reportAtMs === undefined || reportAtMs > (steps[0]?.atMs ?? 0);
  };
  const over = new Set(open.filter(isOver).map(({ id }) => id));
  const unsimulated = inGroups(open.filter(({ phase, id }) => phase === "advised" && !over.has(id)));
  return {
    over: [...over],
    fresh: freshOf(state, findings, open),
    unsimulated: unsimulated.slice(0, NEW_AT_ONCE).map(({ id }) => id),
  };
}

function freshOf(state: ReadonlyState, findings: readonly Finding[], open: readonly Proposal[]): readonly Finding[] {
  const openOf = Map.groupBy(open, ({ change }) => groupOf(change.kind));
  const byGroup = Map.groupBy(findings, ({ change }) => groupOf(change.kind));
  const fresh: Finding[] = [];
  for (const group of GROUPS) {
    const room = Math.min(NEW_AT_ONCE - fresh.length, OPEN_MAX[group] - (openOf.get(group)?.length ?? 0));
    if (room <= 0) continue;
    fresh.push(...(byGroup.get(group) ?? []).filter((each) => proposalOf(state, each) === null).slice(0, room));
  }
  return fresh;
}

const inGroups = <Item extends Pick<Proposal, "change">>(items: readonly Item[]): readonly Item[] =>
  GROUPS.flatMap((group) => items.filter(({ change }) => groupOf(change.kind) === group));

/** Earlier releases made advice about a team's work for the readers of all teams. */
const isOfOtherTeam = ({ actor, change, team }: Proposal, finding: Finding): boolean =>
  change.kind === "advice" && actor === CONTROL_PLANE_ACTOR && team !== finding.team;

/** The newest proposal of the same change that is open, or was made since the finding: a rejected finding is not proposed again. */
export function proposalOf({ proposals }: ReadonlyState, finding: Finding): Proposal | null {
  const { change, sinceMs } = finding;
  const text = canonicalJson(change);
  let found: Proposal | null = null;
  for (const proposal of proposals.values()) {
    const createdAtMs = proposal.steps[0]?.atMs ?? 0;
    if (proposal.change.kind !== change.kind || (!isProposalOpen(proposal) && createdAtMs < sinceMs)) continue;
    if (canonicalJson(proposal.change) === text && !isOfOtherTeam(proposal, finding)) found = proposal;
  }
  return found;
}
