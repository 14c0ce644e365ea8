/** The checks of a batch and of hot spares know every reason for which a node takes no work. */
import { describe, expect, it } from "vitest";
import { attemptId, nodeId, poolName } from "@headroom/model";
import { Drive } from "./lab/drive.ts";
import { applied, command, node, pool, site, spec } from "./lab/make.ts";

const running = { kind: "attemptRunning", attemptId: attemptId("w1.1") } as const;
const exited = (code: number) =>
  ({ kind: "attemptExited", attemptId: attemptId("w1.1"), exits: [{ kind: "exited", worker: 0, code }] }) as const;

describe("a node that takes no work", () => {
  it("may have been lost in the batch that placed a retry there", () => {
    const drive = new Drive();
    const policy = { ...drive.engine.state.policy, retryInPlaceMs: 60_000 };
    drive.receive(applied({ sites: [site], pools: [pool("H100")] }), command({ kind: "setPolicy", policy }), {
      kind: "nodeSeen",
      node: node("n0", "H100"),
    });
    const retries = { max: 1, backoffMs: 400, backoffMaxMs: 5_000 };
    drive.receive(command({ kind: "submitWorkload", spec: spec("a", { gang: { accelerators: 1 }, retries }) }));
    drive.receive(running);
    const { events } = drive.receive(exited(1), { kind: "nodeUnreachable", nodeId: nodeId("n0"), detail: "" });
    expect(events.map(({ kind }) => kind)).toEqual(expect.arrayContaining(["gangPlaced", "nodeLost"]));
    expect(drive.engine.state.nodes.get(nodeId("n0"))?.health).toBe("lost");
  });

  it("is no hot spare while its accelerators are not those of its pool", () => {
    const drive = new Drive();
    drive.receive(applied({ sites: [site], pools: [{ ...pool("A100"), hotSpares: 1 }] }), {
      kind: "nodeSeen",
      node: node("n0", "A100"),
    });
    expect(drive.engine.state.nodes.get(nodeId("n0"))?.hotSpare).toBe(true);
    drive.receive({ kind: "acceleratorsSeen", pool: poolName("A100"), acceleratorType: "L40S" });
    expect(drive.engine.state.nodes.get(nodeId("n0"))?.hotSpare).not.toBe(true);
  });
});
