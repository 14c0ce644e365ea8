/** `headroom order` against a running control plane. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startLive, type LiveControlPlane } from "../testing/live-control-plane.ts";

let live: LiveControlPlane;
let pool: string;
beforeAll(async () => {
  live = await startLive();
  const { stdout } = await live.headroom(["fleet", "--json"]);
  pool = (JSON.parse(stdout) as { readonly pools: readonly { readonly name: string }[] }).pools[0]?.name ?? "";
});
afterAll(() => live.close());

const order = async (...args: readonly string[]): Promise<string> => {
  const { code, stdout, stderr } = await live.headroom(["order", ...args]);
  return code === 0 ? stdout.trimEnd() : `${code} ${stderr.trimEnd()}`;
};

describe("headroom order", () => {
  it("follows an order from the plan to the cancellation", async () => {
    const create = ["create", "rack-7", "--pool", pool, "--nodes", "4", "--price", "2.10/h", "--reason", "=1+1"];
    expect(await order(...create, "--lead-time", "5w..8w", "--dry-run")).toBe("order rack-7 would be planned");
    expect(await order("list")).toBe("");
    expect(await order(...create, "--lead-time", "5w..8w")).toBe("order rack-7 is planned");
    expect(await order("list")).toMatch(/^ORDER .*\nrack-7 +\S+ +planned +0\/4 +\d{4}-\d\d-\d\d +\d{4}-\d\d-\d\d$/);
    expect(await order("advance", "rack-7", "--to", "ordered", "--expected", "2020-01-15..2020-02-20")).toBe(
      "order rack-7 is ordered",
    );
    expect(await order("list", "--csv")).toMatch(
      /\nrack-7,\S+,ordered,4,0,\d+,2020-01-15T00:00:00Z,2020-02-20T00:00:00Z,\d+,2\.1,acceleratorHour$/,
    );
    expect(await order("show", "rack-7")).toMatch(/late: expected [\s\S]*planned +\S+ +=1\+1/);
    expect(await order("cancel", "rack-7")).toBe("order rack-7 is cancelled");
    expect(await order("list")).toBe("");
    expect(JSON.parse(await order("list", "--all", "--json"))).toMatchObject({ items: [{ name: "rack-7" }] });
  });

  it("says what is wrong with options and phases", async () => {
    expect(await order("create", "x")).toMatch(/^2 .*--pool h100 --nodes 4/);
    expect(await order("create", "x", "--pool", pool, "--nodes", "1")).toMatch(/^2 .*--lead-time 5w\.\.8w/);
    expect(await order("advance", "x", "--to", "soon")).toMatch(/^2 .*--to must be one of planned, .*in-service/);
    expect(await order("advance", "x", "--expected", "soon")).toMatch(/^2 .*expected a day \(UTC\) like/);
    expect(await order("advance", "x")).toMatch(/^1 .*There is no capacity order x/);
    expect(await order("advance", "rack-7")).toMatch(/^1 .*does not change any more/);
  });
});
