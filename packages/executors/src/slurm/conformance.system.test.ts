/**
 * The conformance cases on two real Slurm clusters, each with a controller, slurmrestd and four node daemons on this machine. A third of the
 * cases read the state of their cluster through slurmrestd over its socket, a third over HTTP with a token, the others by commands.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { conformanceCasesFor, runConformanceCase } from "../conformance/conformance.ts";
import type { SlurmSettings } from "./settings.ts";
import { slurmSubject } from "./testing/conformance-subject.ts";
import { SlurmCluster, whyNoCluster } from "./testing/slurm-cluster.ts";

const missing = whyNoCluster();
if (missing !== null) process.stderr.write(`*** The Slurm executor was not tested: ${missing}\n`);
const hasRest = existsSync("/usr/sbin/slurmrestd") && process.getuid?.() === 0;
if (!hasRest)
  process.stderr.write(
    "*** slurmrestd was not tested: it is not installed (Debian: slurmrestd), or this is not root\n",
  );

type Way = Partial<SlurmSettings>;

async function waysOf(cluster: SlurmCluster): Promise<readonly Way[]> {
  const { restAddress, restUrl } = cluster;
  const overSocket = restAddress === null ? [] : [{ restAddress }];
  if (restUrl === null) return [{}, ...overSocket];
  return [{}, ...overSocket, { restAddress: restUrl, restTokenFile: await cluster.tokenFile(), restUser: "root" }];
}

describe.skipIf(missing !== null)("the Slurm executor conforms", () => {
  const problems: string[] = [];
  let cluster: SlurmCluster;
  let other: SlurmCluster;
  /** Settings of the ways to read the first cluster: its commands, then those through slurmrestd that this machine has. */
  let ways: readonly Way[];
  /** Clusters by turns, each read in all ways. */
  let places: readonly { readonly cluster: SlurmCluster; readonly way: Way }[];

  beforeAll(async () => {
    // One after the other, since both take free ports.
    cluster = await SlurmCluster.start();
    other = await SlurmCluster.start();
    if (hasRest && cluster.restUrl === null)
      process.stderr.write(
        "*** slurmrestd was not tested over HTTP: Slurm lacks tokens (Debian: slurm-wlm-jwt-plugin)\n",
      );
    ways = await waysOf(cluster);
    const waysOfOther = await waysOf(other);
    places = ways.flatMap((way, index) => [
      { cluster, way },
      { cluster: other, way: waysOfOther[index] ?? {} },
    ]);
  }, 90_000);

  afterAll(async () => {
    await Promise.all([cluster?.stop(), other?.stop()]);
  }, 60_000);

  it.for(conformanceCasesFor({}).map((each, index) => [each.name, each, index] as const))(
    "%s",
    { timeout: 120_000, concurrent: true },
    async ([, conformanceCase, index]) => {
      const place = places[index % places.length] ?? { cluster, way: {} };
      const subject = slurmSubject(place.cluster, (message) => problems.push(message), place.way);
      await expect(runConformanceCase(subject, conformanceCase)).resolves.toBeUndefined();
      expect(problems).toEqual([]);
    },
  );

  it.skipIf(!hasRest)(
    "reads the same nodes through slurmrestd, and by commands with the reason once it is gone or refuses the token",
    async () => {
      const root = mkdtempSync(path.join(tmpdir(), "headroom-rest-"));
      const told: string[] = [];
      const opened = ways.map((more, index) =>
        slurmSubject(cluster, (message) => told.push(message), more).open(path.join(root, String(index))),
      );
      try {
        const [byCommands, ...throughRest] = await Promise.all(opened.map((executor) => executor.inventory()));
        for (const each of throughRest) expect(each).toEqual(byCommands);
        expect(byCommands?.nodes).toHaveLength(4);
        expect(told).toEqual([]);
        await cluster.kill("slurmrestd");
        expect((await opened[1]?.inventory())?.nodes).toEqual(byCommands?.nodes);
        expect(told).toEqual([
          expect.stringMatching(/^Slurm is read by its commands: slurmrestd: .*(ECONNREFUSED|ENOENT)/),
        ]);
        const overHttp = opened[2];
        if (overHttp === undefined) return;
        writeFileSync(ways[2]?.restTokenFile ?? "", "SLURM_JWT=wrong\n");
        expect((await overHttp.inventory()).nodes).toEqual(byCommands?.nodes);
        expect(told[1]).toMatch(/^Slurm is read by its commands: slurmrestd: status (401|500) /);
      } finally {
        await Promise.all(opened.map((executor) => executor.close()));
        rmSync(root, { recursive: true, force: true, maxRetries: 5 });
      }
    },
  );
});
