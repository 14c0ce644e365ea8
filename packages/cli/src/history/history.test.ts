/** `headroom replay --cluster`: one cluster is full while the other is idle. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { headroom, type Said } from "../testing/recorded-terminal.ts";
import type { HistoryReport } from "./run-history.ts";

const folder = mkdtempSync(path.join(tmpdir(), "headroom-history-"));
afterAll(() => rmSync(folder, { recursive: true }));
const run = (...args: readonly string[]): Promise<Said> => headroom(["replay", ...args], { workingDirectory: folder });

const node = (name: string): string =>
  `NodeName=${name} CPUTot=64\n   Gres=gpu:h100:8\n   RealMemory=512000 State=IDLE ThreadsPerCore=1\n   Partitions=gpu\n\n`;
const at = (hour: number): string => `2026-10-01T${String(hour).padStart(2, "0")}:00:00`;
const job = (id: string, account: string, [submit, start, end]: readonly [number, number, number], gpus = 8): string =>
  `${id}|${account}|${at(submit)}|${at(start)}|${at(end)}|12:00:00|billing=1,gres/gpu=${gpus}|COMPLETED\n`;
const header = "JobID|Account|Submit|Start|End|Timelimit|AllocTRES|State\n";

beforeAll(() => {
  writeFileSync(path.join(folder, "a-nodes.txt"), node("a1"));
  writeFileSync(path.join(folder, "b-nodes.txt"), node("b1"));
  // Three jobs of four hours one after the other, while the other cluster runs one of an hour.
  const busy = [job("1", "nlp", [0, 0, 4]), job("2", "nlp", [0, 4, 8]), job("3", "vision", [0, 8, 12])];
  const rest = [
    job("4", "vision", [0, 0, 1], 0),
    "5|nlp|2026-10-01T01:00:00|Unknown|Unknown|12:00:00||PENDING\n",
    "6|cut\n",
  ];
  writeFileSync(path.join(folder, "a-jobs.txt"), header + [...busy, ...rest].join(""));
  writeFileSync(path.join(folder, "b-jobs.txt"), header + job("1", "vision", [0, 0, 1]));
});

const clusters = ["--cluster", "a=a-nodes.txt,a-jobs.txt", "--cluster", "b=b-nodes.txt,b-jobs.txt"];

describe("headroom replay --cluster", () => {
  it("shows the recorded waits, each cluster alone, and one queue, by team and cluster", async () => {
    const { code, stdout, stderr } = await run(...clusters, "--json");
    expect([code, stderr]).toEqual([0, ""]);
    const report = JSON.parse(stdout) as HistoryReport;
    expect(report.clusters).toMatchObject([
      { name: "a", accelerators: 8, jobs: 3, left_out: { "without GPUs": 1, "never started": 1 }, unread: 1 },
      { name: "b", accelerators: 8, jobs: 1, left_out: {}, unread: 0 },
    ]);
    // 0, 4 and 8 hours, and 0: as recorded, and as first in, first out plays each cluster alone.
    expect([report.recorded.mean_wait_s, report.alone.mean_wait_s]).toEqual([3 * 3_600, 3 * 3_600]);
    // Two start at once, and two after four hours.
    expect(report.one_queue.mean_wait_s).toBe(2 * 3_600);
    expect([report.recorded, report.alone, report.one_queue].map((each) => each.utilisation)).toEqual([
      0.5417, 0.5417, 0.8125,
    ]);
    expect(report.by_team.map(({ name, recorded }) => [name, recorded?.jobs, recorded?.mean_wait_s])).toEqual([
      ["nlp", 2, 2 * 3_600],
      ["vision", 2, 4 * 3_600],
    ]);
    expect(report.by_cluster.map(({ name, recorded, one_queue: one }) => [name, recorded?.jobs, one?.jobs])).toEqual([
      ["a", 3, 3],
      ["b", 1, 1],
    ]);
  });

  it("prints tables", async () => {
    const { stdout } = await run(...clusters, "--policy", "fifo");
    expect(stdout).toContain("2 clusters, 16 accelerators, 4 jobs, 2026-10-01 to 2026-10-01, policy fifo");
    expect(stdout).toMatch(/wait, mean +3h +3h /);
    expect(stdout).toMatch(/^vision +2 /m);
  });

  it.each([
    [["--cluster", "a=a-nodes.txt"], "expected NAME=NODES,JOBS"],
    [[...clusters, "--cluster", "a=a-nodes.txt,a-jobs.txt"], "the name a is used twice"],
    [["--cluster", "a=a-jobs.txt,a-jobs.txt"], "has no nodes with their hardware"],
    [["--cluster", "a=a-nodes.txt,a-nodes.txt"], "has no job that ran on accelerators"],
    [[...clusters, "--since", "7d"], "does not go with --cluster"],
  ])("refuses %j", async (args, message) => {
    const { code, stderr } = await run(...args);
    expect(code).not.toBe(0);
    expect(stderr).toContain(message);
  });
});
