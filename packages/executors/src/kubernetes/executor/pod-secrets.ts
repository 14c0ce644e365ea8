/** Secrets that work names: which of them its pods may get, and how they stand in a pod. Values are never read here. Pure. */
import type { LaunchGang } from "@headroom/model";
import { RefusedGang } from "../../job-protocol/refused-gang.ts";
import type { KubernetesSettings } from "../settings.ts";
import { secretByRule } from "./submitter-names.ts";

/** The rule that any Secret of the namespace fits. */
const ANY = "*";

export interface PodSecrets {
  readonly env: readonly object[];
  readonly envFrom: readonly object[];
  readonly pull: readonly string[];
}

/** Throws a `RefusedGang` for a Secret that the rules of the executor do not let the work have. */
export function podSecrets(launch: LaunchGang, { secrets: rules }: Pick<KubernetesSettings, "secrets">): PodSecrets {
  const { env = {}, envFrom = [], pull = [] } = launch.spec.secrets ?? {};
  const keys = Object.entries(env).map(([variable, reference]) => {
    const at = reference.indexOf("/");
    return { variable, name: reference.slice(0, at), key: reference.slice(at + 1) };
  });
  for (const name of new Set([...keys.map((each) => each.name), ...envFrom, ...pull])) refuse(launch, name, rules);
  return {
    env: keys.map(({ variable, name, key }) => ({ name: variable, valueFrom: { secretKeyRef: { name, key } } })),
    envFrom: envFrom.map((name) => ({ secretRef: { name } })),
    pull,
  };
}

function refuse(launch: LaunchGang, name: string, rules: readonly string[]): void {
  if (rules.includes(ANY) || rules.includes(name)) return;
  if (rules.some((rule) => rule.includes("{") && secretByRule(rule, launch) === name)) return;
  throw new RefusedGang(
    `work of the team ${launch.spec.team} may not have the Secret ${name}. Add it to secrets of the executor, or name another`,
  );
}
