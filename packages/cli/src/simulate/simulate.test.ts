import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { headroom, type Said } from "../testing/recorded-terminal.ts";
import type { DemandReport } from "./run-demand.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "headroom-simulate-"));
  const rows = ["job_id,submission_time,duration,num_gpu", "a,0,10,3", "b,2,5,2", "c,3,7,1", "d,4,9,64", "e,5,0,1"];
  writeFileSync(path.join(folder, "good.csv"), `\uFEFF${rows.join("\r\n")}\r\n`);
  writeFileSync(path.join(folder, "broken.csv"), `${rows.join("\n")}\nf,-3,1,1\ng,1\n`);
  writeFileSync(
    path.join(folder, "nodes.csv"),
    "sn,cpu_milli,memory_mib,gpu,model\na,8000,8192,2,T4\nb,8000,8192,2,T4\nc,8000,8192,0,\n",
  );
  const pods = ["name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time"];
  writeFileSync(path.join(folder, "pods.csv"), [...pods, "p,1000,1024,1,500,,0,", "q,1000,1024,1,1000,,0,"].join("\n"));
  writeFileSync(path.join(folder, "endless.csv"), "x".repeat(3 << 20));
  const places = [1, 2, 3, 4].map((at) => `p-${at}: { leaf: leaf-${at % 2}, shelf: ${at < 3 ? "a" : "b"} }`);
  const pool = `name: p, executor: simulated, accelerator: H, nodes: 4, perNode: 4, nodeLabels: { ${places.join(", ")} }`;
  const leaves = `kind: fleet\nsites: [{ name: dc, fabric: [leaf, node], pools: [{ ${pool} }] }]\n`;
  writeFileSync(path.join(folder, "leaves.yaml"), leaves);
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

function simulate(...args: string[]): Promise<Said> {
  return headroom(["simulate", ...args], { workingDirectory: folder });
}

