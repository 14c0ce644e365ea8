/** A replay beside the record. Its assumptions are stated in words. */
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
  return `In ${durationText(toMs - fromMs)}, ${plural(shared.workloads, "workload")} would have waited ${wait}, with ${use} and ${evictions}. Shorter waits: ${named("wins")}; longer waits: ${named("loses")}.`;
}

const percent = (share: number): string => `${Math.round(share * 1000) / 10}%`;

/** Work that only one of the timelines contains: it was refused, or a schedule did not submit it. */
function unsharedNotes({ control, changed, shared }: PlayedReport): string[] {
  const gone = control.workloads - shared.workloads;
  const come = changed.workloads - shared.workloads;
  if (gone + come === 0) return [];
  return [
    `Refused or not submitted by a schedule: ${plural(gone, "workload")} with the change, ${grouped(come)} in the control. Shorter and longer waits compare the ${grouped(shared.workloads)} workloads of both timelines; other figures cover all work of a timeline.`,
  ];
}

function notesOf(played: PlayedReport, wantedFromMs: number): string[] {
  const { fromMs, recorded, control, assumptions } = played;
  const { imaginedDurations, stopped, lostAttempts, waitingAtEnd, refusals, startupMs, stopMs } = assumptions;
  const notes = [
    `The control replay has a mean wait of ${durationText(control.waitMeanMs)}, but the recorded wait is ${durationText(recorded.waitMeanMs)}. The difference is the error of the replay.`,
    `Work keeps its recorded run time on any accelerator; a launch takes ${durationText(startupMs)} and a stop ${durationText(stopMs)}, the recorded medians.`,
    "Users are assumed to submit and stop the same work as recorded.",
  ];
  notes.push(...unsharedNotes(played));
  if (fromMs > wantedFromMs) notes.push("The replay begins later than requested: earlier inputs are not kept.");
  if (imaginedDurations > 0)
    notes.push(
      `${plural(imaginedDurations, "task")} had not ended by the end of the period, or never ran. Their run times are estimated from similar work.`,
    );
  if (stopped > 0)
    notes.push(
      `${plural(stopped, "workload")} had been stopped by a user or by a walltime. They run until that time, however early they start.`,
    );
  if (lostAttempts > 0)
    notes.push(
      `${plural(lostAttempts, "attempt")} had been lost for unrecorded reasons. These losses are not repeated, so the record looks worse than the replay.`,
    );
  const { changed: left } = waitingAtEnd;
  if (waitingAtEnd.control + left > 0)
    notes.push(
      `${grouped(left)} had not started at the end, ${grouped(waitingAtEnd.control)} in the control. Their waits are counted until then.`,
    );
  if (refusals.changed !== refusals.control)
    notes.push(
      `${plural(refusals.changed, "command")} would have been refused, ${grouped(refusals.control)} in the control.`,
    );
  return notes;
}
