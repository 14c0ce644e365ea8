import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";
import type { LiveControlPlane } from "../api/testing/live-control-plane.ts";

let live: LiveControlPlane;
const home = temporaryHome();
const put = (name: string, text: string): void => {
  mkdirSync(path.join(home, "offers"), { recursive: true });
  writeFileSync(path.join(home, "offers", name), text);
};
beforeAll(async () => {
  live = await startLive(home);
});
afterAll(async () => {
  await live.close();
  removeHome(home);
});

const FEED = `provider,instance,gpu,gpus,on_demand_usd_h,spot_usd_h
Alpha,h8,H100,8,24,9.6
Beta,h8,H100,8,20,20
`;
const OWN = `kind: tco
utilisation: 0.5
accelerator: H100
options: [{ name: lease, source: leased, accelerators: 8, perHour: 2 }]
`;

describe("GET /v1/offers", () => {
  it("answers without feeds, and refuses conditions that it does not know", async () => {
    expect(await live.client.offers()).toMatchObject({ items: [], unpriced: [], feeds: [], problems: [] });
    const wrong = await live.request("/v1/offers?speeds=Alpha");
    expect([wrong.status, await wrong.json()]).toEqual([422, expect.objectContaining({ code: "invalidRequest" })]);
  });

  it("compares the feeds of the state directory, and names files that it cannot use", async () => {
    put("morning.csv", FEED);
    put("own.yaml", OWN);
    put("broken.csv", 'gpu,price\n"H100,1');
    put("odd.csv", "colour\nred\n");
    put("odd.yaml", "kind: tco\n");
    const answer = await live.client.offers({ accelerator: "h100", speeds: "Beta=0.5" });
    expect(answer.items.map(({ provider, market, usdPerUsefulHour }) => [provider, market, usdPerUsefulHour])).toEqual([
      ["Alpha", "spot", expect.closeTo(1.2 / 0.912, 1)],
      ["Alpha", "on-demand", 3],
      ["Beta", "on-demand", 5],
    ]);
    expect(answer.items[0]?.readAtMs).toBeGreaterThan(Date.now() - 600_000);
    expect(answer.unpriced).toMatchObject([{ feed: "morning.csv", line: 3, defects: [{ class: "spot-equals-list" }] }]);
    expect(answer.breakEvens).toMatchObject([{ option: "lease", against: "Beta h8", utilisation: 0.8 }]);
    expect(answer.feeds).toEqual([{ name: "morning.csv", rowCount: 2 }]);
    expect(answer.problems).toEqual([
      "offers/broken.csv: is no CSV: a quoted field has no end",
      expect.stringContaining("offers/odd.csv: the header needs a column for the accelerator"),
      expect.stringContaining("offers/odd.yaml: "),
    ]);
  });

  it("names files that cannot be read and feeds beyond the bounds, and answers from the others", async () => {
    const folder = path.join(home, "offers");
    rmSync(folder, { recursive: true });
    put("good.csv", FEED);
    mkdirSync(path.join(folder, "a-folder.csv"));
    symlinkSync("nowhere", path.join(folder, "dangling.csv"));
    put("alias.yaml", "kind: tco\nutilisation: &part 0.5\ngoodput: *part\n");
    put("long-field.csv", `gpu,price\n"${"a".repeat(9_000_000)}",1\n`);
    put("long-header.csv", `${"column,".repeat(1_000)}\n`);
    put("many.csv", `gpu,price\n${"a\n".repeat(300_000)}`);
    put("no-end.csv", `gpu,price\n"${"a".repeat(9_000_000)}`);
    const { items, feeds, problems } = await live.client.offers();
    expect([items.length, feeds]).toEqual([3, [{ name: "good.csv", rowCount: 2 }]]);
    expect(problems).toEqual([
      "offers/a-folder.csv: is no file",
      expect.stringMatching(/^offers\/alias\.yaml: cannot be read: /),
      expect.stringMatching(/^offers\/dangling\.csv: cannot be read: ENOENT$/),
      "offers/long-field.csv: line 2 has a field of more than 1000 characters",
      expect.stringMatching(/^offers\/long-header\.csv: the header needs .{0,400}$/),
      expect.stringMatching(/^offers\/many\.csv: has more than 210000 lines/),
      "offers/no-end.csv: is no CSV: a quoted field has no end",
    ]);
  });
});
