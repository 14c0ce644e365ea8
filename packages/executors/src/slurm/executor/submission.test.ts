import { attemptId, nodeId, poolName, teamName, workloadId } from "@headroom/model";
import type { LaunchGang, NodeId, WorkloadSpec } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { slurmSettings } from "../settings.ts";
import type { ClusterNode } from "./cluster-nodes.ts";
import { sharesOf, submissionArgs } from "./submission.ts";

const names = { jobName: "job", comment: "c", outputFile: "/o", script: "/s.sh", scriptArgs: ["a; rm -rf /"] };

function node(name: string): ClusterNode {
  const spec = { pool: poolName("p"), fabric: [], acceleratorCount: 8, coresMilli: 64_000, memoryMib: 512_000 };
  const id = nodeId(`slurm-${name}`);
  return { id, name, partition: "gpu", address: name, gresType: "h100", limitMinutes: null, spec: { id, ...spec } };
}

const nodes: ReadonlyMap<NodeId, ClusterNode> = new Map(
  ["n1", "n2", "n3"].map((name) => [nodeId(`slurm-${name}`), node(name)]),
);

function launch(
  workers: readonly (readonly [string, string])[],
  more: Partial<Pick<WorkloadSpec, "gang" | "walltimeMs">> = {},
): LaunchGang {
  const spec = {
    kind: "train",
    name: "w",
    team: teamName("t"),
    run: "true",
    dir: null,
    env: {},
    gang: { workers: workers.length, accelerators: 1, coresMilli: 0, memoryMib: 0 },
    acceleratorTypes: [],
    priority: 0,
    walltimeMs: null,
    retries: { max: 0, backoffMs: 0, backoffMaxMs: 0 },
    graceTimeoutMs: 30_000,
    checkpointDir: null,
    ...more,
  } satisfies WorkloadSpec;
  return {
    kind: "launchGang",
    executor: "slurm",
    attemptId: attemptId("w1.1"),
    workloadId: workloadId("w1"),
    task: 0,
    number: 1,
    actor: "tester",
    spec,
    workers: workers.map(([name, accelerators]) => ({ node: nodeId(`slurm-${name}`), accelerators })),
    sequence: 1,
  };
}

const argsOf = (gang: LaunchGang, settings: object = {}): readonly string[] =>
  submissionArgs(gang, sharesOf(gang, nodes), names, slurmSettings.parse({ directory: "/d", ...settings }), {
    runAs: null,
    account: "ml",
  });

const placed = (args: readonly string[]): readonly string[] =>
  args.filter((arg) => /^--(?:nodelist|nodes|ntasks|cpus-per-task|mem|gres)=|^:$/.test(arg));

describe("the submission of a gang", () => {
  it("asks for exactly the nodes and accelerators, with their part of cores and memory", () => {
    expect(
      placed(
        argsOf(
          launch([
            ["n2", "0-3"],
            ["n1", "0-3"],
          ]),
        ),
      ),
    ).toEqual([
      "--nodelist=n2,n1",
      "--nodes=2",
      "--ntasks=2",
      "--cpus-per-task=32",
      "--mem=256000M",
      "--gres=gpu:h100:4",
    ]);
  });

  it("sums the workers of a node, and makes unlike nodes components of a heterogeneous job", () => {
    const gang = launch(
      [
        ["n1", "0"],
        ["n1", "1"],
        ["n2", "4"],
      ],
      {
        gang: { workers: 3, accelerators: 1, coresMilli: 2_000, memoryMib: 1_000 },
      },
    );
    expect(placed(argsOf(gang)).join(" ")).toBe(
      "--nodelist=n1 --nodes=1 --ntasks=1 --cpus-per-task=4 --mem=2000M --gres=gpu:h100:2 : " +
        "--nodelist=n2 --nodes=1 --ntasks=1 --cpus-per-task=2 --mem=1000M --gres=gpu:h100:1",
    );
  });

  it("never lets Slurm queue the job again, and passes on what the settings name", () => {
    const args = argsOf(launch([["n1", "0"]], { walltimeMs: 3_600_000 }), {
      qos: "high",
      constraint: "a&b",
    });
    expect(args).toEqual(
      expect.arrayContaining(["--no-requeue", "--account=ml", "--qos=high", "--constraint=a&b", "--time=71"]),
    );
    expect(args.slice(-2)).toEqual(["/s.sh", "a; rm -rf /"]);
  });

  it("refuses parts of accelerators, which Slurm would give out as whole ones", () => {
    const half = launch([["n1", "0"]], {
      gang: { workers: 1, accelerators: 1, shareMilli: 500, coresMilli: 0, memoryMib: 0 },
    });
    expect(() => sharesOf(half, nodes)).toThrow("whole accelerators");
  });
});
