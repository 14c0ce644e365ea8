/** Secrets that work names: which of them its pods may get, and how they stand in a pod. Values are never read here. Pure. */
import { refusedSecret } from "@headroom/model";
import type { LaunchGang } from "@headroom/model";
import { RefusedGang } from "../../job-protocol/refused-gang.ts";
import type { KubernetesSettings } from "../settings.ts";

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
  const refused = refusedSecret(rules, launch);
  if (refused !== null)
    throw new RefusedGang(
      `work of the team ${launch.spec.team} may not have the Secret ${refused}. Add it to secrets of the executor, or name another`,
    );
  return {
    env: keys.map(({ variable, name, key }) => ({ name: variable, valueFrom: { secretKeyRef: { name, key } } })),
    envFrom: envFrom.map((name) => ({ secretRef: { name } })),
    pull,
  };
}
