import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { sharedData } from "../../../../tools/shared-data.ts";
import { headroom, type Said } from "../testing/recorded-terminal.ts";

const folder = mkdtempSync(path.join(tmpdir(), "headroom-prices-"));
afterAll(() => rmSync(folder, { recursive: true }));

const run = (...args: readonly string[]): Promise<Said> => headroom(args, { workingDirectory: folder });

const feed = `# prices of a morning
cloud,instance,gpu,gpus,region_or_zone,on_demand_usd_h,spot_usd_h,on_demand_per_gpu_h,spot_per_gpu_h
Alpha,h100.8,H100-SXM-80GB,8,east,24,9.6,3,1.2
Alpha,h100.8,H100-SXM-80GB,8,west,25.6,25.6,3.2,3.2
Beta,h100.1,H100-SXM-80GB,1,north,2.5,0.0,2.5,0.0
Beta,h100.8,H100-SXM-80GB,8,north,free,,,
`;

describe("price check", () => {
  it("names the defects of each line, and exits with 3", async () => {
    writeFileSync(path.join(folder, "feed.csv"), feed);
    const { code, stdout } = await run("price", "check", "feed.csv", "--json");
    const answer = JSON.parse(stdout) as {
      defective_lines: readonly number[];
      classes: object;
      rows: readonly object[];
    };
    expect([code, answer.defective_lines]).toEqual([3, [4, 5, 6]]);
    expect(answer.classes).toEqual({ "spot-equals-list": 1, zero: 1, "not-a-number": 1 });
    expect(answer.rows[1]).toMatchObject({
      status: "partly-priced",
      on_demand_usd_per_accelerator_hour: 3.2,
      spot_usd_per_accelerator_hour: "unpriced",
    });
    expect((await run("price", "check", "feed.csv")).stdout).toContain("4 rows, 3 with a defect");
  });

  it.each([
    ["a,b\n1,2\n", "the header needs a column for the accelerator"],
    ["gpu,price\n", "has no rows"],
  ])("refuses %j", async (text, message) => {
    writeFileSync(path.join(folder, "other.csv"), text);
    const { code, stderr } = await run("price", "check", "other.csv");
    expect([code, stderr.includes(message) ? message : stderr]).toEqual([2, message]);
  });
});

const recorded = sharedData("market/gpu_prices.csv");

describe.skipIf(recorded === null)("the recorded feed of several providers", () => {
  it("has the defects that its notes name, and no other", async () => {
    const { stdout } = await run("price", "check", recorded ?? "", "--json");
    const { rows } = JSON.parse(stdout) as {
      rows: readonly { provider: string; region: string; defects: readonly { class: string }[] }[];
    };
    const found = rows.filter(({ defects }) => defects.length > 0);
    expect(found.map(({ provider, region, defects }) => [provider, region, defects[0]?.class])).toEqual([
      ["AWS", "us-east-1/use1-az1", "spot-equals-list"],
      ["AWS", "ca-central-1/cac1-az4", "spot-equals-list"],
      ["GCP", "us-central1", "spot-above-list"],
      ["GCP", "europe-north1", "host-price-missing"],
      ["GCP", "us-central1", "host-price-missing"],
      ["GCP", "asia-southeast1", "host-price-missing"],
      ["RunPod", "all regions", "spot-equals-list"],
    ]);
  });
});

