/** The policy that a start activates: the requested one, and for an empty journal the default preset. */
import { canonicalJson, defaultPolicy, presets } from "@headroom/engine";
import type { Policy } from "@headroom/engine";
import type { Driver } from "./driver/driver.ts";
import { OperationalError } from "@headroom/platform";

/**
 * Recorded before anything else: as long as a crash left the journal empty, the next start sees that it is new. A
 * journal with events keeps its policy, even if that is only the initial one.
 */
export async function choosePolicy(driver: Driver, name: string | undefined): Promise<void> {
  const { current, isNew } = await driver.read(({ state }) => ({ current: state.policy, isNew: state.sequence === 0 }));
  const wanted = name === undefined ? (isNew ? defaultPolicy : current) : presetOf(name);
  // Compared by content: an older control plane may have had another policy with the same name.
  if (canonicalJson(wanted) === canonicalJson(current)) return;
  await driver.command({ kind: "setPolicy", policy: wanted, actor: "start", idempotencyKey: null });
}

function presetOf(name: string): Policy {
  const policy = presets.get(name);
  if (policy !== undefined) return policy;
  const known = [...presets.keys()].join(", ");
  throw new OperationalError("unknownPolicy", `There is no policy preset ${name}. There are: ${known}.`);
}
