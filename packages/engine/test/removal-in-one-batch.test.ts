/** A removal that waits is completed however its last node leaves. */
import { expect, it } from "vitest";
import { attemptId, nodeId, poolName, siteName } from "@headroom/model";
import { Drive } from "./lab/drive.ts";
import { applied, command, node, pool, site, spec } from "./lab/make.ts";

it.each(["pool", "site"] as const)("a %s leaves although a command removed its last node in the same batch", (what) => {
  const drive = new Drive();
  drive.receive(applied({ sites: [site], pools: [pool("H100")] }), { kind: "nodeSeen", node: node("n0", "H100") });
  drive.receive(command({ kind: "submitWorkload", spec: spec("a", { gang: { accelerators: 1 } }) }));
  drive.receive({ kind: "attemptRunning", attemptId: attemptId("w1.1") });
  const running = "requeue";
  drive.receive(
    what === "pool"
      ? command({ kind: "removePool", pool: poolName("H100"), running })
      : command({ kind: "removeSite", site: siteName("dc"), running }),
  );
  expect(drive.engine.state.pools.size).toBe(1);
  drive.receive(
    {
      kind: "attemptExited",
      attemptId: attemptId("w1.1"),
      exits: [{ kind: "exited", worker: 0, code: 143 }],
    },
    command({ kind: "removeNode", nodeId: nodeId("n0"), running }),
  );
  const { nodes, pools, sites, poolRemovals, siteRemovals } = drive.engine.state;
  expect([nodes.size, pools.size, poolRemovals.size, siteRemovals.size]).toEqual([0, 0, 0, 0]);
  expect(sites.size).toBe(what === "pool" ? 1 : 0);
});
