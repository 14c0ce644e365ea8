/** Options that all listing commands share. */
import type { HeadroomClient, WorkloadPhase } from "@headroom/protocol";
import { CliError, exitCode } from "./cli-error.ts";
import type { CommandContext, OptionDefinition } from "./command.ts";
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

export const phases = ["pending", "running", "stopping", "succeeded", "failed", "cancelled"] as const;
export const endedPhases = ["succeeded", "failed", "cancelled"] as const;

/** Codes and names of states in `squeue` and `sacct`. */
const slurmStates: Readonly<Record<string, WorkloadPhase>> = {
  pd: "pending",
  r: "running",
  cg: "stopping",
  completing: "stopping",
  cd: "succeeded",
  completed: "succeeded",
  f: "failed",
  to: "failed",
  timeout: "failed",
  ca: "cancelled",
};

/** Reads one or several phases, as `running,pending` or as Slurm's `R,PD`. */
export function phasesOf(flag: string, texts: readonly string[] | undefined): readonly WorkloadPhase[] | undefined {
  if (texts === undefined) return undefined;
  return texts
    .flatMap((text) => text.split(","))
    .map((text) => {
      const name = text.trim().toLowerCase();
      const phase = phases.find((each) => each === name) ?? slurmStates[name];
      if (phase === undefined)
        throw new CliError(`${flag} must be one of ${phases.join(", ")}, got ${text}`, exitCode.usage);
      return phase;
    });
}

const weekdays = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/**
 * The instant that `--since` states: a duration before now (`2d`), `today`, `yesterday`, a weekday (the last one), a
 * date of the local calendar, or an instant.
 */
export async function sinceOf(text: string | undefined): Promise<number | undefined> {
  if (text === undefined) return undefined;
  const midnight = new Date();
  midnight.setHours(0, 0, 0, 0);
  const word = text.trim().toLowerCase();
  if (word === "today") return midnight.getTime();
  const weekday = weekdays.findIndex((day) => day === word || (word.length >= 3 && day.startsWith(word)));
  const daysAgo = word === "yesterday" ? 1 : weekday < 0 ? null : (midnight.getDay() - weekday + 7) % 7;
  if (daysAgo !== null) return midnight.setDate(midnight.getDate() - daysAgo);
  if (/^\d{4}-\d\d-\d\d$/.test(word)) return checkedInstant(text, new Date(`${word}T00:00:00`).getTime());
  if (/^\d{4}-\d\d-\d\dT/i.test(word)) return checkedInstant(text, Date.parse(word.toUpperCase()));
  const { DURATION_MS_MAX, readDuration } = await import("@headroom/protocol");
  const duration = readDuration(word, { min: 0, max: DURATION_MS_MAX });
  return duration.ok ? Math.max(0, Date.now() - duration.value) : checkedInstant(text, Number.NaN);
}

function checkedInstant(text: string, atMs: number): number {
  if (Number.isFinite(atMs)) return Math.max(0, atMs);
  throw new CliError(
    `--since must be a duration like 2d, today, yesterday, a weekday, or a time like 2026-07-01T12:00Z, got ${text}`,
    exitCode.usage,
  );
}

/** Options that choose workloads in `list`, `history` and `stop --all`. */
export interface SelectionOptions {
  readonly mine?: boolean;
  readonly user?: string;
  readonly team?: string;
  readonly node?: string;
  readonly search?: string;
}

export const selectionOptions: readonly OptionDefinition[] = [
  { flags: "--mine", description: "only your own workloads" },
  { flags: "-u, --user <user>", description: "only workloads of this user" },
  { flags: "--team <team>", description: "only workloads of this team and the teams below it", complete: "team" },
  { flags: "-w, --node <node>", description: "only workloads that run, or ran, on this node", complete: "node" },
  { flags: "--search <text>", description: "only workloads whose name or id contains the text" },
];

export async function selectionOf(context: CommandContext, { mine, user, team, node, search }: SelectionOptions) {
  if (mine === true && user !== undefined) throw new CliError("--mine and --user exclude each other", exitCode.usage);
  return { actor: mine === true ? await context.user() : user, team, node, search };
}
