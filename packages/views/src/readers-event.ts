/** Events that are about a reader of some teams. */
import { nameOfId } from "@headroom/model";
import type { Event } from "@headroom/model";
import { readableEffect } from "./proposal-view.ts";
import { teamOfWork, type NamedState } from "./readable-teams.ts";

/** Kinds of events about the fleet, which every reader of events sees. */
const fleetKinds: ReadonlySet<string> = new Set<Event["kind"]>([
  "siteDefined",
  "executorRegistered",
  "poolDefined",
  "nodeJoined",
  "nodeChanged",
  "nodeRelabelled",
  "faultsReported",
  "nodeLost",
  "nodeReturned",
  "foreignUseChanged",
  "nodeQualificationRequired",
  "nodeQualificationStarted",
  "nodeQualificationEnded",
  "nodeDrainStarted",
  "nodeResumed",
  "nodeRemovalRequested",
  "nodeRemovalCancelled",
  "nodeRemoved",
  "poolRemovalRequested",
  "poolRemovalCancelled",
  "poolRemoved",
  "siteRemovalRequested",
  "siteRemovalCancelled",
  "siteRemoved",
  "hotSpareReserved",
  "hotSpareReleased",
  "policySet",
  "proposalRuleSet",
]);

/** The part of an event that is about the reader's work, team or the fleet; `null`: there is none. */
export const readersEvent = (state: NamedState, readable: ReadonlySet<string>, event: Event): Event | null =>
  isAboutReader(state, readable, event) ? readersPart(state, readable, event) : null;

/** Kinds that are not listed, and work that is not known any more, are closed to the reader. */
function isAboutReader(state: NamedState, readable: ReadonlySet<string>, event: Event): boolean {
  const isOwnWork = (id: string): boolean => readable.has(teamOfWork(state, id) ?? "");
  if (fleetKinds.has(event.kind)) return true;
  const isOfTeam = (team: string | null): boolean => team === null || readable.has(team);
  switch (event.kind) {
    case "teamDefined":
      return readable.has(event.team.name);
    case "teamRemoved":
    case "budgetCrossed":
    case "budgetRenewed":
      return readable.has(event.team);
    case "proposalCreated":
      return isOfTeam(event.proposal.team);
    case "proposalSimulated":
    case "proposalApproved":
    case "proposalRejected":
    case "proposalWithdrawn":
    case "proposalExpired":
    case "proposalActed":
    case "proposalFailed":
    case "proposalScored": {
      const proposal = state.proposals.get(event.id);
      return proposal !== undefined && isOfTeam(proposal.team);
    }
    case "artifactRegistered":
      return readable.has(event.artifact.team);
    case "artifactChanged":
      return readable.has(nameOfId(event.artifact)?.team ?? "");
    case "scheduleSet":
      return readable.has(event.schedule.spec.team);
    case "scheduleRan":
    case "scheduleRemoved":
      return readable.has(state.schedules.get(event.name)?.schedule.spec.team ?? "");
    case "pipelineSet":
      return readable.has(event.pipeline.team);
    case "pipelineRemoved":
    case "pipelineRunCreated":
    case "pipelineDue":
    case "pipelineNotTriggered":
      return readable.has(state.pipelines.get(event.name)?.pipeline.team ?? "");
    case "pipelineRunStarted":
    case "pipelineStepExpanded":
    case "pipelineStepStarted":
    case "pipelineApprovalRequested":
    case "pipelineStepDecided":
    case "pipelineStepEnded":
    case "pipelineRunCancelRequested":
    case "pipelineRunRetried":
    case "pipelineRunEnded":
      return readable.has(state.pipelineRuns.get(event.runId)?.pipeline.team ?? "");
    case "placementNominated":
      return isOwnWork(event.nomination.workloadId);
    case "evictionPlanned":
      return isOwnWork(event.workloadId) || event.victims.some(({ attemptId }) => isOwnWork(attemptId));
    case "progressEstimated":
    case "idleChanged":
      return true;
    default:
      if ("workloadId" in event) return isOwnWork(event.workloadId ?? "");
      return "attemptId" in event && isOwnWork(event.attemptId);
  }
}

/** Lists of several attempts keep those of the reader's work. */
function readersPart(state: NamedState, readable: ReadonlySet<string>, event: Event): Event | null {
  const isOwn = ([attempt]: readonly [string, ...unknown[]]): boolean => readable.has(teamOfWork(state, attempt) ?? "");
  if (event.kind === "progressEstimated") {
    const estimates = event.estimates.filter(isOwn);
    return estimates.length === 0 ? null : { ...event, estimates };
  }
  if (event.kind === "idleChanged") {
    const changes = event.changes.filter(isOwn);
    return changes.length === 0 ? null : { ...event, changes };
  }
  if (event.kind === "artifactRegistered") {
    const inputs = event.artifact.inputs.map((input) => {
      const team = nameOfId(input)?.team;
      return team === undefined || readable.has(team) ? input : "hidden";
    });
    return { ...event, artifact: { ...event.artifact, inputs } };
  }
  if (event.kind === "proposalSimulated") return { ...event, effect: readableEffect(state, event.effect, readable) };
  return event;
}
