/**
 * The part that a reader of some teams sees: their work, their events, and no names of other teams' work in answers about their own.
 * Names of teams above the reader's are part of the reader's own paths, and stay.
 */
import { DEFAULT_TEAM } from "@headroom/engine";
import type { ReadonlyState } from "@headroom/engine";
import type { AttemptId, Event, NodeId, TeamName, WorkloadId } from "@headroom/model";
import type { CapacityHistory } from "@headroom/protocol";
import { isApiWord } from "./api-words.ts";

/** Teams whose work the reader may see; `null`: all. */
export type ReadableTeams = ReadonlySet<string> | null;

/** Stands in answers for the name of work, a user or a team that the reader may not see. */
export const HIDDEN_NAME = "hidden";

type NamedState = Pick<ReadonlyState, "attempts" | "calendar" | "nodes" | "schedules" | "teams" | "workloads">;

export const isReadable = (readable: ReadableTeams, team: string): boolean => readable === null || readable.has(team);

/** The team of a workload, or of the workload of an attempt; `null`: it is not known any more. */
function teamOfWork({ workloads, attempts }: NamedState, id: string): TeamName | null {
  const workload =
    workloads.get(id as WorkloadId) ?? workloads.get(attempts.get(id as AttemptId)?.workloadId ?? ("" as WorkloadId));
  if (workload !== undefined) return workload.spec.team;
  // Ids of attempts are the workload's id with the number of the attempt, and in arrays the task before it.
  const [, base = "", task = ""] = /^(.+?)((?:\.\d+)?)\.\d+$/.exec(id) ?? [];
  return (workloads.get(`${base}${task}` as WorkloadId) ?? workloads.get(base as WorkloadId))?.spec.team ?? null;
}

/**
 * Keys whose texts are words of the API or names of the fleet's parts. They stay as they are, or else a user of another
 * team could spoil answers by calling a workload like a phase or a node.
 */
const wordKeys: ReadonlySet<string> = new Set([
  "kind",
  "phase",
  "on",
  "of",
  "binding",
  "outcome",
  "stream",
  "window",
  "code",
  "title",
  "type",
  "acceleratorType",
  "executor",
  "fabric",
  "node",
  "nodeId",
  "nodes",
  "pool",
  "pools",
  "site",
]);
/** Keys of records by the name of a team. All other keys are words of the API or names of the fleet's parts. */
const namedRecords: ReadonlySet<string> = new Set(["heldByTeam", "teams"]);
/** Keys of predictions: in them names are hidden also where the request has them, or else a request could guess names. */
const predictedKeys: ReadonlySet<string> = new Set(["forecast", "start"]);
/**
 * Keys of what the reader's own team or the operators wrote: specs, policies, labels. They stay as they are, also
 * where a command happens to contain the name of other work.
 */
const writtenKeys: ReadonlySet<string> = new Set([
  "acceleratorTypes",
  "artifacts",
  "dir",
  "env",
  "labels",
  "metrics",
  "path",
  "policy",
  "progress",
  "run",
  "spec",
]);
const isWritten = (key: string, value: unknown): boolean =>
  writtenKeys.has(key) ||
  // The changes of a workload as events record them. Answers list changes.
  (key === "changes" && !Array.isArray(value));

/** Keys of ids of work. An id of work that is not known any more is hidden, too. */
const workKeys: ReadonlySet<string> = new Set([
  "workloadId",
  "workloadIds",
  "attemptId",
  "afterAttempt",
  "afterAttemptId",
]);

const WORD = /[A-Za-z0-9_][A-Za-z0-9._/@+-]*/g;

/** A word as a name, without the punctuation that can follow it in a sentence. */
const nameIn = (word: string): string => word.replace(/[._/@+-]+$/, "");

interface Reading {
  readonly state: NamedState;
  readonly readable: ReadonlySet<string>;
  readonly hiddenAmong: (words: ReadonlySet<string>) => ReadonlySet<string>;
}

/**
 * The answer without names of other teams' work: ids of workloads and attempts, names of workloads, teams, and users whom
 * the reader knows only from there. `answer` is plain data. `given`: what the reader wrote; its words stay outside of
 * predictions, because their absence would show that they name something.
 */
