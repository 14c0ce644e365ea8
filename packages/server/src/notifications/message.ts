/** Converts an event to a notification message. */
import type { Engine } from "@headroom/engine";
import { kindRules } from "@headroom/model";
import type { AttemptId, Event, NotifyOccasion, TeamName, Workload, WorkloadId } from "@headroom/model";
import type { IncidentFacts } from "@headroom/health";
import { endSentence, eventEnvelope, eventText, incidentView, plural, slowRunText, teamsHit } from "@headroom/views";
import type { OwnedRun } from "../measured-runs/measured-run-messages.ts";
import type { Runbook } from "../incidents/runbook-file.ts";
import type { NotificationKind, NotificationRule } from "./rules.ts";

export interface NotificationMessage {
  /**
   * Sequence of the event; for a slow run, the sequence of the newest event. A message that is sent twice keeps its
   * sequence.
   */
  readonly sequence: number;
  readonly atMs: number;
  readonly kinds: readonly NotificationKind[];
  readonly team: string;
  /** `null`: the message is about a team. */
  readonly workload: {
    readonly id: string;
    readonly name: string;
    readonly user: string;
    readonly phase: string;
  } | null;
  readonly sentence: string;
  /** Absent: the message is about no incident. */
  readonly incident?: {
    readonly id: string;
    readonly what: "opened" | "ended";
    readonly domain: string;
    readonly startedAtMs: number;
    readonly endedAtMs: number | null;
    readonly nodes: number;
    readonly workloads: number;
    /** Teams whose work it hit. */
    readonly teams: readonly string[];
    /** Instructions of the operator; absent: none. */
    readonly runbooks?: readonly Runbook[];
  };
}

/** `null`: notification rules do not cover this kind of event. */
export function messageOf({ state }: Engine, sequence: number, event: Event): NotificationMessage | null {
  const common = { sequence, atMs: event.atMs, sentence: eventText(eventEnvelope(sequence, event).event).sentence };
  if (event.kind === "budgetCrossed") return { ...common, kinds: ["budget"], team: event.team, workload: null };
  if (event.kind === "endpointBudgetCrossed") {
    const endpoint = state.workloads.get(event.workloadId);
    return endpoint === undefined ? null : { ...common, kinds: ["budget"], ...about(endpoint) };
  }
  if (event.kind === "workloadEnded") {
    const workload = state.workloads.get(event.workloadId);
    const kinds: readonly NotificationKind[] = event.phase === "failed" ? ["ended", "failed"] : ["ended"];
    if (workload === undefined) return null;
    return { ...common, sentence: endedSentence(state, workload, common.sentence), kinds, ...about(workload) };
  }
  if (!("attemptId" in event)) return null;
  const workload = state.workloads.get(workloadIdOf(state, event.attemptId));
  const kind = workload === undefined ? null : attemptKind(workload, event);
  if (workload === undefined || kind === null) return null;
  return { ...common, sentence: `${workload.spec.name}: ${common.sentence}`, kinds: [kind], ...about(workload) };
}

type OfAttempt = Extract<Event, { readonly attemptId: AttemptId }>;

/** The kind of message about an attempt's event; `null`: none. An array sends one message about its first start. */
function attemptKind(workload: Workload, event: OfAttempt): NotificationKind | null {
  switch (event.kind) {
    case "attemptStarted": {
      const isFirst = workload.firstStartedAtMs === event.atMs && event.attemptId.endsWith(".1");
      return isFirst && (!kindRules(workload.spec).hasTasks || /[./]0\.1$/.test(event.attemptId)) ? "started" : null;
    }
    case "attemptStopRequested":
      if (event.reason === "preempted" || event.reason === "reclaimed") return "preempted";
      if (event.reason === "nodeDrained") return "maintenance";
      return event.reason === "nodeLost" ? "nodeLost" : null;
    case "gangDegraded":
      return event.ahead === true ? "maintenance" : "nodeLost";
    case "attemptEnded": {
      // The stop for a lost node had its own message. A loss that the workload may have caused is none of a node.
      const ended = workload.endedAttempts.find(({ id }) => id === event.attemptId);
      return event.outcome === "lost" && event.losses === undefined && ended?.stopReason !== "nodeLost"
        ? "nodeLost"
        : null;
    }
    default:
      return null;
  }
}

/** Name and cause of the end. Work that runs again has no cause any more, so the sentence of the event stays. */
function endedSentence(state: Engine["state"], workload: Workload, otherwise: string): string {
  const { endReason, id, spec } = workload;
  if (endReason === null) return `${spec.name}: ${otherwise}`;
  return `Workload ${spec.name} (${id}) ended. ${endSentence(state, workload, endReason)}`;
}

