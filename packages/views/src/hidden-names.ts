/**
 * Names of other teams' work in finished answers to a reader of some teams. Names of teams above the reader's are part of
 * the reader's own paths, and stay.
 */
import { DEFAULT_TEAM } from "@headroom/engine";
import type { NodeId, TeamName } from "@headroom/model";
import { isApiWord } from "./api-words.ts";
import { teamOfWork, type NamedState } from "./readable-teams.ts";

/** Stands in answers for the name of work, a user or a team that the reader may not see. */
const HIDDEN_NAME = "hidden";

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

/** One answer for one reader: the state, the reader's teams, and which words are hidden names. */
export interface Reading {
  readonly state: NamedState;
  readonly readable: ReadonlySet<string>;
  readonly hiddenAmong: (words: ReadonlySet<string>) => ReadonlySet<string>;
}

/**
 * The answer without names of other teams' work: ids of workloads and attempts, names of workloads, teams, and users whom
 * the reader knows only from there. `answer` is plain data. `given`: what the reader wrote; its words stay outside of
 * predictions, because their absence would show that they name something.
 */
export function withoutHidden<Answer>(
  { state, readable, hiddenAmong }: Reading,
  answer: Answer,
  given?: unknown,
): Answer {
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

/** The words that name work, users or teams which the reader may not see. Reads every workload. */
export function hiddenNames(state: NamedState, readable: ReadonlySet<string>, words: ReadonlySet<string>): Set<string> {
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
  for (const { pipeline, actor } of state.pipelines.values())
    for (const each of [pipeline.name, actor])
      if (words.has(each)) (readable.has(pipeline.team) ? own : hidden).add(each);
  for (const { id, pipeline, actor } of state.pipelineRuns.values())
    for (const each of [id, actor]) if (words.has(each)) (readable.has(pipeline.team) ? own : hidden).add(each);
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
