/** Foreign use of nodes that change. */
import { nodeId } from "@headroom/model";
import { expect, it } from "vitest";
import { Drive } from "./lab/drive.ts";
import { applied, node, pool, site } from "./lab/make.ts";

it("keeps the foreign use of a node whose labels or amounts change, within the new amounts", () => {
  const drive = new Drive();
  const seen = (changes: object) => ({ kind: "nodeSeen", node: { ...node("n", "H100"), ...changes } }) as const;
  const use = () => drive.engine.state.nodes.get(nodeId("n"))?.foreignUse;
  drive.receive(applied({ sites: [site], pools: [pool("H100")] }), seen({ coresMilli: 8_000, memoryMib: 4_096 }));
  const report = { nodeId: nodeId("n"), accelerators: 2, coresMilli: 6_000, memoryMib: 1_024 };
  drive.receive({ kind: "foreignUseSeen", executor: pool("H100").executor, uses: [report] });
  const before = use();
  expect(before).toMatchObject({ coresMilli: 6_000, memoryMib: 1_024 });
  drive.receive(seen({ coresMilli: 8_000, memoryMib: 4_096, labels: { zone: "z" } }));
  expect(use()).toEqual(before);
  drive.receive(seen({ coresMilli: 5_000, memoryMib: 4_096, labels: { zone: "z" } }));
  expect(use()).toEqual({ ...before, coresMilli: 5_000 });
  drive.receive(seen({ coresMilli: 5_000, memoryMib: 4_096, acceleratorCount: 1 }));
  expect(use()).toBeUndefined();
});
