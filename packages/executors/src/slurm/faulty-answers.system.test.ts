/**
 * Jobs on a real cluster whose commands answer wrongly in half of the calls. CI runs a sample; all of them:
 * `HEADROOM_FAULTY_JOBS=1000 npm run test:system -- packages/executors/src/slurm/faulty-answers`.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ConformanceWorld } from "../conformance/conformance-world.ts";
import { createSlurmExecutor } from "./slurm-executor.ts";
import { slurmSubject, testSettings } from "./testing/conformance-subject.ts";
import { makeFaultyCommands } from "./testing/faulty-commands.ts";
import { SlurmCluster, whyNoCluster } from "./testing/slurm-cluster.ts";

const missing = whyNoCluster();
if (missing !== null) process.stderr.write(`*** Wrong answers of Slurm were not tested: ${missing}\n`);

const jobCount = Number(process.env["HEADROOM_FAULTY_JOBS"] ?? 16);
const FAULT_PERCENT = 50;
/** Jobs at a time: two GPUs each on four nodes with eight. */
const AT_ONCE = 8;

describe.skipIf(missing !== null)("a Slurm cluster that answers wrongly", () => {
  let cluster: SlurmCluster;
  let root: string;

  beforeAll(async () => {
    cluster = await SlurmCluster.start();
    root = mkdtempSync(path.join(tmpdir(), "headroom-faulty-"));
  }, 90_000);

  afterAll(async () => {
    await cluster.stop();
    rmSync(root, { recursive: true, force: true });
  }, 60_000);

  it(
    `runs ${jobCount} jobs once each, drops no record and leaves no job`,
    { timeout: 60_000 + jobCount * 5_000 },
    async () => {
      const commands = makeFaultyCommands(root, FAULT_PERCENT);
      const subject = {
        ...slurmSubject(cluster, () => undefined),
        rootDir: root,
        open: (homeDir: string) =>
          createSlurmExecutor({
            id: "slurm",
            settings: testSettings(cluster, path.join(homeDir, "shared"), { commands, commandTimeoutMs: 2_000 }),
            stateDir: path.join(homeDir, "state"),
            onProblem: () => undefined,
          }),
      };
      const world = await ConformanceWorld.create(subject);
      const { executor, observer } = world.watched();
      await untilAnswered(() => executor.inventory());
      const waiting = Array.from({ length: jobCount }, () =>
        world.launch(`echo $HEADROOM_ATTEMPT_ID $RANK >> ${root}/starts-$HEADROOM_ATTEMPT_ID-$RANK; sleep 1`, {
          accelerators: ["0", "1"],
        }),
      );
      const ends = new Map<string, string>();
      const work = async (): Promise<void> => {
        for (let launch = waiting.pop(); launch !== undefined; launch = waiting.pop()) {
          executor.perform(launch);
          const end = await observer.end(launch.attemptId);
          ends.set(launch.attemptId, end.kind === "attemptLost" ? end.detail : JSON.stringify(end.exits));
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, () => work()));
      const known = await executor.attempts();
      expect(known).toHaveLength(jobCount);
      expect([...ends.values()].filter((end) => /signalled|"code":[^0]|[a-z] /.test(end))).toEqual([]);
      const starts = readdirSync(root).filter((name) => name.startsWith("starts-"));
      expect(starts).toHaveLength(2 * jobCount);
      for (const name of starts) expect(readFileSync(path.join(root, name), "utf8").split("\n")).toHaveLength(2);
      await executor.close();
      await expect
        .poll(() => cluster.call("squeue", "--noheader", "--states=PENDING,RUNNING,COMPLETING"), { timeout: 30_000 })
        .toBe("");
      await world.dispose();
    },
  );
});

/** The inventory throws while answers contradict each other. */
async function untilAnswered(ask: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await ask();
      return;
    } catch {
      // The next answer may be right.
    }
  }
}
