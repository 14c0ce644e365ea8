/** Records of scontrol, and the JSON forms. */
import { describe, expect, it } from "vitest";
import { readRows, shortJobs } from "./testing/read-rows.ts";

const job = `JobId=14 ArrayJobId=4 ArrayTaskId=0 ArrayTaskThrottle=2 JobName=sweep
   UserId=u(1000) GroupId=u(1000) MCS_label=N/A
   JobState=RUNNING Reason=None Dependency=(null)
   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0
   DerivedExitCode=0:0
   RunTime=00:00:10 TimeLimit=UNLIMITED TimeMin=N/A
   SubmitTime=2026-11-28T10:17:53 EligibleTime=2026-11-28T10:17:54
   StartTime=2026-11-28T10:17:57 EndTime=Unknown Deadline=N/A
   NumNodes=2 NumCPUs=2 NumTasks=2 CPUs/Task=1 ReqB:S:C:T=0:0:*:*
   TRES=cpu=1,mem=500000M,node=1,billing=1,gres/gpu=1,gres/gpu:a100=1
   JOB_GRES=gpu:a100:1
     Nodes=gpu01 CPU_IDs=0 Mem=500000 GRES=gpu:a100:1(IDX:0)
   Comment=a | b
   TresPerNode=gres:gpu:1
   
`;
const node = `NodeName=gpu03 Arch=x86_64 CoresPerSocket=32 
   CPUAlloc=1 CPUEfctv=64 CPUTot=64 CPULoad=5.74
   Gres=gpu:a100:4(S:0-1)
   OS=Linux 6.1.0 #1 SMP PREEMPT_DYNAMIC @0 
   State=MIXED*+DRAIN ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   CfgTRES=cpu=64,mem=500000M,billing=64,gres/gpu=4
   Reason=NHC: nvidia-smi | hung [root@2026-11-28T10:22:27]
          second line

`;

describe("records of scontrol", () => {
  it("reads the file of jobcomp/filetxt", () => {
    const line =
      "JobId=7 UserId=ann(1000) GroupId=ann(1000) Name=train-3 JobState=COMPLETED Partition=gpu TimeLimit=60 StartTime=2026-11-28T10:00:00 EndTime=2026-11-28T10:10:00 NodeList=n1 NodeCnt=1 ProcCnt=1 WorkDir=/ ReservationName= Tres=cpu=1,node=1,billing=1,gres/gpu=4 Account=ml QOS= WcKey= Cluster=unknown SubmitTime=2026-11-28T09:59:00 EligibleTime=2026-11-28T09:59:00 DerivedExitCode=0:0 ExitCode=0:0";
    const { jobs, unread } = readRows(line);
    expect([jobs, unread]).toMatchObject([
      [{ id: "7", gpus: 4, charge: { account: "ml", user: "ann", name: "train-3" } }],
      [],
    ]);
  });

  it("reads several lines and one line alike", () => {
    const expected = {
      id: "4",
      array_task: 0,
      state: "RUNNING",
      submit: "2026-11-28T10:17:53Z",
      start: "2026-11-28T10:17:57Z",
      end: null,
      gpus: 1,
      exit_code: "0:0",
      charge: { account: null, limitS: null, user: "u", name: "sweep" },
    };
    const read = readRows(
      job + job.replace("JobId=14 ArrayJobId=4 ArrayTaskId=0 ", "JobId=15 HetJobId=15 HetJobOffset=1 "),
    );
    expect(read.jobs).toEqual([expected, { ...expected, id: "15+1", array_task: null }]);
    expect(read.unread).toEqual([]);
    expect(readRows(job.trim().replaceAll(/\s*\n\s*/g, " ")).jobs).toEqual([expected]);
  });

  it("reads GPUs of clusters that do not track them, and of 23.02 and later", () => {
    const untracked = job.replace(/TRES=.*/, "TRES=cpu=2,mem=1M,node=2,billing=2");
    expect(shortJobs(readRows(untracked))).toEqual(["4_0 RUNNING 2"]);
    const later = job.replace(/TRES=.*/, "ReqTRES=cpu=1,gres/gpu=8\n   AllocTRES=cpu=1,gres/gpu=6");
    expect(shortJobs(readRows(later))).toEqual(["4_0 RUNNING 6"]);
  });

  it("does not let the name of a job choose its state", () => {
    const forged = readRows(job.replace("JobName=sweep", "JobName=x JobState=COMPLETED ExitCode=1:0"));
    expect(forged.jobs).toEqual([]);
    expect(forged.unread).toMatchObject([
      { line: 1, reason: "JobState stands twice in the record, with COMPLETED and RUNNING" },
    ]);
  });

  it("reads nodes with a reason of several lines", () => {
    const read = readRows(`${node}${node.replace("gpu03", "gpu04").replace(/ {3}Reason[^]*/, "\n")}`);
    expect(read.nodes).toMatchObject([
      {
        name: "gpu03",
        state: "mixed+drain",
        reason: "NHC: nvidia-smi | hung\nsecond line",
        gpus: 4,
        flags: ["not_responding"],
      },
      { name: "gpu04", state: "mixed+drain", reason: null, gpus: 4, flags: ["not_responding"] },
    ]);
  });
});

