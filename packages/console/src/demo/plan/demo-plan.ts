/**
 * The stored plan of the demo. It was solved beforehand from `documents.json`, because the solver is larger than the console
 * and needs WebAssembly, which the security policy of a control plane forbids in a browser.
 */
import { storedPlan } from "@headroom/protocol";
import type { StoredPlan } from "@headroom/protocol";

export async function demoPlan(storedAtMs: number): Promise<StoredPlan> {
  const [{ default: documents }, { default: solved }] = await Promise.all([
    import("./documents.json", { with: { type: "json" } }),
    import("./solved.json", { with: { type: "json" } }),
  ]);
  return storedPlan.parse({ storedAtMs, actor: "platform", documents, solved });
}
