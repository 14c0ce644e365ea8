import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { importItp } from "./itp.ts";
import { importOpenb, importOpenbDemand } from "./openb.ts";
import { importSacct } from "./sacct.ts";
import { importSwf } from "./swf.ts";
import type { TraceImport, TraceLines } from "./trace.ts";

const strict = { skipBroken: false };
const lenient = { skipBroken: true };

function lines(text: string, file = "trace"): TraceLines {
  return { file, lines: text.split("\n") };
}

/** One line for each job, with some fields added, in the form that a scenario uses. */
function show(result: TraceImport): string {
  const { report } = result;
  const jobs =
    result.kind === "refused"
      ? [`refused: ${result.reason}`]
      : result.trace.jobs.map(
          (job) =>
            `${job.id} at ${job.submittedAtMs / 1000}s for ${job.durationMs / 1000}s on ${job.accelerators}` +
            (job.acceleratorTypes.length > 0 ? ` of ${job.acceleratorTypes.join("/")}` : ""),
        );
  const problems = report.problems.map(({ file, line, message }) => `${file}:${line}: ${message}`);
  const leftOut = Object.entries(report.leftOut).map(([reason, count]) => `left out: ${count} ${reason}`);
  return [...jobs, ...problems, ...leftOut].join("\n");
}

const itp = (rows: string): TraceLines => lines(`job_id,submission_time,duration,num_gpu\n${rows}`, "a.csv");

