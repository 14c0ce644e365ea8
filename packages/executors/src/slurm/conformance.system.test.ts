/**
 * The conformance cases on a real Slurm cluster: one controller and four node daemons on this machine. Half of the cases read its state
 * through slurmrestd, the others by commands.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { conformanceCasesFor, runConformanceCase } from "../conformance/conformance.ts";
import { slurmSubject } from "./testing/conformance-subject.ts";
import { SlurmCluster, whyNoCluster } from "./testing/slurm-cluster.ts";

const missing = whyNoCluster();
if (missing !== null) process.stderr.write(`*** The Slurm executor was not tested: ${missing}\n`);
const hasRest = existsSync("/usr/sbin/slurmrestd") && process.getuid?.() === 0;
if (!hasRest)
  process.stderr.write(
    "*** slurmrestd was not tested: it is not installed (Debian: slurmrestd), or this is not root\n",
  );

describe.skipIf(missing !== null)("the Slurm executor conforms", () => {
  const problems: string[] = [];
  let cluster: SlurmCluster;

  beforeAll(async () => {
    cluster = await SlurmCluster.start();
  }, 90_000);

  afterAll(() => cluster.stop(), 60_000);

  it.for(conformanceCasesFor({}).map((each, index) => [each.name, each, index] as const))(
    "%s",
    { timeout: 120_000, concurrent: true },
    async ([, conformanceCase, index]) => {
      const { restAddress } = cluster;
      const rest = restAddress === null || index % 2 === 0 ? {} : { restAddress };
      const subject = slurmSubject(cluster, (message) => problems.push(message), rest);
      await expect(runConformanceCase(subject, conformanceCase)).resolves.toBeUndefined();
      expect(problems).toEqual([]);
    },
  );

  it.skipIf(!hasRest)(
    "reads the same nodes through slurmrestd, and by commands with the reason once it is gone",
    async () => {
      const root = mkdtempSync(path.join(tmpdir(), "headroom-rest-"));
      const told: string[] = [];
      const rest = { restAddress: cluster.restAddress ?? "" };
      const opened = [{}, rest].map((more, index) =>
        slurmSubject(cluster, (message) => told.push(message), more).open(path.join(root, String(index))),
      );
      try {
        const [byCommands, throughRest] = await Promise.all(opened.map((executor) => executor.inventory()));
        expect(throughRest).toEqual(byCommands);
        expect(throughRest?.nodes).toHaveLength(4);
        expect(told).toEqual([]);
        await cluster.kill("slurmrestd");
        expect((await opened[1]?.inventory())?.nodes).toEqual(byCommands?.nodes);
        expect(told).toEqual([
          expect.stringMatching(/^Slurm is read by its commands: slurmrestd: .*(ECONNREFUSED|ENOENT)/),
        ]);
      } finally {
        await Promise.all(opened.map((executor) => executor.close()));
        rmSync(root, { recursive: true, force: true, maxRetries: 5 });
      }
    },
  );
});
