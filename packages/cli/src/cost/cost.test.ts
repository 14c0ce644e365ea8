import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { headroom, type Said } from "../testing/recorded-terminal.ts";
import { writeJournal } from "../usage/testing/write-journal.ts";
import { readFocusFile } from "./focus-files.ts";

const history = path.resolve(import.meta.dirname, "../../../../test/history/0031-workload-changed.journal.jsonl");
const folder = mkdtempSync(path.join(tmpdir(), "headroom-cost-"));
const home = path.join(folder, "home");
beforeAll(() => writeJournal(home, readFileSync(history, "utf8").trimEnd().split("\n")));
afterAll(() => rmSync(folder, { recursive: true }));

const cost = (...args: readonly string[]): Promise<Said> => headroom(["cost", ...args], { workingDirectory: folder });

const prices = `
kind: price
name: h100-owned
pool: H100
provider: Own
source: owned
from: 1970-01-01
accelerators: 16
components:
  - { name: accelerators, purchase: 100000, on: 1970-01-01, months: 48 }
  - { name: power, kilowatts: 20, pue: 1.3, perKwh: 0.1 }
---
kind: price
name: a100-rented
pool: A100
provider: Cloud
source: onDemand
from: 1970-01-01
prices: [{ from: 1970-01-01, perHour: 1.29 }]
`;

async function sums(file: string): Promise<Readonly<Record<string, number>>> {
  const totals: Record<string, number> = {};
  for await (const row of readFocusFile(path.join(folder, file))) {
    const key = `${row["ChargeCategory"]} ${row["SkuPriceId"]}`;
    const column = row["ChargeCategory"] === "Purchase" ? "BilledCost" : "EffectiveCost";
    totals[key] = (totals[key] ?? 0) + Math.round(Number(row[column]) * 1_000_000);
  }
  return totals;
}

describe("cost export", () => {
  it("writes the same rows as CSV and as Parquet, from a journal and from a file of rows", async () => {
    writeFileSync(path.join(folder, "prices.yaml"), prices);
    const exported = await cost("export", "--state", "home", "--prices", "prices.yaml", "--focus", "out");
    expect([exported.code, exported.stdout]).toEqual([0, expect.stringContaining("rows of FOCUS 1.2")]);
    for (const file of ["out/focus.csv", "out/focus.parquet"])
      expect((await cost("evaluate", file)).stdout).toContain("no violation of FOCUS 1.2");
    const inCsv = await sums("out/focus.csv");
    expect(await sums("out/focus.parquet")).toEqual(inCsv);
    expect(inCsv["Usage price/h100-owned"]).toBe(inCsv["Purchase capacity/h100-owned"]);
    const rows = await headroom(["--home", "home", "usage", "--rows"], { workingDirectory: folder });
    writeFileSync(path.join(folder, "rows.csv"), rows.stdout);
    await cost("export", "--rows", "rows.csv", "--prices", "prices.yaml", "--focus", "again");
    expect(await sums("again/focus.csv")).toEqual(inCsv);
  });

  it("names pools without a price, and refuses documents with their place", async () => {
    const exported = await cost("export", "--state", "home", "--focus", "none", "--json");
    expect(exported.stderr).toContain("pool H100 has hours without a price");
    writeFileSync(path.join(folder, "wrong.yaml"), "kind: price\nname: x\nsource: owned\npool: 7\n");
    const wrong = await cost("export", "--state", "home", "--prices", "wrong.yaml", "--focus", "none");
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringMatching(/wrong\.yaml:4:7: pool: /)]);
    expect((await cost("export", "--demo", "--state", "home", "--focus", "x")).stderr).toContain("choose one of");
    expect((await cost("export", "--demo")).stderr).toContain("name the folder");
  });

  it("reports the violations of a file", async () => {
    writeFileSync(path.join(folder, "bad.csv"), "BilledCost,GpuModel\nfree,H100\n");
    const { code, stdout } = await cost("evaluate", "bad.csv");
    expect([code, stdout]).toEqual([3, expect.stringContaining("own columns begin with x_")]);
  });
});

describe("cost report", () => {
  it("prices demand that waited at the mean price, by team, and knows it only of a journal", async () => {
    writeFileSync(path.join(folder, "prices.yaml"), prices);
    const report = async (...args: readonly string[]) =>
      JSON.parse((await cost("report", ...args, "--prices", "prices.yaml", "--json")).stdout) as {
        readonly total: { readonly usd: number; readonly accelerator_hours: number };
        readonly waiting: {
          readonly accelerator_hours: number;
          readonly usd: number;
          readonly by_team: readonly { readonly team: string; readonly accelerator_hours: number }[];
        } | null;
      };
    const { total, waiting } = await report("--state", "home");
    expect(waiting?.accelerator_hours).toBeCloseTo(6.3, 1);
    expect(waiting?.usd).toBeCloseTo(((waiting?.accelerator_hours ?? 0) * total.usd) / total.accelerator_hours, 6);
    const guest = (await report("--state", "home", "--team", "guest")).waiting;
    expect(guest?.by_team.map(({ team }) => team)).toEqual(["guest"]);
    expect((await cost("report", "--state", "home", "--prices", "prices.yaml")).stdout).toMatch(
      /^waiting +6\.3 accelerator-hours of demand, \$[\d.]+ at the mean price \(not in the total\)$/m,
    );
    expect((await report("--demo")).waiting).toBeNull();
  });
});
