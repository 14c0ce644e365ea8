import { expect, it } from "vitest";
import { Drive, applied, command, node, pool, site, spec } from "@headroom/engine/testing";
import { smallestChanges } from "../../src/index.ts";

it("another type is offered to work that names one and asks for no accelerators of it", () => {
  const drive = new Drive();
  drive.receive(applied({ sites: [site], pools: [pool("H100")] }));
  drive.receive({ kind: "nodeSeen", node: node("n1", "H100") });
  const waiting = spec("typo", { acceleratorTypes: ["H1OO"], gang: { accelerators: 0, coresMilli: 1000 } });
  drive.receive(command({ kind: "submitWorkload", spec: waiting }));
  const [id] = [...drive.engine.state.workloads.keys()];
  expect(smallestChanges(drive.engine, id!).map(({ change }) => change)).toContainEqual({
    kind: "otherType",
    acceleratorType: "H100",
  });
});
