/**
 * Commands for workloads and nodes, for the pages and the palette alike: which of them apply, the question before them
 * and the sentence after them.
 */
import type { Node, WorkloadPhase, WorkloadSummary } from "@headroom/protocol";
import type { IconName } from "../parts/icon.tsx";

export type WorkloadVerb = "stop" | "hold" | "release" | "rerun";
export type NodeVerb = "drain" | "resume";

export type WorkloadSubject = Pick<
  WorkloadSummary,
  "id" | "name" | "team" | "phase" | "endedAtMs" | "stopRequested" | "held" | "rerunnable" | "tasks"
>;

export interface CommandWords {
  /** The verb on buttons. */
  readonly label: string;
  readonly icon: IconName;
  /** The consequence, after the name of the workload or node. */
  readonly done: string;
}

export const workloadWords: Readonly<Record<WorkloadVerb, CommandWords>> = {
  stop: { label: "Stop", icon: "stop", done: "is being stopped" },
  hold: { label: "Hold", icon: "pause", done: "is held: nothing more of it starts" },
  release: { label: "Release", icon: "play", done: "was released" },
  rerun: { label: "Rerun", icon: "play", done: "runs again" },
};

export const nodeWords: Readonly<Record<NodeVerb, CommandWords>> = {
  drain: { label: "Drain", icon: "pause", done: "takes no new work" },
  resume: { label: "Resume", icon: "play", done: "takes work again" },
};

const verbsByPhase: Readonly<Record<WorkloadVerb, readonly WorkloadPhase[]>> = {
  stop: ["pending", "running"],
  hold: ["pending", "running"],
  release: ["pending", "running"],
  rerun: ["failed", "cancelled", "succeeded"],
};

/** Phases of the workloads to which a verb can apply. */
export const phasesOf = (verb: WorkloadVerb): readonly WorkloadPhase[] => verbsByPhase[verb];

export function workloadVerbs(workload: WorkloadSubject): readonly WorkloadVerb[] {
  const { endedAtMs, stopRequested, held, rerunnable } = workload;
  if (endedAtMs !== null) return rerunnable ? ["rerun"] : [];
  if (stopRequested) return [];
  return ["stop", held === true ? "release" : "hold"];
}

export const nodeVerb = ({ draining }: Pick<Node, "draining">): NodeVerb => (draining ? "resume" : "drain");

/** `grace`: the grace period of its workers, as words. */
export function workloadConsequence(
  verb: WorkloadVerb,
  { tasks }: Pick<WorkloadSubject, "tasks">,
  grace = "their grace period",
): string {
  switch (verb) {
    case "stop":
      return tasks.active === 0
        ? "It leaves the queue and does not start."
        : `Its workers get SIGTERM and ${grace} to write a checkpoint, then SIGKILL. It does not start again unless it is rerun.`;
    case "hold":
      return "No further task of it starts until it is released. Running tasks continue.";
    case "release":
      return "Its waiting tasks can start again.";
    case "rerun":
      return "Its tasks that did not succeed are queued again.";
  }
}

export const nodeConsequence: Readonly<Record<NodeVerb, string>> = {
  drain: "No new work is placed on it. Running work continues to its end.",
  resume: "New work is placed on it again.",
};
