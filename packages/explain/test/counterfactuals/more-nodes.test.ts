/** Number of further nodes that start a workload, in cases where the sums of free resources suggest fewer. */
import { describe, expect, it } from "vitest";
import { nodeId, presets, workloadId } from "@headroom/model";
import type { Input, Policy } from "@headroom/model";
import { Drive, applied, command, node, pool, site, spec } from "@headroom/engine/testing";
import { smallestChanges } from "../../src/index.ts";

const NODES = 20;

/** Nodes full of preemptible work, which work of the same team and priority cannot preempt. */
function lent(type: string, amounts: { readonly accelerators: number; readonly coresMilli: number }): Drive {
  const drive = new Drive();
  const gang = { workers: 1, ...amounts };
  const spread = { acceleratorCount: amounts.accelerators, coresMilli: amounts.coresMilli };
  drive.receive(
    command({ kind: "setPolicy", policy: presets.get("default") as Policy }),
    applied({ sites: [site], pools: [pool(type)] }),
    ...Array.from({ length: NODES }, (_, index): Input => ({
      kind: "nodeSeen",
      node: node(`n${index}`, type, spread),
    })),
    ...Array.from({ length: NODES }, (_, index) =>
      command({ kind: "submitWorkload", spec: spec(`held-${index}`, { gang, preemptible: true }) }),
    ),
    command({ kind: "submitWorkload", spec: spec("asked", { gang: { ...gang, workers: 30 } }) }),
  );
  return drive;
}

describe("more nodes", () => {
  it.each([
    ["with accelerators", "H100", { accelerators: 8, coresMilli: 0 }],
    ["without", "", { accelerators: 0, coresMilli: 4000 }],
  ] as const)("%s are as many as it needs, though who holds the others could leave", (_name, type, amounts) => {
    const { engine } = lent(type, amounts);
    const [change] = smallestChanges(engine, workloadId(`w${NODES + 1}`)).filter(
      ({ change: { kind } }) => kind === "moreNodes",
    );
    expect(change?.change).toEqual({ kind: "moreNodes", count: 30, acceleratorType: type, like: nodeId("n0") });
  });
});
