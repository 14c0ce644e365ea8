/** The active policy and the presets. */
import { presets } from "@headroom/model";
import type { Policy as EnginePolicy } from "@headroom/model";
import type { Engine } from "@headroom/engine";
import type { Policy, PolicyChoice } from "@headroom/protocol";
import { enginePolicy, policyResource } from "./wire-forms.ts";

export function policyView(engine: Engine): Policy {
  return policyResource(engine.state.policy);
}

export function presetsView(): { items: Policy[] } {
  return { items: [...presets.values()].map(policyResource) };
}

/** The preset; `null`: there is none of that name. */
export function chosenPolicy(choice: PolicyChoice): EnginePolicy | null {
  return "preset" in choice ? (presets.get(choice.preset) ?? null) : enginePolicy(choice.policy);
}