describe("headroom simulate", () => {
  it("simulates training and endpoints on one fleet", async () => {
    const rows = Array.from({ length: 1200 }, (_, second) => {
      const [minutes, seconds] = [Math.floor(second / 60), second % 60].map((each) => String(each).padStart(2, "0"));
      return `2026-01-01 00:${minutes}:${seconds}+00:00,1000,50`;
    });
    writeFileSync(path.join(folder, "chat.csv"), ["TIMESTAMP,ContextTokens,GeneratedTokens", ...rows].join("\n"));
    const work = ["--gpus", "4", "--trace", "itp:good.csv", "--json"];
    const { code, stdout, stderr } = await simulate(...work, "--endpoint", "name=chat,traffic=azure:chat.csv,max=2");
    // A busy machine needs more than a second, so progress is shown.
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^(?:.*% of the time …\n)?$/)]);
    expect(JSON.parse(stdout)).toMatchObject({
      jobs_ended: 3,
      endpoints: [{ endpoint: "chat", requests: 1200, replicas_max: 1 }],
    });
    const refused = await simulate(...work, "--endpoint", "name=chat");
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("traffic=FORMAT:FILE is missing");
    for (const unused of [
      ["--demand", "1.3"],
      ["--inputs", "datasets=1"],
    ]) {
      const ignored = await simulate(...work, "--endpoint", "traffic=azure:chat.csv", ...unused);
      expect([ignored.code, ignored.stderr]).toEqual([2, expect.stringContaining("does not go with --endpoint")]);
    }
    const outlier = [...rows, "9999-01-01 00:00:00,1000,50"];
    writeFileSync(path.join(folder, "long.csv"), ["TIMESTAMP,ContextTokens,GeneratedTokens", ...outlier].join("\n"));
    const long = await simulate(...work, "--endpoint", "traffic=azure:long.csv");
    expect([long.code, long.stderr]).toEqual([1, expect.stringContaining("look for a row with a wrong time")]);
  });

  it("prints the published fields as JSON, exact", async () => {
    const { code, stdout, stderr } = await simulate(
      "--gpus",
      "4",
      "--trace",
      "itp:good.csv",
      "--policy",
      "fifo",
      "--json",
    );
    expect([code, stderr]).toEqual([0, ""]);
    expect(JSON.parse(stdout)).toMatchObject({
      policy: "fifo",
      gpus: 4,
      jobs: 3,
      rejected_larger_than_pool: 1,
      mean_wait_s: 5,
      mean_completion_s: 12.3,
      max_wait_s: 8,
      utilisation: 0.6912,
      broken_rows: 0,
      left_out: { zeroDuration: 1 },
    });
  });

  it.each([
    ["warn", 10, { unfinished_jobs: 0 }],
    ["hold", 0, { unfinished_jobs: 1 }],
    ["stop", 1, { unfinished_jobs: 1 }],
  ])("comes to an end under budgets that begin anew each month: %s", async (over, gpuHours, outcome) => {
    const fleet =
      "kind: fleet\nsites: [{ name: dc, pools: [{ name: p, executor: simulated, accelerator: H, nodes: 1, perNode: 4 }] }]\n";
    const team = `---\nkind: team\nname: a\nbudget: { gpuHours: ${gpuHours}, over: ${over} }\n`;
    const trace = "1|2025-01-01T00:00:00|2025-01-01T00:00:00|2025-01-01T02:00:00|gres/gpu=2|ann|a";
    writeFileSync(path.join(folder, "budget.yaml"), fleet + team);
    writeFileSync(path.join(folder, "one.txt"), `JobID|Submit|Start|End|AllocTRES|User|Account\n${trace}\n`);
    const { stdout } = await simulate("--fleet", "budget.yaml", "--trace", "sacct:one.txt", "--json");
    expect(JSON.parse(stdout)).toMatchObject(outcome);
  });

  it("runs a trace on a declared fleet with teams, work larger than a node as gangs", async () => {
    const files = [
      [
        "fleet.yaml",
        "kind: fleet\nsites: [{ name: dc, pools: [{ name: p, executor: simulated, accelerator: H, nodes: 2, perNode: 4 }] }]\n",
      ],
      ["teams.yaml", "kind: team\nname: a\nlimit: { H: 4 }\n---\nkind: team\nname: a/b\n"],
      [
        "year.txt",
        `JobID|Submit|Start|End|AllocTRES|User|Account\n${[
          "1|2025-01-01T00:00:00|2025-01-01T00:00:00|2025-01-01T00:00:10|gres/gpu=6|ann|other",
          "2|2025-01-01T00:00:10|2025-01-01T00:00:10|2025-01-01T00:00:20|gres/gpu=4|ann|b",
          "3|2025-01-01T00:00:10|2025-01-01T00:00:10|2025-01-01T00:00:20|gres/gpu=4|bob|a",
        ].join("\n")}\n`,
      ],
    ] as const;
    for (const [name, text] of files) writeFileSync(path.join(folder, name), text);
    const args = ["--fleet", "fleet.yaml", "--fleet", "teams.yaml", "--trace", "sacct:year.txt", "--policy", "fifo"];
    const { stdout, stderr } = await simulate(...args, "--json");
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toMatchObject({
      gpus: 8,
      jobs: 3,
      rejected_larger_than_pool: 0,
      max_wait_s: 10,
      wait_by_team: [
        { team: "a", jobs: 1, mean_wait_s: 10, share: 0.2857 },
        { team: "a/b", jobs: 1, mean_wait_s: 0, share: 0.2857 },
        { team: "trace", jobs: 1, mean_wait_s: 0, share: 0.4286 },
      ],
    });
    expect((await simulate(...args)).stdout).toMatch(/TEAM +JOBS +SHARE +FIFO\na +1 +28\.6% +10s\n/);
    const generated = await simulate(...args.slice(0, 2), "--trace", "generated:jobs=20,gangs=8*1", "--json");
    expect(JSON.parse(generated.stdout)).toMatchObject({ gpus: 8, jobs: 20 });
  });

  it.each([
    [2, "kind: team\nname: a\n", /no pool in wrong\.yaml has nodes with accelerators/],
    [
      2,
      "kind: fleet\nsites: [{ name: dc, pools: [{ name: p, accelerator: H }] }]\n",
      /wrong\.yaml:2:8: the nodes of pool p are not declared/,
    ],
    [2, "kind: train\nname: a\nrun: x\n", /wrong\.yaml:1:1: the simulation takes only fleets and teams/],
    [1, "kind: team\nname: a\nparent: b\n", /wrong\.yaml:3:9: .*no team b/],
  ])("refuses with %i a fleet that cannot be simulated: %j", async (code, text, words) => {
    writeFileSync(path.join(folder, "wrong.yaml"), text);
    const said = await simulate("--fleet", "wrong.yaml", "--trace", "itp:good.csv");
    expect([said.code, said.stderr]).toEqual([code, expect.stringMatching(words)]);
    const both = await simulate("--fleet", "wrong.yaml", "--gpus", "4", "--trace", "itp:good.csv");
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining("give one of them")]);
  });

  it("compares policies in a table, and in a list as JSON", async () => {
    const args = ["--gpus", "4", "--trace", "itp:good.csv", "--policy", "fifo,fifo-skip,sjf"];
    const table = await simulate(...args);
    expect(table.code).toBe(0);
    expect(table.stdout).toMatch(/POLICY +JOBS +REJECTED[^]*fifo +3 +1[^]*fifo-skip +3 +1[^]*sjf +3 +1/);
    const { stdout } = await simulate(...args, "--json");
    expect((JSON.parse(stdout) as { policy: string }[]).map(({ policy }) => policy)).toEqual([
      "fifo",
      "fifo-skip",
      "sjf",
    ]);
  });

  it("generates traces, the same for the same seed", async () => {
    const args = ["--gpus", "16", "--trace", "generated:jobs=50,load=0.9,duration=5..500,gangs=1*3+4*1", "--json"];
    const digest = async (seed: string): Promise<unknown> =>
      (JSON.parse((await simulate(...args, "--seed", seed)).stdout) as { digest: unknown }).digest;
    expect(await digest("7")).toBe(await digest("7"));
    expect(await digest("8")).not.toBe(await digest("7"));
  });

  it("refuses gangs that are larger than the pool, instead of cutting them", async () => {
    const { code, stderr } = await simulate("--gpus", "8", "--trace", "generated:jobs=5,gangs=8*1+16*1");
    expect([code, stderr]).toEqual([2, expect.stringContaining("a gang of 16 does not fit into 8 accelerators")]);
  });

  it("writes a report that stands alone and repeats its plots as tables", async () => {
    const { code } = await simulate(
      "--gpus",
      "4",
      "--trace",
      "itp:good.csv",
      "--policy",
      "fifo,sjf",
      "--html",
      "report.html",
    );
    expect(code).toBe(0);
    const page = readFileSync(path.join(folder, "report.html"), "utf8");
    expect(page.match(/<svg viewBox="0 0 860/g)).toHaveLength(3);
    expect(page.match(/<details>/g)).toHaveLength(3);
    expect(page).not.toMatch(/<script|https?:|src=|url\(/);
    expect(page).toContain("prefers-color-scheme:dark");
  });

  it("escapes what a trace is called", async () => {
    const name = "itp:./<b>&.csv";
    writeFileSync(path.join(folder, "<b>&.csv"), readFileSync(path.join(folder, "good.csv")));
    await simulate("--gpus", "4", "--trace", name, "--html", "escaped.html");
    expect(readFileSync(path.join(folder, "escaped.html"), "utf8")).toContain("itp:./&lt;b&gt;&amp;.csv");
  });

  it("loses nodes and attempts when asked to", async () => {
    const args = ["--gpus", "8", "--trace", "generated:jobs=40,load=0.5,duration=60..6000", "--json"];
    const { stdout } = await simulate(...args, "--faults", "mtbf=12h,repair=10m,failures=20%");
    expect((JSON.parse(stdout) as { attempts: number }).attempts).toBeGreaterThan(40);
  });

  it("loses whole failure domains, at random and at stated times", async () => {
    const work = ["--fleet", "leaves.yaml", "--trace", "generated:jobs=40,load=0.5,duration=6000..9000", "--json"];
    const attempts = async (...faults: string[]): Promise<number> => {
      const { code, stdout, stderr } = await simulate(...work, ...faults);
      expect([code, stderr]).toEqual([0, ""]);
      return (JSON.parse(stdout) as { attempts: number }).attempts;
    };
    expect(await attempts()).toBe(40);
    expect(await attempts("--lose", "leaf-1@2h+30m", "--lose", "shelf=a@4h+10m")).toBeGreaterThan(41);
    expect(await attempts("--faults", "leaf=1h,repair=10m")).toBeGreaterThan(60);
    const lost = await simulate(...work, "--lose", "leaf-9@2h+30m");
    expect([lost.code, lost.stderr]).toEqual([1, expect.stringContaining("There is no node, site, pool, switch")]);
    const unknown = await simulate(...work, "--faults", "spine=1h");
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining("leaf=…, shelf=…, pool=…, site=…")]);
  });
});

