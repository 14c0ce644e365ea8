/** Tables of sacct, squeue and sinfo. Rows marked 22.05 come from a cluster of that version, run for this purpose. */
import { describe, expect, it } from "vitest";
import { readRows, shortJobs } from "./testing/read-rows.ts";
import { zoneNamed } from "./zone.ts";

const sacctDefault = `JobID           JobName  Partition    Account  AllocCPUS      State ExitCode 
------------ ---------- ---------- ---------- ---------- ---------- -------- 
1                 train       main       root          1  COMPLETED      0:0 
1.batch           batch                  root          1  COMPLETED      0:0 
1.0               sleep                  root          1  COMPLETED      0:0 
3                oomish       main       root          1     FAILED      0:9 
4_0               sweep       main       root          1    RUNNING      0:0 
10           spaced na+       main       root          1 OUT_OF_ME+      0:0 
11+1               het2       main       root          1    PENDING      0:0 
13             cancelme       main       root          1 CANCELLED+      0:0 
`;

describe("tables of sacct", () => {
  it("reads the default columns of 22.05, without steps", () => {
    const read = readRows(sacctDefault);
    expect(shortJobs(read)).toEqual([
      "1 COMPLETED -",
      "3 FAILED -",
      "4_0 RUNNING -",
      "10 OUT_OF_MEMORY -",
      "11+1 PENDING -",
      "13 CANCELLED -",
    ]);
    expect(read.jobs[1]).toMatchObject({ exit_code: "0:9", submit: null });
    expect([read.steps, read.unread]).toEqual([2, []]);
  });

  it("does not guess ids, states and counts that a column cut off", () => {
    const line = (id: string, state: string, tres: string): string =>
      `${id.padEnd(12)} ${state.padStart(10)} ${tres.padStart(35)} `;
    const read = readRows(
      [
        line("JobID", "State", "AllocTRES"),
        line("-".repeat(12), "-".repeat(10), "-".repeat(35)),
        line("123456_[10-+", "PENDING", ""),
        line("1234567.bat+", "COMPLETED", "cpu=1,gres/gpu=1"),
        line("12345678901+", "COMPLETED", "cpu=1,gres/gpu=1"),
        line("5", "COMPLETED", "billing=1,cpu=1,gres/gpu:a100=2,gr+"),
        line("6", "COMPLETED", "billing=1,gres/gpu=2,gres/gpu:a100+"),
        line("7", "RE+", "cpu=1"),
      ].join("\n"),
    );
    expect(shortJobs(read)).toEqual(["5 COMPLETED -", "6 COMPLETED 2"]);
    expect(read.unread.map(({ line, reason }) => [line, reason])).toEqual([
      [3, 'JobID: the id "123456_[10-+" is cut off; print the column wider, such as JobID%30'],
      [5, 'JobID: the id "12345678901+" is cut off; print the column wider, such as JobID%30'],
      [8, 'State: "RE+" is no state of a job'],
    ]);
  });

  it("reads --parsable and --parsable2 with times in the zone of the cluster", () => {
    const rows = [
      "JobID|Submit|Start|End|State|ExitCode|AllocTRES|ReqTRES|",
      "7|2026-07-01T23:59:58|2026-07-02T00:00:00|2026-07-02T00:00:01|CANCELLED by 1000|0:15|billing=8,cpu=8,gres/gpu:a100=2,gres/gpu:h100=1,node=1|gres/gpu=3|",
      "8_[5-10%2]|2026-01-01T12:00:00|Unknown|Unknown|PENDING|0:0||cpu=1,gres/gpu=4|",
      "9|2026-01-01T12:00:00|None|2026-01-01T12:00:01|CANCELLED|0:0||cpu=1|",
    ];
    const berlin = zoneNamed("Europe/Berlin");
    expect(berlin).not.toBeNull();
    const read = readRows(rows.join("\n"), berlin ?? undefined);
    expect(read.unread).toEqual([]);
    expect(read.jobs).toMatchObject([
      {
        id: "7",
        state: "CANCELLED",
        submit: "2026-07-01T21:59:58Z",
        start: "2026-07-01T22:00:00Z",
        end: "2026-07-01T22:00:01Z",
        gpus: 3,
        exit_code: "0:15",
      },
      { id: "8", array_task: "5-10%2", submit: "2026-01-01T11:00:00Z", start: null, gpus: 4 },
      { id: "9", start: null, end: "2026-01-01T11:00:01Z", gpus: 0 },
    ]);
    expect(readRows(rows.map((row) => row.replace(/\|$/, "")).join("\r\n"), berlin ?? undefined)).toEqual(read);
  });

  it("reads names and comments with delimiters and line ends", () => {
    const read = readRows(
      [
        "JobID|JobName|Comment|State|ExitCode",
        "1|a | b|x|COMPLETED|0:0",
        "2|first",
        "second|x|FAILED|1:0",
        "3|cut of",
        "4|c|x|RUNNING|0:0",
        "5|d|x|NOT_A_STATE|0:0",
      ].join("\n"),
    );
    expect(shortJobs(read)).toEqual(["1 COMPLETED -", "2 FAILED -", "4 RUNNING -"]);
    expect(read.unread).toEqual([
      { line: 5, reason: "expected 5 columns, got 2", text: "3|cut of" },
      { line: 7, reason: 'State: "NOT_A_STATE" is no state of a job', text: "5|d|x|NOT_A_STATE|0:0" },
    ]);
  });

  it("takes no line of a comment for a record of scontrol", () => {
    const read = readRows(
      "JobID|Comment|State|ReqTRES\n1|starts\nJobId=77 is its parent\nNodeName=x\n\nend|COMPLETED|gres/gpu:h100=8\n2|x|FAILED|cpu=1\n",
    );
    expect([shortJobs(read), read.nodes, read.unread]).toEqual([["1 COMPLETED 8", "2 FAILED 0"], [], []]);
  });

  it("reads other delimiters, unknown columns and bytes that are no UTF-8", () => {
    expect(shortJobs(readRows("JobID;NewField;State\n1;x;COMPLETED\n2;y;FAILED\n"))).toEqual([
      "1 COMPLETED -",
      "2 FAILED -",
    ]);
    expect(shortJobs(readRows("JobID,State,AllocTRES\n1,COMPLETED,billing=1,cpu=1,gres/gpu=2\n"))).toEqual([
      "1 COMPLETED 2",
    ]);
    const bytes = Buffer.concat([
      Buffer.from("JobID|JobName|State\n1|"),
      Buffer.from([0xff, 0xfe, 0x80]),
      Buffer.from("|COMPLETED\n"),
    ]);
    expect(shortJobs(readRows(bytes))).toEqual(["1 COMPLETED -"]);
  });

  it("reports times without a date and reads the rest of the row", () => {
    const read = readRows(
      "JobID|Submit|Start|State\n1|Ystday 10:17|10:17:54|RUNNING\n2|2026-02-30T10:00:00|Unknown|PENDING\n",
    );
    expect(read.jobs).toMatchObject([{ id: "1", submit: null, start: null }]);
    expect(read.unread.map(({ line }) => line)).toEqual([2, 3]);
    expect(read.unread[0]?.reason).toContain("has no date");
    expect(read.unread[1]?.reason).toBe("Submit: the time 2026-02-30T10:00:00 does not exist");
  });

  it("reads times in seconds and with an offset", () => {
    const read = readRows("JobID|Submit|Start|State\n1|1795861073|2026-11-28T11:17:54+0100|RUNNING\n");
    expect(read.jobs[0]).toMatchObject({ submit: "2026-11-28T10:17:53Z", start: "2026-11-28T10:17:54Z" });
  });

  it("shows lines without a header", () => {
    expect(readRows("1|COMPLETED\n").unread).toMatchObject([{ line: 1, text: "1|COMPLETED" }]);
  });
});