describe("the ITP importer", () => {
  it("orders by submission and keeps the order of the file among equals", () => {
    expect(show(importItp(itp("a,20,5,1\nb,10,5,2\nc,20,5,4\nd,10,7,8\n"), strict))).toBe(
      ["b at 10s for 5s on 2", "d at 10s for 7s on 8", "a at 20s for 5s on 1", "c at 20s for 5s on 4"].join("\n"),
    );
  });

  it("reads a byte order mark, CRLF, quoted fields, other column orders and blank lines", () => {
    const text =
      '\uFEFFnum_gpu,duration,"submission_time",job_id,user\r\n1,60,0,"a ""quoted"", id",x\r\n\r\n"8","61","1",b,y\r\n\r\n';
    expect(show(importItp(lines(text), strict))).toBe('a "quoted", id at 0s for 60s on 1\nb at 1s for 61s on 8');
  });

  it("leaves out what did not run or held no accelerator", () => {
    expect(show(importItp(itp("a,1,0,1\nb,1,5,0\nc,1,5,1"), strict))).toBe(
      "c at 1s for 5s on 1\nleft out: 1 zeroDuration\nleft out: 1 noAccelerators",
    );
  });

  const broken = [
    ["a,1,5", "expected 4 fields, got 3"],
    ["a,1,5,1,9", "expected 4 fields, got 5"],
    ["a,-1,5,1", "submission_time: must be between 0 and 10000000000, got -1"],
    ["a,1,99999999999999999999,1", "duration: must be between 0 and 315360000, got 99999999999999999999"],
    ["a,1,5,1000001", "num_gpu: must be between 0 and 1000000, got 1000001"],
    ["a,1,5,1.5", 'num_gpu: expected a whole number, got "1.5"'],
    ["a,1e3,5,1", 'submission_time: expected a whole number, got "1e3"'],
    ["a,,5,1", 'submission_time: expected a whole number, got ""'],
    ["a,1,NaN,1", 'duration: expected a whole number, got "NaN"'],
    ['"a,1,5,1', "expected 4 fields, got 1"],
    ["\u0000\u0001", "expected 4 fields, got 1"],
  ] as const;
  it.each(broken)("refuses the row %j with its place", (row, message) => {
    const result = importItp(itp(`ok,1,5,1\n${row}\n`), strict);
    expect(show(result)).toBe(`refused: 1 row is broken, of 2\na.csv:3: ${message}`);
    expect(show(importItp(itp(`ok,1,5,1\n${row}\n`), lenient))).toBe(`ok at 1s for 5s on 1\na.csv:3: ${message}`);
  });

  it("names the first broken rows and counts them all", () => {
    const result = importItp(itp("x\n".repeat(50)), lenient);
    expect(result.kind).toBe("refused");
    expect(result.report.brokenCount).toBe(50);
    expect(result.report.problems.map(({ line }) => line)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  });

  it("refuses what is no ITP file", () => {
    expect(show(importItp(lines(""), strict))).toBe("refused: trace: the file is empty");
    expect(show(importItp(lines("job_id,duration\n1,2"), strict))).toBe(
      'refused: trace:1: the header lacks submission_time, num_gpu; the header is "job_id,duration"',
    );
    expect(show(importItp(itp(""), strict))).toBe("refused: the file has no job");
    expect(show(importItp(lines("job_id,submission_time,duration,num_gpu,duration\n"), strict))).toBe(
      "refused: trace:1: the header names a column twice",
    );
  });
});

const openbNodes = lines("sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,2,P100\nn1,32000,1024,0,\n", "nodes.csv");
const openb = (rows: string): { nodes: TraceLines; pods: TraceLines } => ({
  nodes: openbNodes,
  pods: lines(
    `name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n${rows}`,
    "pods.csv",
  ),
});

describe("the openb importer", () => {
  it("reads pods, the accelerators they accept, and the fleet", () => {
    const result = importOpenb(
      openb("p0,8000,1024,2,1000,V100M16|P100,LS,Running,10,70,12\np1,1,1,0,0,,BE,Failed,5,9,6\n"),
      strict,
    );
    expect(show(result)).toBe("p1 at 5s for 3s on 0\np0 at 10s for 58s on 2 of V100M16/P100");
    expect(
      result.kind === "imported" && result.trace.fleet?.pools.map(({ acceleratorType }) => acceleratorType),
    ).toEqual(["P100", ""]);
  });

  it("reads a list of pods without the column gpu_spec: any model will do", () => {
    const rows =
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time,scheduled_time\np0,8000,1024,2,1000,10,70,12\n";
    const result = importOpenb({ nodes: openbNodes, pods: lines(rows, "pods.csv") }, strict);
    expect(show(result)).toBe("p0 at 10s for 58s on 2");
  });

  it("reads shares of one accelerator, and refuses a pod that asks for one and nothing of it", () => {
    const pods = "p0,1,1,1,460,,LS,Running,10,70,10\np1,1,1,1,1000,,LS,Running,10,70,10\n";
    const result = importOpenb(openb(pods), strict);
    expect(result.kind === "imported" && result.trace.jobs.map(({ shareMilli }) => shareMilli)).toEqual([
      460,
      undefined,
    ]);
    expect(show(importOpenb(openb(`${pods}p2,1,1,1,0,,LS,Running,10,70,10`), lenient))).toContain(
      "pods.csv:4: gpu_milli: the pod requests one GPU (num_gpu) but no part of it",
    );
  });

  it("reads the demand without its times: every pod, on the nodes that have accelerators", () => {
    const pods = openb(
      "p0,8000,1024,2,1000,P100,LS,Pending,10,,\np1,1,1,0,0,,BE,Failed,5,9,6\np2,1,1,1,470,,LS,Running,9,,9\n",
    );
    const result = importOpenbDemand(pods, strict);
    expect(show(result)).toBe("p0 at 0s for 0s on 2 of P100\np1 at 0s for 0s on 0\np2 at 0s for 0s on 1");
    const { nodes, pools } = (result.kind === "imported" && result.trace.fleet) || { nodes: [], pools: [] };
    expect([nodes.map(({ id }) => id), pools.map(({ name }) => name)]).toEqual([["n0"], ["p100"]]);
    const bare = lines("sn,cpu_milli,memory_mib,gpu,model\nn1,32000,1024,0,\n", "nodes.csv");
    expect(show(importOpenbDemand({ ...pods, nodes: bare }, strict))).toBe(
      "refused: nodes.csv: no node has accelerators",
    );
  });

  it("leaves out pods that never started and refuses times that run backwards", () => {
    expect(show(importOpenb(openb("p0,1,1,1,1000,,LS,Pending,10,,\np1,1,1,1,1000,,LS,Running,10,8,10"), lenient))).toBe(
      [
        "refused: the file has no job",
        "pods.csv:3: deletion_time: 8 lies before scheduled_time 10",
        "left out: 1 neverStarted",
      ].join("\n"),
    );
  });

  it("refuses a node that is there twice", () => {
    const nodes = lines("sn,cpu_milli,memory_mib,gpu,model\nn0,1,1,2,P100\nn0,1,1,2,P100\n", "nodes.csv");
    expect(show(importOpenb({ ...openb("p0,1,1,1,1000,,LS,Running,1,8,1"), nodes }, strict))).toContain(
      "nodes.csv:3: sn: node n0 is in the list twice",
    );
  });
});

const swfRow = (fields: Readonly<Record<number, string>>): string =>
  Array.from({ length: 18 }, (_, index) => fields[index + 1] ?? "-1").join(" ");

describe("the SWF importer", () => {
  it("reads jobs after the header comments", () => {
    const text = ["; Version: 2.2", ";UnixStartTime: 0", `  ${swfRow({ 1: "1", 2: "7", 4: "60", 5: "8" })}`].join("\n");
    expect(show(importSwf(lines(text), strict))).toBe("1 at 7s for 60s on 8");
  });

  it("takes the requested processors where the allocated are unknown, and leaves out what never ran", () => {
    const text = [
      swfRow({ 1: "1", 2: "7", 4: "60", 8: "4" }),
      swfRow({ 1: "2", 2: "8", 5: "4" }),
      swfRow({ 1: "3", 2: "9", 4: "5" }),
      swfRow({ 1: "4", 2: "9", 4: "0", 5: "1", 6: "0.25" }),
    ].join("\n");
    expect(show(importSwf(lines(text), strict))).toBe(
      "1 at 7s for 60s on 4\nleft out: 1 neverStarted\nleft out: 1 noAccelerators\nleft out: 1 zeroDuration",
    );
  });

  it("knows for how long work asked, and whose it is, where the trace does", () => {
    const text = [
      swfRow({ 1: "1", 2: "7", 4: "60", 5: "8", 9: "3600", 12: "17" }),
      swfRow({ 1: "2", 2: "7", 4: "60", 5: "8" }),
    ];
    const imported = importSwf(lines(text.join("\n")), strict);
    const jobs = imported.kind === "imported" ? imported.trace.jobs : [];
    expect(jobs.map(({ walltimeMs, user }) => ({ walltimeMs, user }))).toEqual([
      { walltimeMs: 3_600_000, user: "17" },
      { walltimeMs: undefined, user: undefined },
    ]);
  });

  it("refuses rows of another width, words and negative times, with their place", () => {
    const text = ["; c", "1 2 3", swfRow({ 1: "x" }), swfRow({ 1: "1", 2: "-5", 4: "1", 5: "1" })].join("\n");
    expect(show(importSwf(lines(text, "b.swf"), strict))).toBe(
      [
        "refused: 3 rows are broken, of 3",
        "b.swf:2: expected 18 fields, got 3",
        'b.swf:3: expected numbers, got "x"',
        "b.swf:4: submit time: must be between 0 and 10000000000, got -5",
      ].join("\n"),
    );
  });
});

const sacct = (rows: string): TraceLines =>
  lines(`JobID|Submit|Start|End|AllocTRES|State|Elapsed\n${rows}`, "sacct.txt");

describe("the sacct importer", () => {
  it("reads jobs and array tasks, and leaves out steps and what never started or still runs", () => {
    const tres = "billing=8,cpu=64,gres/gpu:h100=8,gres/gpu=8,mem=900G,node=1";
    const text = [
      `7|2024-02-29T23:59:50|2024-03-01T00:00:00|2024-03-01T01:00:00|${tres}|COMPLETED|01:00:00`,
      `7.batch||2024-03-01T00:00:00|2024-03-01T01:00:00|${tres}|COMPLETED|01:00:00`,
      `8_1|2024-03-01T00:00:00|2024-03-01T00:00:10|2024-03-02T00:00:10|gres/gpu:a100=2,gres/gpu:h100=1|TIMEOUT|1-00:00:00`,
      `8_[2-9]|2024-03-01T00:00:00|Unknown|Unknown||PENDING|00:00:00`,
      `9|2024-03-01T00:00:00|None|2024-03-01T00:01:00||CANCELLED by 0|00:00:00`,
      `10|2024-03-01T00:00:00|2024-03-01T00:00:00|Unknown|gres/gpu=1|RUNNING|00:00:01`,
      `11|2024-03-01T00:00:00|2024-03-01T00:00:00|2024-03-01T00:10:00|cpu=4,mem=1G|COMPLETED|00:10:00`,
    ].join("\n");
    expect(show(importSacct(sacct(text), strict))).toBe(
      [
        "7 at 1709251190s for 3600s on 8",
        "8_1 at 1709251200s for 86400s on 3",
        "left out: 1 steps",
        "left out: 2 neverStarted",
        "left out: 1 stillRunning",
        "left out: 1 noAccelerators",
      ].join("\n"),
    );
  });

  it("reads the limit of a job, within which it has run in any case", () => {
    const row = (limit: string): string =>
      `1|2024-03-01T00:00:00|2024-03-01T00:00:00|2024-03-01T01:00:00|gres/gpu=1|${limit}`;
    const text = ["2-00:30:05", "01:30:00", "00:10:00", "UNLIMITED", "Partition_Limit", ""].map(row).join("\n");
    const columns = "JobID|Submit|Start|End|AllocTRES|Timelimit";
    const read = importSacct(lines(`${columns}\n${text}`), strict);
    expect(read.kind === "imported" && read.trace.jobs.map(({ walltimeMs }) => walltimeMs)).toEqual([
      174_605_000,
      5_400_000,
      3_600_000,
      undefined,
      undefined,
      undefined,
    ]);
    expect(show(importSacct(lines(`${columns}\n${row("soon")}`), strict))).toContain(
      "Timelimit: expected a limit such as",
    );
  });

  it("refuses times that do not exist or run backwards", () => {
    const text = [
      "1|2023-02-29T00:00:00|2024-03-01T00:00:00|2024-03-01T00:00:00|gres/gpu=1|X|",
      "2|yesterday|2024-03-01T00:00:00|2024-03-01T00:00:00|gres/gpu=1|X|",
      "3|2024-03-01T00:00:00|2024-03-01T00:00:10|2024-03-01T00:00:00|gres/gpu=1|X|",
      "4|2024-03-01T00:00:00|2024-03-01T00:00:10|2024-03-01T00:00:20|gres/gpu=-1|X|",
    ].join("\n");
    expect(
      show(importSacct(sacct(text), strict))
        .split("\n")
        .slice(1),
    ).toEqual([
      "sacct.txt:2: Submit: the time 2023-02-29T00:00:00 does not exist",
      'sacct.txt:3: Submit: expected a time such as 2025-01-31T08:15:00, got "yesterday"',
      "sacct.txt:4: End: 2024-03-01T00:00:00 lies before Start 2024-03-01T00:00:10",
      "sacct.txt:5: gres/gpu: must be between 0 and 1000000, got -1",
    ]);
  });

  it("agrees with the platform's calendar", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_000_000_000 }), (atS) => {
        const at = new Date(atS * 1000).toISOString().slice(0, 19);
        const end = new Date((atS + 60) * 1000).toISOString().slice(0, 19);
        expect(show(importSacct(sacct(`1|${at}|${at}|${end}|gres/gpu=1|X|`), strict))).toBe(
          `1 at ${atS}s for 60s on 1`,
        );
      }),
    );
  });
});