describe("headroom simulate --demand", () => {
  const drawn = ["--trace", "openb:nodes.csv,pods.csv", "--demand", "2", "--policy", "fifo-skip"];

  it("prints what was allocated at each level of demand, by seed and over the seeds", async () => {
    const { code, stdout, stderr } = await simulate(...drawn, "--seeds", "3", "--seed", "4", "--json");
    expect([code, stderr]).toEqual([0, ""]);
    const report = JSON.parse(stdout) as DemandReport;
    expect(report).toMatchObject({ policy: "fifo-skip", gpus: 4, demand: 2, seeds: [4, 5, 6] });
    expect(report.allocated.map(({ asked }) => asked)).toEqual([0.5, 0.9, 1, 2]);
    for (const { allocated } of report.runs) expect(allocated.at(-1)).toBe(1);
    expect(report.allocated.at(-1)).toEqual({ asked: 2, mean: 1, sd: 0 });
  });

  it("prints a row for each policy", async () => {
    const { stdout } = await simulate(...drawn.slice(0, 4), "--policy", "fifo-skip,sjf");
    expect(stdout).toMatch(
      /on 4 accelerators, seed 1;[^]*POLICY +50% ASKED[^]*200% ASKED[^]*fifo-skip [^]*100.00%[^]*sjf /,
    );
  });
});