interface IncidentMessageParts {
  readonly sequence: number;
  readonly atMs: number;
  /** Runbooks for any of some codes and causes. */
  readonly runbooksOf: (keys: readonly string[]) => readonly Runbook[];
}

const runbookSentence = ({ for: key, text, url }: Runbook): string =>
  `Runbook for ${key}: ${[text, url].filter((each) => each !== null).join(" ")}`;

/** Message about an incident as a whole: one when it opens and one when it ends, however many nodes it has. */
export function incidentMessage(
  facts: IncidentFacts,
  what: "opened" | "ended",
  { sequence, atMs, runbooksOf }: IncidentMessageParts,
): NotificationMessage {
  const { cause, codes, id, title, domain, startedAtMs, endedAtMs, nodes, work } = incidentView(facts, null);
  const hit = work.length === 0 ? "no work" : plural(work.length, "workload");
  const runbooks = what === "opened" ? runbooksOf([cause, ...codes]) : [];
  const opened = [`${title}. It hit ${hit}.`, ...runbooks.map(runbookSentence)].join(" ");
  const sentence = what === "opened" ? opened : `${title}: it has ended.`;
  const incident = {
    id,
    what,
    domain: `${domain.level} ${domain.path.join("/")}`,
    startedAtMs,
    endedAtMs,
    nodes: nodes.failed,
    workloads: work.length,
    teams: teamsHit(facts),
    ...(runbooks.length === 0 ? {} : { runbooks }),
  };
  return { sequence, atMs, kinds: ["incident"], team: "", workload: null, sentence, incident };
}

/** Message about a scaling trigger. No event stands for it, because no decision reads triggers. */
export const triggerMessage = (sentence: string, sequence: number, atMs: number): NotificationMessage => ({
  sequence,
  atMs,
  kinds: ["trigger"],
  team: "",
  workload: null,
  sentence,
});

/** Message about a slow run. No event stands for it, because telemetry is not in the journal. */
export function slowRunMessage(run: OwnedRun, sequence: number, atMs: number): NotificationMessage {
  const { workloadId: id, workload: name, team, owner: user } = run;
  const sentence = `${name}: ${slowRunText(run) ?? ""}`;
  return { sequence, atMs, kinds: ["slow"], team, workload: { id, name, user, phase: "running" }, sentence };
}

/**
 * The workload of an attempt. If the attempt has ended meanwhile, its id gives the workload's id: the part before the
 * first separator.
 */
function workloadIdOf(
  state: Engine["state"],
  attemptId: Parameters<Engine["state"]["attempts"]["get"]>[0],
): WorkloadId {
  const active = state.attempts.get(attemptId);
  return active?.workloadId ?? (attemptId.split(/[./]/, 1)[0] as WorkloadId);
}

function about({ id, spec, phase, actor }: Workload): Pick<NotificationMessage, "team" | "workload"> {
  return { team: spec.team, workload: { id, name: spec.name, user: actor, phase } };
}

const kindOfOccasion: Readonly<Record<NotifyOccasion, NotificationKind>> = {
  start: "started",
  end: "ended",
  nodeLoss: "nodeLost",
  maintenance: "maintenance",
};

/** Whether the workload of the message asks for it on this channel. */
function isRequested(channel: string, { workload, kinds }: NotificationMessage, state: Engine["state"]): boolean {
  const notify = workload === null ? undefined : state.workloads.get(workload.id as WorkloadId)?.spec.notify;
  if (notify === undefined || !notify.to.includes(channel)) return false;
  return notify.on.some((occasion) => kinds.includes(kindOfOccasion[occasion]));
}

/** Whether the notification rule selects the message. */
export function isWanted(
  { on, team, user, ofChannel }: NotificationRule,
  message: NotificationMessage,
  { state }: Engine,
): boolean {
  if (ofChannel !== undefined) return isRequested(ofChannel, message, state);
  if (!on.some((kind) => message.kinds.includes(kind))) return false;
  if (user !== undefined && message.workload?.user !== user) return false;
  if (team === undefined) return true;
  const teams = message.incident === undefined ? [message.team] : message.incident.teams;
  return teams.some((each) => isWithin(state, each, team));
}

/** The message as the rule may have it: a rule of a team names no other teams. */
export function messageFor(
  { team }: NotificationRule,
  message: NotificationMessage,
  { state }: Engine,
): NotificationMessage {
  const { incident } = message;
  if (incident === undefined || team === undefined) return message;
  return { ...message, incident: { ...incident, teams: incident.teams.filter((each) => isWithin(state, each, team)) } };
}

function isWithin(state: Engine["state"], name: string, team: string): boolean {
  const seen = new Set<string>();
  for (let at: string | null = name; at !== null && !seen.has(at);) {
    if (at === team) return true;
    seen.add(at);
    at = state.teams.get(at as TeamName)?.parent ?? null;
  }
  return false;
}