describe("offers compare", () => {
  it("orders offers by the price of a useful hour, and never offers an unpriced one", async () => {
    writeFileSync(path.join(folder, "feed.csv"), feed);
    const { code, stdout } = await run(
      "offers",
      "compare",
      "feed.csv",
      "--hazard",
      "0.05",
      "--speed",
      "Beta=0.8",
      "--json",
    );
    const { offers, unpriced } = JSON.parse(stdout) as {
      offers: readonly { line: number; market: string; usd_per_useful_hour: number }[];
      unpriced: readonly { line: number }[];
    };
    expect(code).toBe(0);
    expect(offers.map(({ line, market }) => `${line} ${market}`)).toEqual([
      "3 spot",
      "3 on-demand",
      "5 on-demand",
      "4 on-demand",
    ]);
    expect(offers[2]?.usd_per_useful_hour).toBeCloseTo(2.5 / 0.8, 10);
    expect(unpriced.map(({ line }) => line)).toEqual([4, 5, 6]);
  });

  it("takes all suppliers as equally fast without --speed", async () => {
    writeFileSync(path.join(folder, "feed.csv"), feed);
    const { code, stderr } = await run("offers", "compare", "feed.csv");
    expect([code, stderr.includes("error")]).toEqual([0, false]);
  });
});

const tco = `kind: tco
utilisation: 0.5
options:
  - { name: lease, source: leased, accelerators: 8, perHour: 2 }
  - { name: rent, source: rented, perHour: 2.5 }
`;

describe("cost of ownership", () => {
  it("compares options, and says where they break even", async () => {
    writeFileSync(path.join(folder, "tco.yaml"), tco);
    const { stdout } = await run("cost", "compare", "tco.yaml");
    expect(stdout).toMatch(/rent +rented +87600\.00|rent +rented +10950\.00/);
    expect(stdout).toContain("lease is cheaper than rent above 80.0% utilisation.");
    const { options } = JSON.parse((await run("cost", "tco", "tco.yaml", "--json")).stdout) as {
      options: readonly { usdPerHour: number }[];
    };
    expect(options.map(({ usdPerHour }) => usdPerHour)).toEqual([4, 2.5]);
    writeFileSync(path.join(folder, "wrong.yaml"), tco.replace("0.5", "1.5"));
    expect((await run("cost", "tco", "wrong.yaml")).stderr).toMatch(/wrong\.yaml:2:\d+: utilisation: /);
  });

  it("adds up the components of a month", async () => {
    const example = path.resolve(import.meta.dirname, "../../../../examples/cost/eight-h100.yaml");
    const { stdout } = await run("cost", "components", "--prices", example, "--month", "2026-10", "--json");
    expect(JSON.parse(stdout)).toMatchObject({
      items: [
        { component: "accelerators", usd: 35_000 },
        { component: "storage", usd: 5_000 },
        { component: "networking", usd: 3_000 },
        { component: "tooling", usd: 2_000 },
      ],
      totalUsd: 45_000,
    });
  });
});

describe("cost report", () => {
  it("adds up the demo, by team and by source, beside the files of others", async () => {
    writeFileSync(
      path.join(folder, "invoice.csv"),
      "ProviderName,ServiceName,BillingCurrency,BilledCost,EffectiveCost\nCloud,Storage,USD,12.5,12.5\n",
    );
    const days = ["--demo", "--until", "2026-10-03"];
    const read = async (
      ...args: readonly string[]
    ): Promise<{ total: { usd: number }; items: readonly { usd: number }[]; invoices: readonly object[] }> =>
      JSON.parse((await run("cost", "report", ...days, ...args, "--json")).stdout) as never;
    const byTeam = await read("--group", "team", "--with-focus", "invoice.csv");
    const bySource = await read("--group", "source,state", "--by", "day");
    const sum = (items: readonly { usd: number }[]): number =>
      items.reduce((total, { usd }) => total + Math.round(usd * 1_000_000), 0);
    expect(sum(byTeam.items)).toBe(Math.round(byTeam.total.usd * 1_000_000));
    expect(sum(bySource.items)).toBe(sum(byTeam.items));
    expect(byTeam.invoices).toEqual([
      { provider: "Cloud", service: "Storage", account: "", billed_usd: 12.5, effective_usd: 12.5 },
    ]);
    const { stdout } = await run("cost", "report", ...days);
    expect(stdout).toContain("per useful accelerator-hour");
    expect((await run("cost", "report", ...days, "--anomalies")).stdout).toContain("No day stands out.");
  });
});
