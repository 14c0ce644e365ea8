/** Options that all listing commands share. */
import type { HeadroomClient } from "@headroom/protocol";
import { CliError, exitCode } from "./cli-error.ts";
import { allPages } from "./resolve-workload.ts";

const DEFAULT_LIMIT = 50;
const LIMIT_MAX = 100_000;

export const limitOption = {
  flags: "-n, --limit <count>",
  description: `maximum number of rows (default ${DEFAULT_LIMIT})`,
};

export function limitOf(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LIMIT;
  const limit = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > LIMIT_MAX)
    throw new CliError(`--limit must be between 1 and ${LIMIT_MAX}, got ${text}`, exitCode.usage);
  return limit;
}

export async function checkTeam(client: HeadroomClient, name: string): Promise<void> {
  const { items } = await allPages((cursor, limit) => client.teams({ cursor, limit }), Number.POSITIVE_INFINITY);
  if (!items.some((team) => team.name === name)) throw new CliError(`there is no team ${name}`, exitCode.failed);
}