const flat2205 = {
  meta: { Slurm: { release: "22.05.8" } },
  errors: [],
  jobs: [
    {
      job_id: 14,
      array_job_id: 4,
      array_task_id: 0,
      array_task_string: "",
      het_job_id: 0,
      het_job_offset: 0,
      job_state: "RUNNING",
      exit_code: 0,
      submit_time: 1_795_861_073,
      start_time: 1_795_861_077,
      end_time: 1_827_397_077,
      time_limit: null,
      tres_alloc_str: "cpu=1,gres/gpu=1,gres/gpu:a100=1",
      tres_req_str: "cpu=1,gres/gpu=1",
    },
    {
      job_id: 2,
      array_job_id: 0,
      array_task_id: null,
      job_state: "FAILED",
      exit_code: 768,
      end_time: 1_795_861_074,
      tres_alloc_str: "",
      tres_req_str: "",
    },
    {
      job_id: 4,
      array_job_id: 4,
      array_task_id: null,
      array_task_string: "2-9%2",
      job_state: "PENDING",
      exit_code: 0,
      tres_alloc_str: "",
      tres_req_str: "gres/gpu=2",
    },
  ],
};
const number = (value: number): object => ({ set: true, infinite: false, number: value });
const unset = { set: false, infinite: false, number: 0 };
const accounting2411 = {
  jobs: [
    {
      job_id: 77,
      array: { job_id: 70, task_id: number(3), task: "" },
      het: { job_id: 0, job_offset: unset },
      state: { current: ["OUT_OF_MEMORY"], reason: "None" },
      exit_code: { status: ["SIGNALED"], return_code: number(0), signal: { id: number(9), name: "KILL" } },
      time: { submission: 1_795_861_073, start: 1_795_861_074, end: 1_795_861_076 },
      tres: {
        allocated: [
          { type: "cpu", name: "", count: 8 },
          { type: "gres", name: "gpu:h100", count: 8 },
        ],
        requested: [],
      },
      steps: [{ state: ["COMPLETED"] }],
    },
    {
      job_id: 78,
      array: { job_id: 0 },
      het: { job_id: 78, job_offset: number(0) },
      state: { current: ["RUNNING", "COMPLETING"] },
      exit_code: { status: ["SUCCESS"], return_code: unset },
      time: { submission: 1, start: 0, end: 0 },
      tres: { allocated: [], requested: [] },
    },
  ],
};

