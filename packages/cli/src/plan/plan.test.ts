import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { headroom, type Said } from "../testing/recorded-terminal.ts";

const folder = mkdtempSync(path.join(tmpdir(), "headroom-plan-"));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

function plan(text: string, ...args: string[]): Promise<Said> {
  writeFileSync(path.join(folder, "plan.yaml"), text);
  return headroom(["plan", "plan.yaml", ...args], { workingDirectory: folder });
}

const usual = `
kind: plan
name: lab
start: 2027-01
months: 6
demand: { train: { p50: { 2027-01: 16, 2027-06: 32 } } }
options:
  - { name: h100, kind: own, pool: train, upfrontUsd: 24000, monthlyUsd: 300, leadTime: 60d, block: 8, lifeMonths: 48, kw: 1 }
  - { name: cloud, kind: onDemand, pool: train, usdPerHour: 4 }
`;

describe("headroom plan", () => {
  it("prints order-by dates, and the same as JSON with the result of the check", async () => {
    const { code, stdout } = await plan(usual);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^2027-01-31 +h100 +24 +2027-04 /m)]);
    const json = JSON.parse((await plan(usual, "--json", "--scenarios", "3")).stdout) as Record<string, unknown>;
    expect(json).toMatchObject({ name: "lab", scenarios: 3, breaches: [], purchases: [{ option: "h100" }, {}] });
  });

  it("proves a plan by playing months of drawn futures with the engine", async () => {
    const { code, stdout } = await plan(usual, "--prove", "--futures", "1", "--json");
    expect(code).toBe(0);
    const json = JSON.parse(stdout) as {
      proof: { months: { firm: number; utilisation: number; unserved: number; jobs: number }[] };
    };
    expect(json.proof.months.length).toBe(2);
    for (const { utilisation, unserved, jobs } of json.proof.months) {
      expect(jobs).toBeGreaterThan(100);
      expect(utilisation).toBeLessThanOrEqual(1);
      expect(unserved).toBeLessThan(0.5);
    }
  });

  it("names the constraints that prevent a plan", async () => {
    const limits = "limits: { power: [{ from: 2027-01, max: 5 }] }\n";
    const { code, stdout } = await plan(
      usual.replace("60d", "30d").replace("usdPerHour: 4", "usdPerHour: 4, max: 20") + limits,
    );
    expect(code).toBe(1);
    expect(stdout).toContain(
      "No plan meets the demand of train in 2027-03: 23 accelerators at the accepted risk, 20 are",
    );
    expect(stdout).toContain("  power is limited: 5 kW from 2027-01\n");
  });

  it("names the line of a wrong field", async () => {
    const { code, stderr } = await plan(usual.replace("pool: train, usdPerHour", "pool: serve, usdPerHour"));
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining("plan.yaml:9:42: options[1].pool: demand has no pool serve"),
    ]);
    const other = await plan(usual.replace("2027-01\nmonths", "January\nmonths"));
    expect(other.stderr).toContain("plan.yaml:4:8: start: expected a month such as 2027-01");
  });
});

describe("ceilings and triggers", () => {
  it("of the examples are printed", async () => {
    const workingDirectory = path.resolve(import.meta.dirname, "../../../..");
    const ceilings = await headroom(["plan", "ceilings", "examples/plan/ceilings.yaml"], { workingDirectory });
    expect([ceilings.code, ceilings.stdout]).toEqual([
      0,
      expect.stringMatching(/^\w+ binds first with a probability of \d+%; the first ceiling comes in 202\d-\d\d\.$/m),
    ]);
    const triggers = await headroom(["plan", "triggers", "examples/plan/triggers.yaml"], { workingDirectory });
    expect([triggers.code, triggers.stdout]).toEqual([
      1,
      expect.stringMatching(/^busy +ACTIVE: review the plan\. utilisation is 0\.82/),
    ]);
    const json = await headroom(["plan", "triggers", "examples/plan/triggers.yaml", "--json"], { workingDirectory });
    expect(JSON.parse(json.stdout)).toMatchObject({ triggers: [{ isActive: true }, { isActive: false }, {}, {}] });
  });

  it("designs a cluster for the demand of a demand document", async () => {
    const example = path.join(import.meta.dirname, "../../../../examples/plan/demand.yaml");
    const args = ["size", "cluster", example, "--month", "2027-12", "--accelerator-usd", "38000"];
    const { code, stdout } = await headroom(args, { workingDirectory: folder });
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^nodes +\d+ of 8x H100-SXM-80GB: \d+ for work, \d+ spare$/m),
    ]);
    expect(stdout).toMatch(/^capacity +[0-9,.]+ TB/m);
    const wrong = await headroom([...args.slice(0, 4), "2040-01"], { workingDirectory: folder });
    expect([wrong.code, wrong.stderr]).toEqual([
      2,
      expect.stringContaining("--month: expected 2027-01 to 2028-12, got 2040-01"),
    ]);
  });

  it("plans for the demand of a demand document, sized by the performance model", async () => {
    const demand = `
kind: demand
name: d
pool: train
accelerator: H100
start: 2027-01
months: 6
entries:
  - { kind: team, name: lab, owner: ann, accelerators: 40, spreadPct: 0 }
  - { kind: project, name: base, owner: bo, model: llama-3-8b, tokens: 1e12, runsPerYear: 2, from: 2027-04, spreadPct: 0 }
`;
    writeFileSync(path.join(folder, "demand.yaml"), demand);
    const sized = await headroom(["plan", "demand", "demand.yaml", "--json"], { workingDirectory: folder });
    const { p50 } = JSON.parse(sized.stdout) as { p50: readonly number[] };
    expect(p50[0]).toBe(40);
    // A trillion tokens of an 8B model are some 40,000 useful hours of an H100, so two runs a year hold about 13.
    expect((p50[5] ?? 0) - 40).toBeGreaterThan(5);
    expect((p50[5] ?? 0) - 40).toBeLessThan(60);
    const { code, stdout } = await plan(usual, "--demand", "demand.yaml", "--json");
    expect(code).toBe(0);
    const { byMonth } = JSON.parse(stdout) as { byMonth: readonly { pools: readonly { demandP50: number }[] }[] };
    expect(byMonth.map(({ pools }) => pools[0]?.demandP50)).toEqual(p50);
  });

  it("counts demand that is only possible at the accepted risk", async () => {
    const entry = "{ kind: team, name: maybe, owner: ann, accelerators: 40, probabilityPct: 20, spreadPct: 0 }";
    const demand = `{ kind: demand, name: d, pool: train, accelerator: H100, start: 2027-01, months: 6, entries: [${entry}] }`;
    writeFileSync(path.join(folder, "demand.yaml"), demand);
    const { byMonth } = JSON.parse((await plan(usual, "--demand", "demand.yaml", "--json")).stdout) as {
      byMonth: readonly { pools: readonly { demandP50: number; demandAtRisk: number }[] }[];
    };
    expect(byMonth[0]?.pools[0]).toMatchObject({ demandP50: 0.1, demandAtRisk: 40 });
  });
});
