/** Activates a policy at the start: the requested one, or for an empty journal the default preset. */
import { canonicalJson, defaultPolicy, presets } from "@headroom/model";
import type { Policy } from "@headroom/model";
import { OperationalError } from "@headroom/platform";
import type { Driver } from "./driver/driver.ts";

/**
 * The policy is recorded before anything else: if a crash leaves the journal empty, the next start sees a new journal
 * again. A journal with events keeps its policy, even if no policy was ever chosen.
 */
export async function choosePolicy(driver: Driver, name: string | undefined): Promise<void> {
  const { current, isNew } = await driver.read(({ state }) => ({ current: state.policy, isNew: state.sequence === 0 }));
  const wanted = name === undefined ? (isNew ? defaultPolicy : current) : presetOf(name);
  // Policies are compared by content: an older control plane can have had another policy under the same name.
  if (canonicalJson(wanted) === canonicalJson(current)) return;
  await driver.command({ kind: "setPolicy", policy: wanted, actor: "start", idempotencyKey: null });
}

function presetOf(name: string): Policy {
  const policy = presets.get(name);
  if (policy !== undefined) return policy;
  const known = [...presets.keys()].join(", ");
  throw new OperationalError("unknownPolicy", `There is no policy preset ${name}. There are: ${known}.`);
}
