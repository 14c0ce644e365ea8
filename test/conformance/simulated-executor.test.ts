/** The conformance cases that have a meaning for the simulated executor. Each of the others is named, with the reason. */
import { describe, expect, it } from "vitest";
import { conformanceCases, runConformanceCase } from "../../packages/executors/src/conformance/conformance.ts";
import type { ConformanceSubject } from "../../packages/executors/src/conformance/conformance-world.ts";
import type { LaunchGang } from "../../packages/model/src/index.ts";
import type { RunPlan } from "../../packages/sim/src/executor/run-plan.ts";
import { SimulatedCluster } from "./simulated-cluster.ts";

/** Reasons, with the names of the cases. */
const leftOut: Readonly<Record<string, readonly string[]>> = {
  "A simulated worker runs no shell: it ends with the exit code of its plan, and a stop ends it by a signal.": [
    "an end by a signal of its own is told as it was, after running",
    "a command that does not exist is told as it was, after running",
    "a working directory that is not there ends like a command that is not there, and says so",
    "a command too long for the operating system fails, and is not lost",
    "a stop is a SIGTERM, and the workload has its grace",
    "a child that outlives its shell in a stop keeps the grace",
    "what runs is adopted by the next instance, with the sequence that launched it, and goes on unharmed",
  ],
  "A simulated worker sees no request: the plan says how long a checkpoint takes (packages/sim/src/executor).": [
    "a workload reports one checkpoint per request and runs on until it is stopped",
    "a checkpoint that was asked for and written while nobody watched is told by the next instance",
    "where a checkpoint is to be written first, nobody leaves before it is reported, and the request is taken back",
  ],
  "The workers of a simulated gang end together: one plan holds for all of them.": [
    "when one worker fails the others are stopped, and its exit comes first",
    "a worker that outlasts the grace after another failed is killed",
    "a worker that is done lets the others finish",
    "a further worker that fails as it joins is told of, with those behind it, and the gang goes on without them",
  ],
  "A simulated worker is no process: it has no environment, children or files.": [
    "a worker's environment holds the session, the workload's own and the contract, and nothing else",
    "each worker knows its rank, its accelerators and where to meet the others",
    "no two workers of a gang have the same host name and process id",
    "variables of a workload reach every worker as they are, whatever their names",
    "checkpoints of a workload outlive its attempts, and a directory of its own choice is respected",
    "what a worker leaves running is gone when its end is told, in its group or out of it",
    "a stop reaches every worker of a gang and all they started",
    "a gang that grows has each further worker once, with the next rank, however often it is asked",
    "a stop reaches those who joined, and their exits are told with the others'",
    "a gang that shrinks goes on; who leaves has its grace, and nothing of it is left when that is told",
    "a rank that was left may be taken again: by another process, which goes on in the same logs",
    "a shrinking that is asked again after a restart is answered once, whether it was done before or not",
  ],
  "A simulated worker writes no output and uses no resources.": [
    "both streams of every worker are kept apart, /dev/stderr can be opened, and the input is empty",
    "lines of several workers come in the order in which they were written, and from an instant on",
    "following gives every byte once, ends with the attempt, and continues from where a reader was cut off",
    "a follower that goes away is let go, and a line without its end is shown to one that stays",
    "logs are bounded: the oldest go, what is left is whole, and a follower is not disturbed",
    "progress and checkpoints are told, the newest progress before the end; broken lines are counted and passed over",
    "progress is told while the workload runs",
    "CPU time and memory are told for each worker while it runs and after its end",
  ],
};
const leftOutNames = Object.values(leftOut).flat();
const cases = conformanceCases.filter(({ name }) => !leftOutNames.includes(name));

const SHORT_MS = 20;
const LONG_MS = 600_000;

/** The plan of the commands that the cases use. */
function planOf({ spec: { run } }: LaunchGang): RunPlan {
  const [, code] = /^exit (\d+)$/.exec(run) ?? [];
  if (code !== undefined) return { durationMs: SHORT_MS, exitCode: Number(code) };
  if (run === "exec sleep 600" || run.endsWith("; exec sleep 600") || run.endsWith("while :; do sleep 0.05; done"))
    return { durationMs: LONG_MS, exitCode: 0 };
  if (run.startsWith("echo started >> ")) return { durationMs: SHORT_MS, exitCode: 0 };
  throw new Error(`no plan for the command ${run}`);
}

const clusters = new Map<string, SimulatedCluster>();

const subject: ConformanceSubject = {
  id: "simulated",
  isSimulated: true,
  open: (homeDir) => {
    const cluster = clusters.get(homeDir) ?? new SimulatedCluster(planOf);
    clusters.set(homeDir, cluster);
    return cluster.open();
  },
};

describe("the simulated executor conforms", () => {
  it.for(cases.map((each) => [each.name, each] as const))("%s", async ([, conformanceCase]) => {
    await expect(runConformanceCase(subject, conformanceCase)).resolves.toBeUndefined();
  });

  it("leaves out cases by name that the suite has", () => {
    const names = new Set(conformanceCases.map(({ name }) => name));
    expect(leftOutNames.filter((name) => !names.has(name))).toEqual([]);
    expect(cases).toHaveLength(conformanceCases.length - leftOutNames.length);
  });
});
