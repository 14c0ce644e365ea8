import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { headroom } from "../testing/recorded-terminal.ts";

const folder = mkdtempSync(path.join(tmpdir(), "headroom-executor-read-"));
afterAll(() => rmSync(folder, { recursive: true }));

const sinfo = "NODELIST STATE REASON\ngpu01 mixed none\ngpu02 drained bad cable\ngpu01 mixed none\n";
const jobs = "JobID|State|ExitCode\n1|COMPLETED|0:0\n1.batch|COMPLETED|0:0\nrubbish\n";

describe("headroom executor read", () => {
  it("prints jobs, nodes and unread lines as JSON", async () => {
    writeFileSync(path.join(folder, "jobs.txt"), jobs + sinfo);
    const { code, stdout } = await headroom(["executor", "read", "jobs.txt", "--json"], { workingDirectory: folder });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      jobs: [
        {
          id: "1",
          array_task: null,
          state: "COMPLETED",
          submit: null,
          start: null,
          end: null,
          gpus: null,
          exit_code: "0:0",
        },
      ],
      nodes: [
        { name: "gpu01", state: "mixed", reason: null, gpus: null },
        { name: "gpu02", state: "drained", reason: "bad cable", gpus: null },
      ],
      unread: [{ line: 4, reason: "expected 3 columns, got 1", text: "rubbish" }],
      unread_count: 1,
      step_count: 1,
    });
  });

  it("reads the standard input and prints tables for people", async () => {
    const { code, stdout } = await headroom(["executor", "read", "-"], { workingDirectory: folder, stdin: jobs });
    expect([code, stdout]).toEqual([0, expect.stringContaining("1 jobs, 0 nodes, 1 steps left out, 1 lines not read")]);
    expect(stdout).toMatch(/JOB +TASK +STATE/);
    expect(stdout).toMatch(/4 +expected 3 columns, got 1 +rubbish/);
  });

  it("fails if nothing can be read", async () => {
    const { code, stdout } = await headroom(["executor", "read", "-", "--json"], {
      workingDirectory: folder,
      stdin: "x\n",
    });
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ jobs: [], nodes: [], unread: [{ line: 1 }] });
  });

  it("names files and zones that do not exist", async () => {
    const none = await headroom(["executor", "read", "none.txt"], { workingDirectory: folder });
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining("none.txt: there is no such file")]);
    const zone = await headroom(["executor", "read", "-", "--timezone", "Mars"], { workingDirectory: folder });
    expect([zone.code, zone.stderr]).toEqual([2, expect.stringContaining("Mars")]);
  });
});
