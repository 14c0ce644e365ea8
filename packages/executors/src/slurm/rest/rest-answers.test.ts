/** Answers of slurmrestd in the forms of 22.05 and of later versions. */
import { describe, expect, it } from "vitest";
import { jobLines, nodeLines, partitionLines } from "./rest-answers.ts";

const answer = (content: object): string => JSON.stringify({ meta: {}, errors: [], ...content });
const set = (number: number): object => ({ set: true, infinite: false, number });

describe("answers of slurmrestd", () => {
  it("give the lines of squeue, whatever others write into names and reasons", () => {
    const jobs = [
      { job_id: 7, job_state: "RUNNING", state_reason: "None", user_id: 0, name: "headroom-a-w1.1" },
      {
        job_id: 8,
        job_state: ["RUNNING", "COMPLETING"],
        state_reason: "a|b",
        user_id: 5,
        name: "x\n9|RUNNING|None|0|y",
      },
      { job_id: 11, het_job_id: set(10), job_state: ["PENDING"], state_reason: "Priority", user_id: 0, name: "h" },
      { job_state: [], name: "unreadable" },
    ];
    expect(jobLines(answer({ jobs })).split("\n")).toEqual([
      "7|RUNNING|None|0|headroom-a-w1.1",
      "8|COMPLETING|a b|5|x 9|RUNNING|None|0|y",
      "10|PENDING|Priority|0|h",
      "?|?||?|unreadable",
      "",
    ]);
  });

  it("give the lines of scontrol about nodes", () => {
    const old = { name: "n1", cpus: 16, alloc_cpus: 1, real_memory: 64_000, alloc_memory: 0, state: "mixed" };
    const amounts = {
      gres: "gpu:h100:4",
      gres_used: "gpu:h100:2(IDX:0-1)",
      address: "10.0.0.1",
      partitions: ["a", "b"],
    };
    const recent = { name: "n2", cpus: set(8), state: ["IDLE", "DRAIN"], reason: "bad\nNodeName=n3", partitions: "a" };
    const nodes = [{ ...old, ...amounts, state_flags: ["DRAIN"], active_features: "" }, recent];
    expect(nodeLines(answer({ nodes })).split("\n")).toEqual([
      "NodeName=n1 CPUAlloc=1 CPUTot=16 Gres=gpu:h100:4 GresUsed=gpu:h100:2(IDX:0-1) NodeAddr=10.0.0.1 RealMemory=64000 AllocMem=0 State=MIXED+DRAIN Partitions=a,b",
      "NodeName=n2 CPUTot=8 State=IDLE+DRAIN Partitions=a Reason=bad NodeName=n3",
      "",
    ]);
  });

  it("give the lines of scontrol about partitions", () => {
    const old = { name: "gpu", nodes: "n[1-2]", default_time_limit: null, max_time_limit: -1 };
    const recent = {
      name: "cpu",
      nodes: { configured: "n3" },
      defaults: { time: set(1_530) },
      maximums: { time: set(2_880) },
    };
    expect(partitionLines(answer({ partitions: [old, recent] })).split("\n")).toEqual([
      "PartitionName=gpu DefaultTime=UNLIMITED MaxTime=UNLIMITED Nodes=n[1-2]",
      "PartitionName=cpu DefaultTime=1-01:30:00 MaxTime=2-00:00:00 Nodes=n3",
      "",
    ]);
  });

  it("are refused if they are no list, or report an error", () => {
    expect(() => jobLines("")).toThrow("is not JSON");
    expect(() => jobLines("<html>")).toThrow("is not JSON");
    expect(() => jobLines("null")).toThrow("no list of jobs");
    expect(() => jobLines(answer({}))).toThrow("no list of jobs");
    expect(() =>
      nodeLines(JSON.stringify({ errors: [{ error: "Unable to contact slurm controller" }], nodes: [] })),
    ).toThrow("slurmrestd: Unable to contact slurm controller");
  });
});
