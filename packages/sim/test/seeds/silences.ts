/** Executors of random worlds that fall silent and answer again. Their work runs on meanwhile, and reports itself. */
import type { Input } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import type { Luck } from "./luck.ts";

/** `null`: no executor changes this time. */
export function silence(luck: Luck, { pools, executorStates }: ReadonlyState): Input | null {
  const silent = [...executorStates.values()].filter(({ phase }) => phase === "unreachable");
  const [first] = silent;
  if (first !== undefined) return luck.chance(40) ? { kind: "executorReachable", executor: first.executor } : null;
  const known = [...new Set([...pools.values()].map(({ executor }) => executor))];
  if (known.length === 0 || !luck.chance(4)) return null;
  return { kind: "executorUnreachable", executor: luck.pick(known), detail: "no answer" };
}

/** Every silent executor answers again. */
export const answers = ({ executorStates }: ReadonlyState): readonly Input[] =>
  [...executorStates.keys()].map((executor) => ({ kind: "executorReachable", executor }) as const);
