/** Changes of work that would run with the rights of its submitter. */
import { workloadId } from "@headroom/model";
import { expect, it } from "vitest";
import { Drive } from "./lab/drive.ts";
import { applied, command, node, pool, site, spec, team } from "./lab/make.ts";

const executor = (submitters: boolean) =>
  ({
    kind: "executorSeen",
    executor: {
      id: pool("H100").executor,
      kind: "slurm",
      capabilities: {
        checkpointOnRequest: true,
        resize: false,
        replaceWorkers: false,
        logs: true,
        ...(submitters ? { submitters } : {}),
      },
    },
  }) as const;

const begun = (submitters: boolean): Drive => {
  const drive = new Drive();
  drive.receive(executor(submitters), applied({ sites: [site], pools: [pool("H100")], teams: [team("default")] }));
  drive.receive({ kind: "nodeSeen", node: node("n1", "H100") });
  drive.receive({ ...command({ kind: "submitWorkload", spec: { ...spec("a"), hold: true } }), actor: "alice" });
  return drive;
};

const id = workloadId("w1");
const envOf = (drive: Drive): object => drive.engine.state.workloads.get(id)?.spec.env ?? {};

const change = (drive: Drive, actor: string, changes: object) =>
  drive.receive({ ...command({ kind: "changeWorkload", workloadId: id, changes }), actor });

const apply = (drive: Drive, actor: string, changes: object) => {
  const workloads = [{ ...spec("a"), hold: true as const, ...changes }];
  return drive.receive({ ...applied({ workloads }), actor });
};

const BASH_ENV = { env: { BASH_ENV: "/tmp/x" } };

it.for([
  ["a change", change],
  ["a document", apply],
] as const)("%s of what runs is refused for others than the submitter", ([, by]) => {
  const drive = begun(true);
  const { replies } = by(drive, "mallory", BASH_ENV);
  expect(replies[0]).toMatchObject({
    kind: "rejected",
    rejection: { code: "cannotChange", field: "env", cause: "otherSubmitter" },
  });
  expect(envOf(drive)).toEqual({});
  by(drive, "alice", BASH_ENV);
  expect(envOf(drive)).toEqual(BASH_ENV.env);
});

it("leaves other fields to the team, and all fields without a rule for submitters", () => {
  const drive = begun(true);
  change(drive, "mallory", { priority: 5 });
  expect(drive.engine.state.workloads.get(id)?.spec.priority).toBe(5);
  const free = begun(false);
  change(free, "mallory", BASH_ENV);
  expect(envOf(free)).toEqual(BASH_ENV.env);
});
