/** Adds the stored keys to a configuration. The rest of the gateway sees no difference to keys in gateway.yaml. */
import type { GatewayConfig, TeamConfig } from "../config/schema.ts";
import type { StoredKey } from "./stored-keys.ts";

/** Keys of teams that the configuration does not have are left out: they are back when their team is. */
export function withStoredKeys(config: GatewayConfig, stored: readonly StoredKey[]): GatewayConfig {
  if (stored.length === 0) return config;
  const byTeam = Map.groupBy(stored, ({ team }) => team);
  const teams = config.teams.map((team): TeamConfig => {
    const own = byTeam.get(team.name) ?? [];
    const known = new Set(team.keys.map(({ sha256 }) => sha256));
    const added = own.filter(({ sha256 }) => !known.has(sha256)).map((key) => keyConfigOf(key));
    return added.length === 0 ? team : { ...team, keys: [...team.keys, ...added] };
  });
  return { ...config, teams };
}

function keyConfigOf({ name, sha256, expiresAtMs, models }: StoredKey): TeamConfig["keys"][number] {
  return {
    name,
    sha256,
    ...(expiresAtMs === undefined ? {} : { expires: expiresAtMs }),
    ...(models === undefined ? {} : { models }),
  };
}

/** A key that names a team or models which the configuration does not have. Undefined if it fits. */
export function misfitOf(
  { team, models }: Pick<StoredKey, "team"> & { readonly models?: readonly string[] | undefined },
  config: GatewayConfig,
): string | undefined {
  const own = config.teams.find(({ name }) => name === team);
  if (own === undefined) {
    const names = config.teams.map(({ name }) => name).slice(0, 20);
    return `There is no team ${team} in gateway.yaml${names.length === 0 ? "" : `; it has ${names.join(", ")}`}.`;
  }
  const allowed = new Set(own.models ?? config.models.map(({ name }) => name));
  const unknown = models?.find((each) => !allowed.has(each));
  if (unknown === undefined) return undefined;
  return `Team ${team} may not use the model ${unknown}; it may use ${[...allowed].slice(0, 20).join(", ")}.`;
}
