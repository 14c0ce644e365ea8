import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { headroom, type Said } from "../testing/recorded-terminal.ts";

const folder = mkdtempSync(path.join(tmpdir(), "headroom-offers-"));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const header = "time,zone,spot_usd_per_hour,on_demand_usd_per_hour,is_available";

function replay(rows: readonly string[], ...args: string[]): Promise<Said> {
  writeFileSync(path.join(folder, "prices.csv"), [header, ...rows].join("\n"));
  return headroom(["offers", "replay", "prices.csv", ...args], { workingDirectory: folder });
}

const hour = (index: number): string => new Date(Date.UTC(2026, 2, 1, index)).toISOString();
const steady = Array.from({ length: 12 }, (_, index) => `${hour(index)},a,3,10,${index === 4 ? "False" : "True"}`);

describe("offers replay", () => {
  it("accounts for spot, on-demand and waiting hours, beside the cost with foresight", async () => {
    const args = ["--hours", "6", "--deadline", "9", "--restart", "0s", "--checkpoint", "0s", "--optimum", "--json"];
    const { code, stdout } = await replay(steady, ...args);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      cost_usd: 18,
      on_demand_usd: 60,
      is_missed: false,
      optimum_usd: 18,
      spot_hours: 6,
      waited_hours: 1,
      preemption_count: 1,
    });
  });

  it("states cost and deadline for people", async () => {
    const { stdout } = await replay(steady, "--hours", "6", "--deadline", "9");
    expect(stdout).toMatch(/cost +\$\d+\.\d\d, \d+% below \$60\.00 on demand/);
    expect(stdout).toMatch(/deadline +kept: done after \d\.\d h of 9\.0 h/);
  });

  it("keeps a deadline that lies after the last row", async () => {
    const { stdout } = await replay(steady.slice(0, 3), "--hours", "6", "--deadline", "9", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ is_missed: false });
  });

  it.each([
    [[], ["--hours", "6", "--deadline", "9"], "has no rows"],
    [["noon,a,3,10,true"], ["--hours", "6", "--deadline", "9"], "line 2: time: expected ISO 8601"],
    [[`${hour(0)},a,3,10,maybe`], ["--hours", "6", "--deadline", "9"], "line 2: is_available: expected true or false"],
    [[`${hour(0)},a,x,10,true`], ["--hours", "6", "--deadline", "9"], "line 2: spot_usd_per_hour: expected a price"],
    [
      [`${hour(0)},a,3,0,true`],
      ["--hours", "6", "--deadline", "9"],
      "line 2: on_demand_usd_per_hour: expected a price",
    ],
    [[`${hour(0)},a,3`], ["--hours", "6", "--deadline", "9"], "Invalid Record Length"],
    [steady, ["--hours", "6", "--deadline", "5"], "--deadline 5 cannot be met"],
    [steady, ["--deadline", "5"], "--hours is needed"],
  ])("refuses %j %j", async (rows, args, message) => {
    const { code, stderr } = await replay(rows, ...args);
    expect([code, stderr.includes(message) ? message : stderr]).toEqual([2, message]);
  });

  it("names missing columns and files", async () => {
    writeFileSync(path.join(folder, "other.csv"), "time,zone\n");
    const other = await headroom(["offers", "replay", "other.csv", "--hours", "1", "--deadline", "2"], {
      workingDirectory: folder,
    });
    expect(other.stderr).toContain("the header lacks spot_usd_per_hour");
    const none = await headroom(["offers", "replay", "none.csv", "--hours", "1", "--deadline", "2"], {
      workingDirectory: folder,
    });
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining("none.csv cannot be read")]);
  });
});

describe("offers compare without a file", () => {
  it("refuses a rate of interruptions that the control plane cannot compare with", async () => {
    const compare = (hazard: string) =>
      headroom(["offers", "compare", "--hazard", hazard], { workingDirectory: folder });
    const refused = await compare("0.7");
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining("whole hours apart: 1 or 0.5, got 0.7"),
    ]);
    expect((await compare("0.33")).stderr).not.toContain("--hazard");
  });
});
