/** Which policy a start puts in force: the one asked for, and on a journal in which nothing happened yet the default preset. */
import { canonicalJson, defaultPolicy, presets } from "@headroom/engine";
import type { Policy } from "@headroom/engine";
import type { Driver } from "./driver/driver.ts";
import { OperationalError } from "@headroom/platform";

/**
 * Comes before anything else that is recorded: as long as a crash left the journal empty, the next start sees that it is new.
 * A journal with a past keeps the policy that it had, even if that is only the one that stands before every first event.
 */
export async function choosePolicy(driver: Driver, name: string | undefined): Promise<void> {
  const { current, isNew } = await driver.read(({ state }) => ({ current: state.policy, isNew: state.sequence === 0 }));
  const wanted = name === undefined ? (isNew ? defaultPolicy : current) : presetOf(name);
  // By content: an older control plane may have known another policy by the same name.
  if (canonicalJson(wanted) === canonicalJson(current)) return;
  await driver.command({ kind: "setPolicy", policy: wanted, actor: "start", idempotencyKey: null });
}

function presetOf(name: string): Policy {
  const policy = presets.get(name);
  if (policy !== undefined) return policy;
  const known = [...presets.keys()].join(", ");
  throw new OperationalError("unknownPolicy", `There is no policy preset ${name}. There are: ${known}.`);
}