describe("a bad trace or option", () => {
  it("is refused with its place and changes nothing", async () => {
    const { code, stdout, stderr } = await simulate("--gpus", "4", "--trace", "itp:broken.csv", "--html", "never.html");
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain("2 rows are broken, of 7; nothing was simulated");
    expect(stderr).toContain("broken.csv:7: submission_time: must be between 0 and 10000000000, got -3");
    expect(stderr).toContain("broken.csv:8: expected 4 fields, got 2");
    expect(readdirSync(folder)).not.toContain("never.html");
  });

  it("is simulated without its broken rows when asked to", async () => {
    const { code, stdout } = await simulate("--gpus", "4", "--trace", "itp:broken.csv", "--skip-broken", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ jobs: 3, broken_rows: 2 });
  });

  const usages: readonly (readonly [args: readonly string[], message: string])[] = [
    [["--gpus", "4"], "--trace says what work to simulate"],
    [["--gpus", "-4", "--trace", "itp:good.csv"], "--gpus: expected a whole number from 1 to 100000"],
    [["--gpus", "9999999999999999999999", "--trace", "itp:good.csv"], "--gpus: expected a whole number"],
    [["--gpus", "NaN", "--trace", "itp:good.csv"], "--gpus: expected a whole number"],
    [["--trace", "itp:good.csv"], "--gpus or --fleet is needed"],
    [["--gpus", "4", "--trace", "good.csv"], "--trace: expected itp:FILE"],
    [["--gpus", "4", "--trace", "itp:"], "--trace: expected itp:FILE"],
    [["--gpus", "4", "--trace", "openb:good.csv"], "--trace: expected openb:NODES,PODS"],
    [
      ["--gpus", "4", "--trace", "itp:good.csv", "--policy", "fastest"],
      'there is no preset "fastest"; the presets are default',
    ],
    [["--gpus", "4", "--trace", "itp:good.csv", "--seed", "-1"], "--seed: expected a whole number"],
    [["--gpus", "4", "--trace", "itp:good.csv", "--faults", "mtbf=soon"], "--faults: mtbf: expected a duration"],
    [["--gpus", "4", "--trace", "itp:good.csv", "--faults", "failures=200%"], "--faults: failures: expected a share"],
    [["--gpus", "4", "--trace", "itp:good.csv", "--faults", "gremlins=1"], "--faults: expected mtbf="],
    [["--gpus", "4", "--trace", "itp:good.csv", "--lose", "pool"], "--lose pool: write NAME@TIME+DURATION"],
    [["--gpus", "4", "--trace", "generated:jobs=0"], "--trace generated: jobs: expected a whole number"],
    [["--gpus", "4", "--trace", "generated:jobs=5,load=1e9"], "--trace generated: load: expected a number"],
    [["--gpus", "4", "--trace", "generated:jobs=5,duration=9..3"], "--trace generated: duration"],
    [["--trace", "itp:good.csv", "--demand", "1.3"], "--demand draws from an openb trace"],
    [["--trace", "openb:nodes.csv,pods.csv", "--demand", "0"], "--demand: expected a number from 0.001 to 100"],
    [["--trace", "openb:nodes.csv,pods.csv", "--demand", "1", "--gpus", "4"], "--gpus does not go with --demand"],
    [["--gpus", "4", "--trace", "itp:good.csv", "--seeds", "3"], "--seeds goes with --demand"],
    [["--gpus", "4", "--trace", "itp:good.csv", "--unknown"], "unknown option"],
  ];
  it.each(usages)("%j is a usage error", async (args, message) => {
    const { code, stdout, stderr } = await simulate(...args);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(message);
  });

  const failures: readonly (readonly [trace: string, message: string])[] = [
    ["itp:missing.csv", "missing.csv: there is no such file"],
    ["itp:.", "this is a directory"],
    ["itp:endless.csv", "endless.csv:1: the line has more than"],
    ["swf:good.csv", "rows are broken"],
    ["sacct:good.csv", "the header lacks JobID"],
    ["openb:good.csv,good.csv", "the header lacks sn"],
  ];
  it.each(failures)("%s fails with its place", async (trace, message) => {
    const { code, stdout, stderr } = await simulate("--gpus", "4", "--trace", trace);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(message);
  });

  it("does not begin when the report could not be written", async () => {
    const { code, stderr } = await simulate("--gpus", "4", "--trace", "itp:good.csv", "--html", "no/where.html");
    expect(code).toBe(1);
    expect(stderr).toContain("no/where.html cannot be written");
  });

  it("stops on Ctrl-C with code 130", async () => {
    const interrupted = AbortSignal.abort();
    const args = ["simulate", "--gpus", "64", "--trace", "generated:jobs=20000,load=1.2"];
    expect((await headroom(args, { workingDirectory: folder, interrupted })).code).toBe(130);
  });
});
