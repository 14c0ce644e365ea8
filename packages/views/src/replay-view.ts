/** A replay beside what happened, with what could not be known, in words. */
import type { ReplayGroup, ReplayReport } from "@headroom/protocol";
import { durationText, grouped, plural } from "./plain-text.ts";

/** What the simulator gives; it is not imported, because views stand below it. */
export type PlayedReplay = DeepReadonly<Omit<ReplayReport, "sentence" | "notes">> & {
  readonly assumptions: {
    readonly imaginedDurations: number;
    readonly stopped: number;
    readonly lostAttempts: number;
    readonly waitingAtEnd: { readonly recorded: number; readonly control: number; readonly changed: number };
    readonly refusals: { readonly control: number; readonly changed: number };
    readonly startupMs: number;
    readonly stopMs: number;
  };
};

type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;

export function replayView(played: PlayedReplay, wantedFromMs: number): ReplayReport {
  const { fromMs, toMs, stepMs, recorded, control, changed } = played;
  return {
    fromMs,
    toMs,
    stepMs,
    recorded: { ...recorded, samples: [...recorded.samples] },
    control: { ...control, samples: [...control.samples] },
    changed: { ...changed, samples: [...changed.samples] },
    teams: [...played.teams],
    users: [...played.users],
    sizes: [...played.sizes],
    sentence: sentenceOf(played),
    notes: notesOf(played, wantedFromMs),
  };
}

function sentenceOf({ fromMs, toMs, control, changed, teams }: PlayedReplay): string {
  const wait = `${durationText(changed.waitMeanMs)} on average instead of ${durationText(control.waitMeanMs)}`;
  const use = `${percent(changed.utilisation)} of the accelerators in use instead of ${percent(control.utilisation)}`;
  const evictions = `${plural(changed.evictions, "eviction")} instead of ${grouped(control.evictions)}`;
  const named = (outcome: ReplayGroup["outcome"]): string => {
    const names = teams.filter((team) => team.outcome === outcome).map(({ name }) => name);
    return names.length === 0 ? "nobody" : names.length > 3 ? `${names.length} teams` : names.join(", ");
  };
  return `In ${durationText(toMs - fromMs)}, ${plural(control.workloads, "workload")} would have waited ${wait}, with ${use} and ${evictions}. Shorter waits: ${named("wins")}; longer: ${named("loses")}.`;
}

const percent = (share: number): string => `${Math.round(share * 1000) / 10}%`;

function notesOf({ fromMs, recorded, control, assumptions }: PlayedReplay, wantedFromMs: number): string[] {
  const { imaginedDurations, stopped, lostAttempts, waitingAtEnd, refusals, startupMs, stopMs } = assumptions;
  const notes = [
    `Replayed as it was, the mean wait is ${durationText(control.waitMeanMs)} where ${durationText(recorded.waitMeanMs)} was recorded: so far the replay itself is off.`,
    `Work is taken to last what it really took, on whatever accelerators; from launch to running ${durationText(startupMs)} and from stop to end ${durationText(stopMs)}, the middle of what was recorded.`,
    "What people would have submitted, stopped or asked for otherwise is not known: they do here what they did.",
  ];
  if (fromMs > wantedFromMs)
    notes.push("It begins later than asked for: the inputs from before are not recorded or no longer kept.");
  if (imaginedDurations > 0)
    notes.push(
      `${plural(imaginedDurations, "task")} had not ended by the end of the period, or never ran: taken to last as such work did before.`,
    );
  if (stopped > 0)
    notes.push(
      `${plural(stopped, "workload")} had been stopped by somebody or by a walltime: taken to go on until then, however early they start.`,
    );
  if (lostAttempts > 0)
    notes.push(
      `${plural(lostAttempts, "attempt")} had been lost for reasons that are not recorded: not lost here, so the recorded course looks worse than it need have been.`,
    );
  const { changed: left } = waitingAtEnd;
  if (waitingAtEnd.control + left > 0)
    notes.push(
      `At the end ${grouped(left)} had not started, ${grouped(waitingAtEnd.control)} as it was: their waits count until then and are longer in truth.`,
    );
  if (refusals.changed !== refusals.control)
    notes.push(
      `${plural(refusals.changed, "command")} would have been refused, ${grouped(refusals.control)} as it was.`,
    );
  return notes;
}
