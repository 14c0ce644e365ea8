/** `headroom order` against a running control plane. */
import { writeFileSync } from "node:fs";
import path from "node:path";
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

const FLEET = `
kind: fleet
sites:
  - name: annex
    pools:
      - name: leased
        executor: local
        accelerator: H100-SXM
        price: 2.50 USD/h
        burst: { provisioner: manual, nodes: 4, perNode: 8, cores: 96, memory: 1TiB, leadTime: 4m, leadTimeP95: 10m, orderAfter: 30d, releaseAfter: 10m }
      - name: dear
        executor: local
        accelerator: H100-SXM
        price: 4.00 USD/h
        burst: { provisioner: manual, nodes: 4, perNode: 8, cores: 96, memory: 1TiB, leadTime: 2m, leadTimeP95: 10m, orderAfter: 30d, releaseAfter: 10m }
`;

describe("headroom order advise", () => {
  it("says which nodes would start waiting work, what they cost and when they are expected", async () => {
    expect(await order("advise")).toBe("No work waits.");
    writeFileSync(path.join(live.folder, "annex.yaml"), FLEET);
    expect(await live.headroom(["apply", "-f", "annex.yaml", "--yes"])).toMatchObject({ code: 0, stderr: "" });
    const run = (...args: readonly string[]) => live.headroom(["run", "--env", "none", ...args, "--", "true"]);
    for (const name of ["one", "two"]) await run("--name", name, "--workers", "2", "--gpus", "8", "--type", "H100-SXM");
    await run("--name", "wide", "--gpus", "16", "--type", "H100-SXM");
    const text = await order("advise");
    expect(text).toMatch(/^4 nodes of leased would start 2 tasks of 2 workloads\. No order starts 1 workload\.$/m);
    expect(text).toMatch(/^leased +4 +8 accelerators, 96 cores, 1 TiB +80\.00 +\S+Z +\S+Z +2 +w1 w2$/m);
    expect(text).toContain("Instead of leased: 4 nodes of dear, 128.00 USD/h.");
    expect(text).toMatch(/^w3: no pool has nodes that would hold it/m);
    expect(await order("advise", "--workload", "two", "--csv")).toMatch(/\nleased,2,8,40,\S+Z,\S+Z,1,1$/);
    expect(await order("advise", "--pool", "dear", "--nodes", "2", "--csv")).toMatch(/\ndear,2,8,64,/);
    expect(await order("advise", "--pool", "none")).toMatch(/^1 .*There is no pool none/);
  });

  it("proposes the order", async () => {
    const answer = JSON.parse(await order("advise", "--propose", "--json")) as {
      readonly proposals: readonly string[];
    };
    expect(answer.proposals).toHaveLength(1);
    const { stdout } = await live.headroom(["proposal", "show", answer.proposals[0] ?? ""]);
    expect(stdout).toMatch(/advised-leased-\d{12}/);
    expect(await order("list")).toBe("");
    expect(await order("advise", "--propose")).toMatch(/^1 .* proposes nodes of leased already/);
  });
});

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
