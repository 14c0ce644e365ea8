import { expect, it } from "vitest";
import { execRefusal } from "./exec-refusal.ts";

it("names the command of Slurm, and repeats no text that a job's user wrote", () => {
  expect(execRefusal("17", "n1").message).toMatch(/Use: srun --jobid=17 --nodelist=n1 --overlap --pty sh$/);
  expect(execRefusal("17; rm -rf ~", "n1").message).not.toContain("rm -rf");
  expect(execRefusal("17", "n1 --bcast=x").message).not.toContain("bcast");
});
