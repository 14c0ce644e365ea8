/** The reason that no pool with room makes the transfers of work, and what to change. */
import type { BlockedReason } from "@headroom/model";
import { grouped, plural } from "./plain-text.ts";

export function transfersSentence({
  direction,
  pools,
  from,
  placeableWorkers,
  workers,
}: BlockedReason & { readonly kind: "transfers" }): string {
  const subject = direction === "in" ? "Inputs" : "Uploads";
  const does = direction === "in" ? "bring inputs from stores" : "upload what work produces";
  const fits = `${subject}: ${grouped(placeableWorkers)} of ${plural(workers, "worker")} ${placeableWorkers === 1 ? "fits" : "fit"} in pools that ${does}`;
  if (from !== undefined) {
    const where =
      pools.length === 0 ? `Uploads: no pool uploads from ${from}` : `${fits} from ${from} (${pools.join(", ")})`;
    return `${where}. Leave out checkpoint.dir, and write dir: own (in the API null); or add a parent of ${from} to uploadsFrom of an executor, if its nodes share it with the control plane.`;
  }
  if (pools.length > 0) return `${fits} (${pools.join(", ")}).`;
  return direction === "in"
    ? `Inputs: no pool brings inputs from stores. Set the directory that an executor shares with its nodes, name inputs by paths that the nodes have, or state readsStores: true for an executor whose work reads stores itself.`
    : `Uploads: no pool uploads what work produces. Submit it without data.store and checkpoint.store, or state leavesOutputs: true for an executor.`;
}
