/** The conformance cases on a real Slurm cluster: one controller and four node daemons on this machine. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { conformanceCasesFor, runConformanceCase } from "../conformance/conformance.ts";
import { slurmSubject } from "./testing/conformance-subject.ts";
import { SlurmCluster, whyNoCluster } from "./testing/slurm-cluster.ts";

const missing = whyNoCluster();
if (missing !== null) process.stderr.write(`*** The Slurm executor was not tested: ${missing}\n`);

describe.skipIf(missing !== null)("the Slurm executor conforms", () => {
  const problems: string[] = [];
  let cluster: SlurmCluster;

  beforeAll(async () => {
    cluster = await SlurmCluster.start();
  }, 90_000);

  afterAll(() => cluster.stop(), 60_000);

  it.for(conformanceCasesFor({}).map((each) => [each.name, each] as const))(
    "%s",
    { timeout: 120_000, concurrent: true },
    async ([, conformanceCase]) => {
      const subject = slurmSubject(cluster, (message) => problems.push(message));
      await expect(runConformanceCase(subject, conformanceCase)).resolves.toBeUndefined();
      expect(problems).toEqual([]);
    },
  );
});