function withoutHidden<Answer>({ state, readable, hiddenAmong }: Reading, answer: Answer, given?: unknown): Answer {
  const isNode = (id: string): boolean => state.nodes.has(id as NodeId) && teamOfWork(state, id) === null;
  const words = new Set<string>();
  collectWords(answer, words, { isFixed: (key, text) => workKeys.has(key) || isPublic(key, text, isNode) });
  const own = new Set<string>();
  collectWords(given, own, { isFixed: null });
  const hidden = hiddenAmong(new Set([...words].filter((word) => !own.has(word))));
  const isHidden = (id: string): boolean => !readable.has(teamOfWork(state, id) ?? "");
  let ofAll: ReadonlySet<string> | null = null;
  const predicted: Masking = {
    get hidden() {
      return (ofAll ??= hiddenAmong(words));
    },
    isHiddenWork: isHidden,
    isNode,
  };
  return masked(answer, "", {
    hidden,
    isHiddenWork: (id) => !own.has(id) && isHidden(id),
    isNode,
    predicted,
  }) as Answer;
}

/** Whether the text under this key is no name of work, users or teams. */
const isPublic = (key: string, text: string, isNode: (id: string) => boolean): boolean =>
  wordKeys.has(key) || isApiWord(key, text) || (key === "id" && isNode(text));

interface Collection {
  /** Whether a text never changes; `null`: all texts and keys are collected. */
  readonly isFixed: ((key: string, text: string) => boolean) | null;
}

function collectWords(value: unknown, words: Set<string>, { isFixed }: Collection, within = ""): void {
  if (typeof value === "string") {
    if (isFixed?.(within, value) !== true) for (const [word] of value.matchAll(WORD)) words.add(nameIn(word));
  } else if (Array.isArray(value)) for (const each of value) collectWords(each, words, { isFixed }, within);
  else if (value !== null && typeof value === "object")
    for (const [key, each] of Object.entries(value)) {
      if (isFixed !== null && isWritten(key, each)) continue;
      if (isFixed === null || namedRecords.has(within))
        for (const [word] of key.matchAll(WORD)) words.add(nameIn(word));
      collectWords(each, words, { isFixed }, key);
    }
}

function hiddenNames(state: NamedState, readable: ReadonlySet<string>, words: ReadonlySet<string>): Set<string> {
  const hidden = new Set<string>();
  const own = new Set<string>();
  for (const workload of state.workloads.values()) {
    const { name, team } = workload.spec;
    const names = readable.has(team) ? own : hidden;
    for (const each of [workload.id, name, workload.actor]) if (words.has(each)) names.add(each);
  }
  for (const { schedule, actor } of state.schedules.values())
    for (const each of [schedule.name, schedule.spec.name, actor])
      if (words.has(each)) (readable.has(schedule.spec.team) ? own : hidden).add(each);
  const above = teamsAbove(state, readable);
  for (const name of state.teams.keys())
    // The built-in team has the name of the default policy, and of other things.
    if (words.has(name) && name !== DEFAULT_TEAM) (readable.has(name) || above.has(name) ? own : hidden).add(name);
  for (const word of words) {
    const team = hidden.has(word) ? null : teamOfWork(state, word);
    if (team !== null && !readable.has(team)) hidden.add(word);
  }
  for (const name of own) hidden.delete(name);
  return hidden;
}

function teamsAbove({ teams }: NamedState, readable: ReadonlySet<string>): ReadonlySet<string> {
  const above = new Set<string>();
  for (const name of readable)
    for (let at = teams.get(name as TeamName)?.parent ?? null; at !== null && !above.has(at);) {
      above.add(at);
      at = teams.get(at)?.parent ?? null;
    }
  return above;
}

interface Masking {
  readonly hidden: ReadonlySet<string>;
  readonly isHiddenWork: (id: string) => boolean;
  readonly isNode: (id: string) => boolean;
  /** The masking of predictions; absent: the same. */
  readonly predicted?: Masking;
}

function masked(value: unknown, key: string, masking: Masking): unknown {
  if (typeof value === "string") {
    if (workKeys.has(key)) return masking.isHiddenWork(value) ? HIDDEN_NAME : value;
    return isPublic(key, value, masking.isNode) ? value : maskedText(value, masking.hidden);
  }
  if (Array.isArray(value)) return value.map((each) => masked(each, key, masking));
  if (value === null || typeof value !== "object") return value;
  const within = predictedKeys.has(key) ? (masking.predicted ?? masking) : masking;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      namedRecords.has(key) ? maskedText(name, masking.hidden) : name,
      isWritten(name, each) ? each : masked(each, name, within),
    ]),
  );
}

