/** Inputs that make proposed changes on a fork: the commands that the engine itself gives when it acts on a proposal. */
import { commandOfChange } from "@headroom/engine/internals";
import type { Engine } from "@headroom/engine";
import type { Input, ProposedChange } from "@headroom/model";
import { counterfactualCommand } from "./counterfactuals.ts";

export function proposedInputs({ state }: Pick<Engine, "state">, changes: readonly ProposedChange[]): readonly Input[] {
  return changes.flatMap((change) => {
    const body = commandOfChange(state, change);
    return body === null ? [] : [counterfactualCommand(body)];
  });
}
