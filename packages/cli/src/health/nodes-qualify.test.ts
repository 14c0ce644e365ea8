import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { headroom } from "../testing/recorded-terminal.ts";

const folder = mkdtempSync(path.join(tmpdir(), "headroom-nodes-qualify-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("headroom nodes qualify --from", () => {
  it("compares nodes, and names files that it cannot read", async () => {
    mkdirSync(path.join(folder, "results/sub"), { recursive: true });
    const lines = [230, 231, 229, 230, 180].map((value, index) =>
      JSON.stringify({ node: `n${index}`, "nccl-bw/allreduce_busbw": value }),
    );
    writeFileSync(path.join(folder, "results/sub/results-summary.jsonl"), lines.join("\n"));
    writeFileSync(path.join(folder, "results/notes.md"), "hello");
    const { code, stdout, stderr } = await headroom(["nodes", "qualify", "--from", "results", "--json"], {
      workingDirectory: folder,
    });
    expect(code).toBe(0);
    const rows = JSON.parse(stdout) as readonly { node: string; verdict: string }[];
    expect(rows.map(({ node, verdict }) => `${node} ${verdict}`)).toEqual([
      "n0 pass",
      "n1 pass",
      "n2 pass",
      "n3 pass",
      "n4 fail",
    ]);
    expect(rows[4]).toMatchObject({ test: "nccl-bw/allreduce_busbw", value: 180, unit: "GB/s" });
    expect(stderr).toContain("notes.md: not a result of nccl-tests, SuperBench or dcgmi diag");
    const table = await headroom(["nodes", "qualify", "--from", "results"], { workingDirectory: folder });
    expect(table.stdout).toContain("5 nodes, 5 results, 1 node with a failure");
  });

  it("refuses folders that do not exist", async () => {
    const none = await headroom(["nodes", "qualify", "--from", "none"], { workingDirectory: folder });
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining("none: there is no such folder")]);
    const missing = await headroom(["nodes", "qualify"], { workingDirectory: folder });
    expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining("state --from")]);
  });
});