const maskedText = (text: string, hidden: ReadonlySet<string>): string =>
  hidden.size === 0
    ? text
    : text.replaceAll(WORD, (word) => {
        const name = nameIn(word);
        return hidden.has(name) ? `${HIDDEN_NAME}${word.slice(name.length)}` : word;
      });

/** The samples with the teams that the reader may see. */
export const readableHistory = (history: CapacityHistory, readable: ReadableTeams): CapacityHistory =>
  readable === null
    ? history
    : {
        ...history,
        samples: history.samples.map((sample) => ({
          ...sample,
          teams: Object.fromEntries(Object.entries(sample.teams).filter(([name]) => readable.has(name))),
        })),
      };

function shownEvent(reading: Reading, event: Event): Event | null {
  const { state, readable } = reading;
  const shown = isAboutReader(state, readable, event) ? readersPart(state, readable, event) : null;
  return shown === null ? null : withoutHidden(reading, shown);
}

/** Words whose answer is kept. */
const WORDS_KEPT_MAX = 10_000;

/**
 * Answers and events for readers of the same teams. Finding hidden names reads every workload, so words are looked up once
 * for each state: a reader of a long journal, or of many answers, must not hold up the control plane.
 */
export class TeamReader {
  readonly #readableTeams: (state: ReadonlyState) => ReadableTeams;
  readonly #known = new Map<string, boolean>();
  #readable: ReadableTeams = null;
  #sequence = -1;

  constructor(readableTeams: (state: ReadonlyState) => ReadableTeams) {
    this.#readableTeams = readableTeams;
  }

  /** The answer without names of other teams' work, but for the words of `given`, which the reader wrote. */
  answer<Answer>(state: ReadonlyState, answer: Answer, given?: unknown): Answer {
    const reading = this.#reading(state);
    return reading === null ? answer : withoutHidden(reading, answer, given);
  }

  /** The event as the reader may see it; `null`: it is about other teams. */
  event(state: ReadonlyState, event: Event): Event | null {
    const reading = this.#reading(state);
    return reading === null ? event : shownEvent(reading, event);
  }

  #reading(state: ReadonlyState): Reading | null {
    if (state.sequence !== this.#sequence) {
      this.#sequence = state.sequence;
      this.#readable = this.#readableTeams(state);
      this.#known.clear();
    }
    const readable = this.#readable;
    if (readable === null) return null;
    return { state, readable, hiddenAmong: (words) => this.#hiddenAmong(state, readable, words) };
  }

  #hiddenAmong(state: NamedState, readable: ReadonlySet<string>, words: ReadonlySet<string>): ReadonlySet<string> {
    if (this.#known.size > WORDS_KEPT_MAX) this.#known.clear();
    const fresh = new Set([...words].filter((word) => !this.#known.has(word)));
    if (fresh.size > 0) {
      const hidden = hiddenNames(state, readable, fresh);
      for (const word of fresh) this.#known.set(word, hidden.has(word));
    }
    return new Set([...words].filter((word) => this.#known.get(word) === true));
  }
}

/** Kinds of events about the fleet, which every reader of events sees. */
const fleetKinds: ReadonlySet<string> = new Set<Event["kind"]>([
  "siteDefined",
  "executorRegistered",
  "poolDefined",
  "nodeJoined",
  "nodeChanged",
  "nodeLost",
  "nodeReturned",
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
]);

/** Kinds that are not listed, and work that is not known any more, are closed to the reader. */
function isAboutReader(state: NamedState, readable: ReadonlySet<string>, event: Event): boolean {
  const isOwnWork = (id: string): boolean => readable.has(teamOfWork(state, id) ?? "");
  if (fleetKinds.has(event.kind)) return true;
  switch (event.kind) {
    case "teamDefined":
      return readable.has(event.team.name);
    case "teamRemoved":
    case "budgetCrossed":
    case "budgetRenewed":
      return readable.has(event.team);
    case "scheduleSet":
      return readable.has(event.schedule.spec.team);
    case "scheduleRan":
    case "scheduleRemoved":
      return readable.has(state.schedules.get(event.name)?.schedule.spec.team ?? "");
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
  return event;
}
