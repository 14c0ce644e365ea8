import { nodeId } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { foreignUses, ownAmounts, usedAmounts } from "./foreign-use.ts";

const line = (name: string, gres: string, cpus = 0, memory = 0): string =>
  `NodeName=${name} CPUAlloc=${cpus} CPUTot=64 Gres=gpu:h100:8 GresDrain=N/A GresUsed=${gres} AllocMem=${memory} State=MIXED\n`;
const nodes = ["n1", "n2"].map((name) => ({ id: nodeId(`lab-${name}`), name }));

describe("foreign use on a Slurm cluster", () => {
  it("sums accelerators of all types and leaves out other generic resources", () => {
    const used = usedAmounts(
      line("n1", "gpu:h100:3(IDX:0-2),gpu:a100:1(IDX:4)", 7, 10_240) +
        line("n2", "gpu:h100:0(IDX:N/A),shard:12") +
        line("n3", "gpu:2"),
    );
    expect(used.get("n1")).toEqual({ accelerators: 4, cores: 7, memoryMib: 10_240 });
    expect(used.get("n2")).toEqual({ accelerators: 0, cores: 0, memoryMib: 0 });
    expect(used.get("n3")?.accelerators).toBe(2);
  });

  it("is what own jobs did not ask for", () => {
    const used = usedAmounts(line("n1", "gpu:h100:6", 20, 30_000) + line("n2", "gpu:h100:2", 4, 8_000));
    const amounts = { accelerators: 2, cores: 4, memoryMib: 8_000 };
    const own = ownAmounts([
      { node: "n1", amounts },
      { node: "n1", amounts: { accelerators: 1, cores: 1, memoryMib: 1_000 } },
      { node: "n2", amounts },
    ]);
    expect(foreignUses(nodes, used, own)).toEqual([
      { nodeId: "lab-n1", accelerators: 3, coresMilli: 15_000, memoryMib: 21_000 },
    ]);
  });

  it("says nothing about nodes of own jobs whose amounts are not recorded, and is never negative", () => {
    const used = usedAmounts(line("n1", "gpu:h100:6", 20, 30_000) + line("n2", "gpu:h100:1", 1, 1));
    const own = ownAmounts([{ node: "n1" }, { node: "n2", amounts: { accelerators: 2, cores: 4, memoryMib: 8_000 } }]);
    expect(foreignUses(nodes, used, own)).toEqual([]);
  });
});
