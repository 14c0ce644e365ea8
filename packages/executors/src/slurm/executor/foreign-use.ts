/** Amounts that jobs of others use: those that Slurm has allocated on a node, less those that own jobs requested there. */
import type { ForeignUseReport, NodeId } from "@headroom/model";
import type { HeldAmounts } from "../../job-protocol/attempt-records.ts";
import { genericGpus } from "../reading/gpu-counts.ts";

const NOTHING: HeldAmounts = { accelerators: 0, cores: 0, memoryMib: 0 };

/** Amounts that jobs hold, by the node's name, from `scontrol show node --details --oneliner`. */
export function usedAmounts(text: string): ReadonlyMap<string, HeldAmounts> {
  const used = new Map<string, HeldAmounts>();
  for (const line of text.split("\n")) {
    const name = /^NodeName=(\S+)/.exec(line)?.[1];
    if (name === undefined) continue;
    const numberAt = (field: RegExp): number => Number(field.exec(line)?.[1] ?? 0);
    const cores = numberAt(/\bCPUAlloc=(\d+)/);
    const memoryMib = numberAt(/\bAllocMem=(\d+)/);
    used.set(name, { accelerators: gpusIn(/\bGresUsed=(\S+)/.exec(line)?.[1] ?? ""), cores, memoryMib });
  }
  return used;
}

/** GPUs of all types. A text that cannot be read counts as none, as foreign use is rather too small than too large. */
function gpusIn(text: string): number {
  try {
    return genericGpus({ column: "GresUsed", text, isCut: false }) ?? 0;
  } catch {
    return 0;
  }
}

/** `null`: an own job has no recorded amounts, so nothing can be said about its nodes. */
export type OwnAmounts = ReadonlyMap<string, HeldAmounts | null>;

/** Adds up own parts by the node's name. */
export function ownAmounts(parts: Iterable<{ readonly node: string; readonly amounts?: HeldAmounts }>): OwnAmounts {
  const own = new Map<string, HeldAmounts | null>();
  for (const { node, amounts } of parts) {
    const before = own.get(node);
    own.set(node, amounts === undefined || before === null ? null : sumOf(before ?? NOTHING, amounts));
  }
  return own;
}

const sumOf = (left: HeldAmounts, right: HeldAmounts): HeldAmounts => ({
  accelerators: left.accelerators + right.accelerators,
  cores: left.cores + right.cores,
  memoryMib: left.memoryMib + right.memoryMib,
});

/**
 * Foreign use of nodes. Own jobs that wait in Slurm count as holding what they requested, so foreign use is rather too small: too
 * much of it would keep work away from free nodes.
 */
export function foreignUses(
  nodes: readonly { readonly id: NodeId; readonly name: string }[],
  used: ReadonlyMap<string, HeldAmounts>,
  own: OwnAmounts,
): readonly ForeignUseReport[] {
  return nodes.flatMap(({ id: nodeId, name }) => {
    const all = used.get(name) ?? NOTHING;
    const mine = own.get(name);
    if (mine === null) return [];
    const less = (of: keyof HeldAmounts): number => Math.max(0, all[of] - (mine?.[of] ?? 0));
    const [accelerators, cores, memoryMib] = [less("accelerators"), less("cores"), less("memoryMib")];
    if (accelerators + cores + memoryMib === 0) return [];
    return [{ nodeId, accelerators, coresMilli: 1_000 * cores, memoryMib }];
  });
}
