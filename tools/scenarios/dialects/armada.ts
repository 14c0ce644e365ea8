/**
 * Plays Armada's multi-round scenarios with the preset `armada`, and compares the exact jobs that each round schedules
 * and preempts.
 */
import { presets, commandId } from "@headroom/model";
import type { Command, Policy } from "@headroom/model";
import type { Scenario } from "../scenario-file.ts";
import { Stage, specOf } from "../stage.ts";

type Range = readonly [number, number];
interface Submission {
  readonly queue: string;
  readonly count: number;
  readonly gpusPerJob: number;
  readonly priority: number;
  readonly preemptible: boolean;
  readonly gangSize?: number;
}
interface Round {
  readonly submit: readonly Submission[];
  readonly scheduled: Readonly<Record<string, Range>>;
  readonly preempted: readonly { readonly queue: string; readonly submittedInRound: number; readonly indexes: Range }[];
}
interface ArmadaScenario extends Scenario {
  readonly nodes: readonly { readonly name: string; readonly gpus: number }[];
  readonly queues: readonly { readonly name: string; readonly parent: string | null; readonly weight: number }[];
  readonly rounds: readonly Round[];
}

/** The jobs of one workload: a single job, or all jobs of a gang. */
interface Jobs {
  readonly queue: string;
  readonly round: number;
  readonly indexes: readonly number[];
}

export function playArmada(scenario: Scenario): string[] {
  const { nodes, queues, rounds } = scenario as ArmadaScenario;
  const stage = new Stage(presets.get("armada") as Policy);
  for (const { name, gpus } of nodes) stage.addNode({ name, acceleratorCount: gpus });
  for (const { name, parent, weight } of queues) stage.addTeam({ name, parent, weight });
  const jobs = new Map<string, Jobs>();
  const differences: string[] = [];
  rounds.forEach((round, number) => {
    const commands = round.submit.flatMap((submission) => submissionsOf(submission, number, jobs));
    const events = stage.round(commands);
    const scheduled: string[] = [];
    const preempted: string[] = [];
    const add = (list: string[], workload: string): void => {
      const found = jobs.get(workload);
      for (const index of found?.indexes ?? []) list.push(`${found?.queue} ${found?.round} ${index}`);
    };
    for (const event of events) {
      // The round that nominated the gang has already counted it.
      if (event.kind === "gangPlaced" && jobs.get(event.workloadId)?.round === number) add(scheduled, event.workloadId);
      if (event.kind === "placementNominated") add(scheduled, event.nomination.workloadId);
      if (event.kind === "attemptStopRequested") add(preempted, event.attemptId.split(".")[0] as string);
    }
    const wantedScheduled = Object.entries(round.scheduled).flatMap(([queue, range]) => listed(queue, number, range));
    const wantedPreempted = round.preempted.flatMap(({ queue, submittedInRound, indexes }) =>
      listed(queue, submittedInRound, indexes),
    );
    const same = (what: string, wanted: readonly string[], got: readonly string[]): void => {
      const [left, right] = [wanted.toSorted().join(), got.toSorted().join()];
      if (left !== right) differences.push(`round ${number}: ${what} expected [${left}], got [${right}]`);
    };
    same("scheduled", wantedScheduled, scheduled);
    same("preempted", wantedPreempted, preempted);
  });
  return differences;
}

const listed = (queue: string, round: number, [first, last]: Range): readonly string[] =>
  Array.from({ length: last - first + 1 }, (_, offset) => `${queue} ${round} ${first + offset}`);

function submissionsOf(submission: Submission, round: number, jobs: Map<string, Jobs>): Command[] {
  const { queue, count, gpusPerJob, priority, preemptible, gangSize = 1 } = submission;
  return Array.from({ length: Math.ceil(count / gangSize) }, (_, gang): Command => {
    const id = `w${jobs.size + 1}`;
    const first = [...jobs.values()]
      .filter((other) => other.queue === queue && other.round === round)
      .flatMap(({ indexes }) => indexes).length;
    const workers = Math.min(gangSize, count - gang * gangSize);
    jobs.set(id, { queue, round, indexes: Array.from({ length: workers }, (__, offset) => first + offset) });
    const gangSpec = { workers, accelerators: gpusPerJob, coresMilli: 0, memoryMib: 0 };
    return {
      kind: "submitWorkload",
      commandId: commandId(id),
      actor: "scenario",
      idempotencyKey: null,
      spec: specOf({ name: id, team: queue, priority, preemptible, gang: gangSpec }),
    };
  });
}
