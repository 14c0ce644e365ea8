import { expect, it } from "vitest";
import { execRefusal as slurmRefusal } from "../../slurm/executor/exec-refusal.ts";
import { execRefusal } from "./exec-refusal.ts";

const place = { version: 1, namespace: "ml", base: "hr-w1-1-abc" } as const;

it("names the command of Kubernetes for the pod of the worker", () => {
  expect(execRefusal(place, 2).message).toMatch(/Use: kubectl exec -it -n ml hr-w1-1-abc-2 -c worker -- sh$/);
  const pods = [{ name: "train-0", uid: "u", container: "main" }];
  expect(execRefusal({ ...place, version: 2, pods }, 0).message).toMatch(/-n ml train-0 -c main -- sh$/);
  expect(execRefusal(null, 0)).toMatchObject({ code: "cannotExec" });
});

it("names the command of Slurm, and repeats no text that a job's user wrote", () => {
  expect(slurmRefusal("17", "n1").message).toMatch(/Use: srun --jobid=17 --nodelist=n1 --overlap --pty sh$/);
  expect(slurmRefusal("17; rm -rf ~", "n1").message).not.toContain("rm -rf");
  expect(slurmRefusal("17", "n1 --bcast=x").message).not.toContain("bcast");
});