describe("every importer", () => {
  const importers: readonly ((source: TraceLines) => TraceImport)[] = [
    (source) => importItp(source, strict),
    (source) => importSwf(source, strict),
    (source) => importSacct(source, strict),
    (source) => importOpenb({ nodes: source, pods: source }, strict),
    (source) => importOpenb({ nodes: openbNodes, pods: source }, lenient),
  ];
  const headers = [
    "job_id,submission_time,duration,num_gpu",
    "JobID|Submit|Start|End|AllocTRES",
    "sn,cpu_milli,memory_mib,gpu,model",
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time",
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time",
    "",
  ];
  it("answers arbitrary text with jobs or a refusal, never with an exception or an unsafe number", () => {
    const cell = fc.oneof(
      fc.string(),
      fc.integer().map(String),
      fc.constantFrom('"', "", "-0", "007", "1e999", "Unknown"),
    );
    const row = fc
      .tuple(fc.array(cell, { maxLength: 19 }), fc.constantFrom(",", "|", " "))
      .map(([cells, by]) => cells.join(by));
    fc.assert(
      fc.property(fc.constantFrom(...headers), fc.array(row, { maxLength: 8 }), (header, rows) => {
        for (const run of importers) {
          const result = run({ file: "any", lines: [header, ...rows] });
          if (result.kind === "refused") continue;
          for (const job of result.trace.jobs) {
            expect(Number.isSafeInteger(job.submittedAtMs) && job.submittedAtMs >= 0).toBe(true);
            expect(Number.isSafeInteger(job.durationMs) && job.durationMs > 0).toBe(true);
            expect(Number.isSafeInteger(job.accelerators) && job.accelerators >= 0).toBe(true);
          }
        }
      }),
    );
  });
});
