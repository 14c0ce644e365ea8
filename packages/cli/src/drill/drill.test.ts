import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startLive, type LiveControlPlane } from "../testing/live-control-plane.ts";

let live: LiveControlPlane;
beforeAll(async () => {
  live = await startLive();
});
afterAll(() => live.close());

describe("headroom drill", () => {
  it("simulates a loss, refuses nodes that are not allowed, and runs on those that are", async () => {
    const simulated = await live.headroom(["drill", "lose", "here", "--for", "30m"]);
    expect([simulated.code, simulated.stderr]).toEqual([0, ""]);
    expect(simulated.stdout).toMatch(/^Lost: 1 node with 4 accelerators, 1 incident;[^]*away +2\.0 accelerator-hours/);
    const real = ["drill", "lose", "here", "--real", "--yes", "--for", "30m"];
    const refused = await live.headroom(real);
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("headroom.drills: allowed")]);
    const pool = "{ name: local, executor: local, accelerator: slot, labels: { headroom.drills: allowed } }";
    writeFileSync(path.join(live.folder, "fleet.yaml"), `kind: fleet\nsites: [{ name: local, pools: [${pool}] }]\n`);
    expect((await live.headroom(["apply", "-f", "fleet.yaml", "--yes"])).code).toBe(0);
    expect(await live.headroom(real.filter((each) => each !== "--yes"))).toMatchObject({ code: 2 });
    expect((await live.headroom(real)).stdout).toMatch(/^Drill d1 runs until /);
    expect((await live.headroom(["drill", "list"])).stdout).toMatch(/d1 +running .* 0 of 0 +here/);
    const [, row] = (await live.headroom(["drill", "list", "--csv"])).stdout.split("\n");
    expect(row).toMatch(/^d1,running,\S+Z,[^,]+,1,0,0,here$/);
    expect((await live.headroom(["drill", "cancel", "d1"])).stdout).toBe(
      "Drill d1 is over: work is placed again on 1 node.\n",
    );
    expect((await live.headroom(["drill", "show", "d1"])).stdout).toMatch(
      /cancelled[^]*EXPECTED +OBSERVED\n *workloads/,
    );
    expect((await live.headroom(["drill", "cancel", "d1"])).stderr).toContain("Drill d1 is over");
  });

  it.each([
    [["drill", "lose", "=x"], "write NAME or LEVEL=NAME"],
    [["drill", "lose", "here", "--for", "48h"], "--for"],
    [["drill", "lose", "here", "--yes"], "--yes goes with --real"],
    [["drill"], "drill needs a command"],
  ])("%j is a usage error", async (args, message) => {
    const { code, stderr } = await live.headroom(args);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});

describe("headroom incident", () => {
  it("lists incidents for people and spreadsheets, and keeps notes and the end", async () => {
    const log = path.join(live.folder, "dmesg");
    writeFileSync(log, "[12.0] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n");
    expect((await live.headroom(["health", "read", log, "--report", "here"])).code).toBe(0);
    const list = async (...options: readonly string[]) =>
      (await live.headroom(["incident", "list", ...options])).stdout.trimEnd().split("\n");
    await expect.poll(async () => (await list()).length).toBe(2);
    const [titles, row = ""] = await list("--csv");
    expect(titles).toMatch(/^incident,phase,since,until,level,domain,.*,cause$/);
    expect(row).toMatch(/^i\d+,open,\S+Z,,node,here,1,1,0,,Node here has faults: xid-79/);
    const id = row.split(",")[0] ?? "";
    expect((await live.headroom(["incident", "note", id, "card reseated"])).code).toBe(0);
    expect((await live.headroom(["incident", "resolve", id])).stdout).toContain(`Incident ${id} (resolved)`);
    expect((await live.headroom(["incident", "show", id])).stdout).toContain("card reseated");
    expect((await list("--phase", "resolved"))[1]).toContain(id);
  });
});
