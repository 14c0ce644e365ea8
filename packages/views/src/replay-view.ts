/** A replay beside the record, with its assumptions in words. */
import type { ReplayGroup, ReplayReport } from "@headroom/protocol";
import type { ReplayReport as PlayedReport } from "@headroom/sim";
import { durationText, grouped, plural } from "./plain-text.ts";

export function replayView(played: PlayedReport, wantedFromMs: number): ReplayReport {
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

function sentenceOf({ fromMs, toMs, control, changed, shared, teams }: PlayedReport): string {
  const wait = `${durationText(shared.changedMeanMs)} on average instead of ${durationText(shared.controlMeanMs)}`;
  const use = `${percent(changed.utilisation)} of the accelerators in use instead of ${percent(control.utilisation)}`;
  const evictions = `${plural(changed.evictions, "eviction")} instead of ${grouped(control.evictions)}`;
  const named = (outcome: ReplayGroup["outcome"]): string => {
    const names = teams.filter((team) => team.outcome === outcome).map(({ name }) => name);
    return names.length === 0 ? "nobody" : names.length > 3 ? `${names.length} teams` : names.join(", ");
  };
  return `In ${durationText(toMs - fromMs)}, ${plural(shared.workloads, "workload")} would have waited ${wait}, with ${use} and ${evictions}. Shorter waits: ${named("wins")}; longer: ${named("loses")}.`;
}

const percent = (share: number): string => `${Math.round(share * 1000) / 10}%`;

/** Work that is in only one of the timelines: refused, or not submitted by a schedule. */
function unsharedNotes({ control, changed, shared }: PlayedReport): string[] {
  const gone = control.workloads - shared.workloads;
  const come = changed.workloads - shared.workloads;
  if (gone + come === 0) return [];
  return [
    `Refused or not submitted by a schedule: ${plural(gone, "workload")} with the change, ${grouped(come)} only as it was. Who waits less or longer is told by the ${grouped(shared.workloads)} that are in both courses; the figures of a course are of all that are in it.`,
  ];
}

function notesOf(played: PlayedReport, wantedFromMs: number): string[] {
  const { fromMs, recorded, control, assumptions } = played;
  const { imaginedDurations, stopped, lostAttempts, waitingAtEnd, refusals, startupMs, stopMs } = assumptions;
  const notes = [
    `Replayed as it was, the mean wait is ${durationText(control.waitMeanMs)} where ${durationText(recorded.waitMeanMs)} was recorded: so far the replay itself is off.`,
    `Work is taken to last what it really took, on whatever accelerators; from launch to running ${durationText(startupMs)} and from stop to end ${durationText(stopMs)}, the middle of what was recorded.`,
    "What people would have submitted, stopped or asked for otherwise is not known: they do here what they did.",
  ];
  notes.push(...unsharedNotes(played));
  if (fromMs > wantedFromMs)
    notes.push("It begins later than asked for: the inputs from before are not recorded or no longer kept.");
  if (imaginedDurations > 0)
    notes.push(
      `${plural(imaginedDurations, "task")} had not ended by the end of the period, or never ran: taken to last as such work did, and longer than it ran so far.`,
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