const squeueLong = `Sat Nov 28 23:59:59 2026
             JOBID PARTITION     NAME     USER    STATE       TIME TIME_LIMI  NODES NODELIST(REASON)
         4_[2-9%2]      main    sweep     root  PENDING       0:00 UNLIMITED      1 (JobArrayTaskLimit)
                 5      main     long     root  PENDING       0:00 3-12:30:00      1 (BeginTime)
              11+0      main  a b c d     root  PENDING       0:00 UNLIMITED      1 (Nodes required for job are DOWN, DRAINED)
               4_0      main    sweep     root COMPLETI 1-00:00:10 UNLIMITED      1 gpu01

Sun Nov 29 00:00:04 2026
             JOBID PARTITION     NAME     USER    STATE       TIME TIME_LIMI  NODES NODELIST(REASON)
               4_1      main    sweep     root  RUNNING       0:10 UNLIMITED      1 gpu02
`;

describe("tables of squeue", () => {
  it("reads repeated tables of --long over midnight", () => {
    const read = readRows(squeueLong);
    expect(shortJobs(read)).toEqual([
      "4_2-9%2 PENDING -",
      "5 PENDING -",
      "11+0 PENDING -",
      "4_0 COMPLETING -",
      "4_1 RUNNING -",
    ]);
    expect(read.unread).toEqual([]);
  });

  it("reads a format with a delimiter, and marks expected times", () => {
    const read = readRows(
      `JOBID|JOBID|ST|SUBMIT_TIME|START_TIME|END_TIME|TRES_PER_NODE|NODES
6|6|PD|2026-11-28T10:17:53|2027-11-28T10:17:57|NONE|gres:gpu:a100:4|3
4_0|14|R|2026-11-28T10:17:53|2026-11-28T10:17:57|2026-11-28T12:17:57|gpu:2|1
8|8|CG|2026-11-28T10:17:53|2026-11-28T10:17:57|2026-11-28T10:20:00|N/A|1
`,
    );
    expect(shortJobs(read)).toEqual(["6 PENDING 12", "4_0 RUNNING 2", "8 COMPLETING 0"]);
    expect(read.jobs.map(({ estimated }) => estimated)).toEqual([["start"], ["end"], undefined]);
  });

  it.each(["JOBID|JOBID|STATE\n14|4_0|RUNNING\n16|16|PENDING", "JOBID|JOBID|STATE\n4_0|14|RUNNING\n16|16|PENDING"])(
    "reads the id with the array of two",
    (text) => {
      expect(shortJobs(readRows(text))).toEqual(["4_0 RUNNING -", "16 PENDING -"]);
    },
  );

  it("reads -O with columns that cut lists off", () => {
    const read = readRows(`JOBID               ARRAY_TASK_ID       STATE               TRES_ALLOC                    
4                   2-9%2               PENDING             cpu=1,mem=500000M,gres/gpu=1  
6                   N/A                 PENDING             cpu=3,gres/gpu=12,gres/gpu:a10
9                   N/A                 RUNNING             cpu=3,mem=500000M,gres/gpu=1,gr
7                   N/A                 RUNNING             cpu=1,mem=500000M,node=1,gres/g
`);
    expect(shortJobs(read)).toEqual(["4_2-9%2 PENDING 1", "6 PENDING 12", "9 RUNNING 1", "7 RUNNING -"]);
  });

  it("counts steps and messages of the tool", () => {
    const read = readRows("slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n");
    expect(read.unread).toMatchObject([{ line: 1, reason: "it is a message of the tool" }]);
    expect(
      readRows(
        "         STEPID     NAME PARTITION     USER      TIME NODELIST\n      4_0.batch    batch      main     root      0:10 gpu01\n",
      ).steps,
    ).toBe(1);
  });
});

