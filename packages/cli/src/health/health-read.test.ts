import { describe, expect, it } from "vitest";
import { headroom } from "../testing/recorded-terminal.ts";

const log = `Nov 28 10:17:52 gpu01 kernel: nvidia-uvm: Loaded the UVM driver
Nov 28 10:17:53 gpu01 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=3491, GPU has fallen off the bus.\r
${"x".repeat(200_000)}
mlx5_core 0000:5e:00.0 ens1f0np0: Link down
NVRM: Xid (PCI:0000:b7:00): 45, pid=40011, Ch 00000010`;

describe("headroom health read", () => {
  it("prints an array with one object for each finding", async () => {
    const { code, stdout } = await headroom(["health", "read", "-", "--json"], { workingDirectory: "/", stdin: log });
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual([
      {
        code: "xid-79",
        device: "0000:3b:00",
        severity: "critical",
        line: 2,
        action: "reboot-node",
        summary: "the GPU has fallen off the bus",
        text: "Nov 28 10:17:53 gpu01 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=3491, GPU has fallen off the bus.",
      },
      expect.objectContaining({ code: "link-down", device: "0000:5e:00.0", severity: "critical", line: 4 }),
      expect.objectContaining({ code: "xid-45", severity: "info", line: 5 }),
    ]);
  });

  it("prints an empty array for a log without faults, and a table for people", async () => {
    const none = await headroom(["health", "read", "-", "--json"], { workingDirectory: "/", stdin: "all is well\n" });
    expect([none.code, JSON.parse(none.stdout)]).toEqual([0, []]);
    const { stdout } = await headroom(["health", "read", "-"], { workingDirectory: "/", stdin: log });
    expect(stdout).toMatch(/2 +xid-79 +0000:3b:00 +critical +reboot-node/);
    expect(stdout).toContain("2 critical, 0 warnings, 1 for information");
  });
});
