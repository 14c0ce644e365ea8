/** Whose job an attempt is. The user of an attempt knows the secret of its records, and can change them while its job waits. */
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import path from "node:path";
import { afterAll, expect, it } from "vitest";
import { attemptId, nodeId, poolName, teamName, workloadId } from "@headroom/model";
import type { LaunchGang } from "@headroom/model";
import { AttemptStore } from "../../job-protocol/attempt-store.ts";
import type { ExecutorInput } from "../../executor.ts";
import { Reporter } from "../../job-protocol/reporter.ts";
import type { SlurmCommands } from "../commands/slurm-commands.ts";
import { slurmSettings } from "../settings.ts";
import type { AttemptWatch } from "./attempt-watch.ts";
import { progressOf } from "./attempt-watch.ts";
import { ReusableJobs } from "./reusable-jobs.ts";
import { JobLauncher } from "./job-launcher.ts";
import { RecordedOwners } from "./job-owners.ts";
import { watchedAttempt } from "./slurm-attempt.ts";

const NOBODY = 65_534;
const home = mkdtempSync(path.join(tmpdir(), "headroom-owners-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const launch = {
  kind: "launchGang",
  executor: "slurm",
  attemptId: attemptId("w1.1"),
  workloadId: workloadId("w1"),
  task: 0,
  number: 1,
  actor: "alice",
  spec: {
    kind: "train",
    name: "w",
    team: teamName("t"),
    run: "true",
    dir: null,
    env: {},
    gang: { workers: 1, accelerators: 1, coresMilli: 0, memoryMib: 0 },
    acceleratorTypes: [],
    priority: 0,
    walltimeMs: null,
    retries: { max: 0, backoffMs: 0, backoffMaxMs: 0 },
    graceTimeoutMs: 30_000,
    checkpointDir: null,
  },
  workers: [{ node: nodeId("slurm-n1"), accelerators: "0" }],
  sequence: 1,
} satisfies LaunchGang;

const nodeSpec = { pool: poolName("p"), fabric: [], acceleratorCount: 8, coresMilli: 64_000, memoryMib: 512_000 };
const node = {
  id: nodeId("slurm-n1"),
  name: "n1",
  partition: "gpu",
  address: "n1",
  gresType: "h100",
  limitMinutes: null,
  spec: { id: nodeId("slurm-n1"), ...nodeSpec },
};

/** A launcher whose submissions are kept, and lost by Slurm. */
function launcher(store: AttemptStore, submitted: (readonly string[])[], isOverlooked = false): JobLauncher {
  const commands = {
    isOverlooked: () => Promise.resolve(isOverlooked),
    jobsByCommand: () => Promise.resolve({ jobs: new Map(), isComplete: true }),
    show: () => Promise.resolve("KillWait = 30 sec\n"),
    submit(args: readonly string[]) {
      submitted.push(args);
      return Promise.resolve({ kind: "submitted", jobId: "7" });
    },
  } as unknown as SlurmCommands;
  const watch = {
    hasEnded: () => false,
    knows: () => false,
    track: (id: typeof launch.attemptId, files: ReturnType<AttemptStore["files"]>) => watchedAttempt(id, files, false),
    jobName: (name: string) => `job-${name}`,
    notice: () => {},
  } as unknown as AttemptWatch;
  return new JobLauncher({
    store,
    transfers: null,
    commands,
    watch,
    settings: slurmSettings.parse({ directory: home, userRule: "oneUser", user: "nobody" }),
    stateDir: home,
    log: { fileMaxBytes: 1_000, filesKept: 2 },
    onRecorded: () => {},
    nodes: () => Promise.resolve(new Map([[node.id, node]])),
    reusable: new ReusableJobs(),
    onProblem: () => {},
  });
}

it.skipIf(userInfo().uid !== 0)("is not what a forged record says", async () => {
  const store = new AttemptStore(home, () => {});
  const submitted: (readonly string[])[] = [];
  await launcher(store, submitted).launch(launch);
  const files = store.filesOf(launch.attemptId);
  const record = files.read("launch.json");
  if (record === null) throw new Error("no launch is recorded");
  const { runAs, ...bare } = record;
  expect(runAs?.uid).toBe(NOBODY);

  const root = { user: "root", submitter: "alice", uid: 0, gid: 0 };
  for (const forged of [bare, { ...bare, runAs: root }]) {
    files.write("launch.json", forged);
    expect(new RecordedOwners(store, "job-").uidOf("job-w1.1")).toBe(NOBODY);
    // The job is gone, so it is submitted again.
    await launcher(store, submitted).launch(launch);
  }
  expect(submitted.length).toBe(3);
  for (const args of submitted) expect(args).toContain(`--uid=${NOBODY}`);
});

it.skipIf(userInfo().uid !== 0)("is not submitted again while squeue lists it", async () => {
  const store = new AttemptStore(path.join(home, "again"), () => {});
  for (const isOverlooked of [true, false]) {
    const submitted: (readonly string[])[] = [];
    const subject = launcher(store, submitted, isOverlooked);
    await subject.launch(launch);
    const before = submitted.length;
    const watched = watchedAttempt(launch.attemptId, store.filesOf(launch.attemptId), false);
    Object.assign(watched, { goneSinceMs: 1, goneCount: 3 });
    await subject.submitAgain(watched);
    expect(submitted.length - before).toBe(isOverlooked ? 0 : 1);
    expect(watched.goneCount).toBe(0);
  }
});

it.skipIf(userInfo().uid !== 0)("does not let a forged record report for another attempt", async () => {
  const store = new AttemptStore(path.join(home, "reports"), () => {});
  await launcher(store, []).launch(launch);
  const files = store.filesOf(launch.attemptId);
  const record = files.read("launch.json");
  if (record === null) throw new Error("no launch is recorded");
  const told: ExecutorInput[] = [];
  const reporter = new Reporter();
  await reporter.listen((input) => void told.push(input));
  const forged = { ...record, attemptId: attemptId("w2.1") };
  const progress = progressOf(watchedAttempt(launch.attemptId, files, false), forged, reporter, null);
  appendFileSync(path.join(store.workRoot, "w1.1,0", "progress.jsonl"), '{"kind":"artifact","name":"m","path":"/m"}\n');
  await progress.tellRest();
  reporter.close();
  expect(told).toEqual([expect.objectContaining({ kind: "artifactReported", attemptId: launch.attemptId })]);
});