describe("tables of sinfo", () => {
  it.each([
    ["idle", "idle", undefined],
    ["alloc*", "allocated", ["not_responding"]],
    ["mix-", "mixed", ["planned"]],
    ["mixed~", "mixed", ["powered_down"]],
    ["down*", "down", ["not_responding"]],
    ["drng$", "draining", ["in_maintenance"]],
    ["drain+", "drained", undefined],
    ["idle%", "idle", ["powering_down"]],
    ["resv@", "reserved", ["reboot_pending"]],
    ["plnd", "planned", undefined],
    ["powering_do", "powering_down", undefined],
    ["reboot_issu", "reboot_issued", undefined],
    ["invalid", "inval", undefined],
  ])("reads the state %s", (word, state, flags) => {
    const { nodes } = readRows(`NODELIST   NODES PARTITION STATE\ngpu01          1     main* ${word}\n`);
    expect(nodes).toEqual([
      { name: "gpu01", state, reason: null, gpus: null, ...(flags === undefined ? {} : { flags }) },
    ]);
  });

  it("reads the default table, with the names of all nodes", () => {
    const { nodes, unread } = readRows(`PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST
main*        up   infinite      3  drain cpu01,gpu[09-10]
empty        up 1-00:00:00      0    n/a 
short        up    2:00:00      2  down* rack[1-2]n[7]
`);
    expect(nodes.map(({ name, state }) => `${name} ${state}`)).toEqual([
      "cpu01 drained",
      "gpu09 drained",
      "gpu10 drained",
      "rack1n7 down",
      "rack2n7 down",
    ]);
    expect(unread).toEqual([]);
  });

  it("reads -N -l, -R and formats without widths", () => {
    const long = readRows(`Sat Nov 28 10:18:06 2026
NODELIST   NODES PARTITION       STATE CPUS    S:C:T MEMORY TMP_DISK WEIGHT AVAIL_FE REASON              
cpu01          1     main*     drained 64     2:32:1 500000        0      1   (null) Kill task failed: ch
gpu01          1     short       mixed 64     2:32:1 500000        0      1   (null) none                
`);
    expect(long.nodes).toMatchObject([
      { name: "cpu01", state: "drained", reason: "Kill task failed: ch" },
      { name: "gpu01", state: "mixed", reason: null },
    ]);
    const reasons = readRows(`REASON               USER      TIMESTAMP           NODELIST
Kill task failed: ch root      2026-11-28T10:17:59 cpu[01-02]
`);
    expect(reasons.nodes).toMatchObject([
      { name: "cpu01", state: null, reason: "Kill task failed: ch" },
      { name: "cpu02" },
    ]);
    const plain = readRows(`NODELIST GRES STATE REASON
cpu01 (null) drained Kill task failed: check dmesg
gpu[01-02] gpu:a100:4(S:0-1),nic:2(S:0,1) mixed none
gpu03 gpu:a100:2,gpu:h100:no_consume:1 idle none
`);
    expect(plain.nodes.map(({ name, gpus, reason }) => [name, gpus, reason])).toEqual([
      ["cpu01", 0, "Kill task failed: check dmesg"],
      ["gpu01", 4, null],
      ["gpu02", 4, null],
      ["gpu03", 3, null],
    ]);
  });

  it("does not guess a state that two could be cut off to, and reads StateComplete", () => {
    const { nodes, unread } = readRows("NODELIST STATECOMPLETE\nn1 mixed+cloud+planned\nn2 powering_\n");
    expect(nodes).toMatchObject([{ name: "n1", state: "mixed+cloud+planned" }]);
    expect(unread).toMatchObject([{ line: 3, reason: 'STATECOMPLETE: "powering_" is no state of a node' }]);
  });

  it("does not take a list that is cut off for a name", () => {
    const { nodes, unread } = readRows("PARTITION STATE NODELIST\nmain idle gpu[01-0\nmain idle gpu[3-1]\n");
    expect(nodes).toEqual([]);
    expect(unread.map(({ line }) => line)).toEqual([2, 3]);
  });
});
