import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startLive, type LiveControlPlane } from "../testing/live-control-plane.ts";

let live: LiveControlPlane;
beforeAll(async () => {
  live = await startLive();
});
afterAll(() => live.close());

describe("headroom drift", () => {
  it("shows what is declared, the nodes that differ, proposals and runs", async () => {
    expect((await live.headroom(["drift", "remediations"])).stderr).toContain("No remediation is declared");
    expect((await live.headroom(["drift", "check", "nccl"])).stderr).toContain("There is no remediation nccl");
    const facts = ["/bin/sh", "-c", 'echo "{\\"nccl\\":\\"2.19\\"}"', "{node}"];
    const desired = { nccl: "2.21" };
    const document = {
      kind: "remediation",
      name: "nccl",
      pools: ["local"],
      desired,
      facts,
      command: ["true", "{node}"],
    };
    writeFileSync(path.join(live.folder, "home", "remediations.yaml"), JSON.stringify(document));
    const listed = await live.headroom(["drift", "remediations"]);
    expect(listed.stdout).toMatch(/nccl +local +drain +1, then 4 +- +nccl=2\.21 +true \{node\}/);
    expect((await live.headroom(["drift", "check", "nccl", "--csv"])).stdout).toBe(
      "node,fact,value,expected\nhere,nccl,2.19,2.21\n",
    );
    expect((await live.headroom(["drift", "remediate", "nccl", "--dry-run"])).stderr).toContain(
      "Nothing was proposed.",
    );
    const proposed = await live.headroom(["drift", "remediate", "nccl"]);
    expect(proposed.stdout).toMatch(
      /\nCarry out remediation nccl on here, in waves: proposal p\d+ by .* waits for a decision/,
    );
    expect((await live.headroom(["drift", "waves"])).stderr).toContain("There was no run");
    expect((await live.headroom(["drift", "waves", "p1"])).stderr).toContain("There is no run p1");
    expect((await live.headroom(["drift", "cancel", "p1"])).stderr).toContain("There is no run p1");
  });

  it("is a usage error without a file and a command", async () => {
    expect(await live.headroom(["drift"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("drift needs a file"),
    });
  });
});