describe("the JSON forms", () => {
  it.each([1 << 20, 7])("reads squeue 22.05 in pieces of %d bytes", (pieceBytes) => {
    const read = readRows(JSON.stringify(flat2205, null, 2), undefined, pieceBytes);
    expect(shortJobs(read)).toEqual(["4_0 RUNNING 1", "2 FAILED 0", "4_2-9%2 PENDING 2"]);
    expect(read.jobs.map((row) => row.exit_code)).toEqual(["0:0", "3:0", "0:0"]);
    expect(read.jobs[0]).toMatchObject({ start: "2026-11-28T10:17:57Z", end: null });
  });

  it("reads sacct 24.11", () => {
    const read = readRows(JSON.stringify(accounting2411));
    expect(read.jobs).toEqual([
      {
        id: "70",
        array_task: 3,
        state: "OUT_OF_MEMORY",
        submit: "2026-11-28T10:17:53Z",
        start: "2026-11-28T10:17:54Z",
        end: "2026-11-28T10:17:56Z",
        gpus: 8,
        exit_code: "0:9",
      },
      {
        id: "78+0",
        array_task: null,
        state: "COMPLETING",
        submit: "1970-01-01T00:00:01Z",
        start: null,
        end: null,
        gpus: 0,
        exit_code: null,
      },
    ]);
  });

  it("reads nodes of 22.05, of scontrol 23.11 and of sinfo 24.11", () => {
    const old = readRows(
      JSON.stringify({
        nodes: [{ name: "a", state: "idle", state_flags: ["DRAIN"], gres: "gpu:a100:4", reason: "x" }],
      }),
    );
    expect(old.nodes).toMatchObject([{ name: "a", state: "idle+drain", reason: "x", gpus: 4 }]);
    const listed = readRows(
      JSON.stringify({
        nodes: [
          { name: "a", state: ["DOWN", "DRAIN", "NOT_RESPONDING"], gres: "", tres: "cpu=1,gres/gpu=8", reason: "" },
        ],
      }),
    );
    expect(listed.nodes).toMatchObject([
      { name: "a", state: "down+drain", reason: null, gpus: 8, flags: ["not_responding"] },
    ]);
    const grouped = readRows(
      JSON.stringify({
        sinfo: [
          {
            node: { state: ["MIXED"] },
            nodes: { nodes: ["a", "b"] },
            gres: { total: "gpu:l40s:4(S:0-1)" },
            reason: { description: "" },
          },
        ],
      }),
    );
    expect(grouped.nodes.map(({ name, gpus }) => [name, gpus])).toEqual([
      ["a", 4],
      ["b", 4],
    ]);
  });

  it("reads the bit mask of pending tasks that sacct has in JSON, and no count that is not set", () => {
    const accounting = (id: number, task: string, gpu: number): object => ({
      job_id: id,
      array: { job_id: id, task, task_id: unset },
      state: { current: ["PENDING"] },
      tres: { allocated: [], requested: [{ type: "gres", name: "gpu", count: gpu }] },
    });
    const jobs = [
      accounting(80, "0x7FE%2", 4),
      accounting(81, "0x800000000000000B", -2),
      accounting(82, "0xZ", 2 ** 64),
    ];
    expect(shortJobs(readRows(JSON.stringify({ jobs })))).toEqual([
      "80_1-10%2 PENDING 4",
      "81_0-1,3,63 PENDING -",
      "82_0xZ PENDING -",
    ]);
  });

  it("reads a record with numbers that JSON does not have, in fields that are not read", () => {
    const text = '{"jobs":[{"job_id":1,"job_state":["RUNNING"],"billable_tres":NaN,"x":-Infinity,"name":"NaN"}]}';
    expect(readRows(text)).toMatchObject({ jobs: [{ id: "1", charge: { name: "NaN" } }], unread: [] });
    expect(readRows('{"jobs":[{"job_id":NaN,"job_state":["RUNNING"]}]}').jobs).toEqual([]);
  });

  it("reads a text with line feeds behind backslashes once, not from each of its quotes", () => {
    const text = `{"jobs":[{"job_id":1,"name":"${'\\"'.repeat(300_000)}\\\n"},{"job_id":2,"job_state":["RUNNING"]}]}`;
    expect(readRows(text)).toMatchObject({ jobs: [{ id: "2" }], unread: [{}] });
  });

  it("reports what cannot be read with its line, and reads the rest", () => {
    const text = `{ "errors": [{"error": "Unable to contact", "error_number": 1}],\n"jobs": [\n{"job_id": 1, "job_state": "RUNNING"},\n{"job_id": "x"},\n{"__proto__": {"job_id": 5}},\n{"job_id": 3, "job_state": ["NEW_STATE"]},\n{"job_id": 4,, },\n{"job_id": 5, "job_st`;
    const read = readRows(text);
    expect(shortJobs(read)).toEqual(["1 RUNNING -"]);
    expect(read.unread.map(({ line }) => line)).toEqual([1, 4, 5, 6, 7, 8]);
    expect(read.unread.at(-1)?.reason).toBe("the JSON ends within this record");
  });

  it("bounds depth and length", () => {
    const deep = `{"jobs":[{"job_id":1,"x":${"[".repeat(100_000)}${"]".repeat(100_000)}},{"job_id":2,"job_state":"RUNNING"}]}`;
    const read = readRows(deep);
    expect(shortJobs(read)).toEqual(["2 RUNNING -"]);
    expect(read.unread[0]?.reason).toContain("nested more than 64 levels deep");
    const long = readRows(`JobID|State\n1|${"x".repeat(3 << 20)}\n2|RUNNING\n`);
    expect(shortJobs(long)).toEqual(["2 RUNNING -"]);
    expect(long.unread[0]).toMatchObject({
      line: 2,
      reason: "the line has 3145730 bytes; no line of Slurm is that long",
    });
  });

  it("finds JSON after messages of the tool, and a list without a name", () => {
    expect(shortJobs(readRows(`squeue: error: noise\n${JSON.stringify(flat2205, null, 2)}`))).toHaveLength(3);
    expect(shortJobs(readRows(JSON.stringify(flat2205.jobs)))).toHaveLength(3);
    expect(readRows("{}").unread).toMatchObject([{ reason: "the JSON has no list of jobs or nodes" }]);
  });
});
