/** Settings of `headroom up` about the isolation of workers on this machine, as options of its executor. */
import type { ControlPlaneOptions } from "@headroom/server";
import { CliError, exitCode } from "../cli-error.ts";
import type { UpValues } from "./up-settings.ts";

/** The modes of the local executor, whose package is loaded only by the control plane. */
const isolationModes = ["auto", "bubblewrap", "none"] as const;
const networkModes = ["machine", "team"] as const;

type IsolationOptions = Pick<NonNullable<ControlPlaneOptions["local"]>, "isolation" | "network" | "users">;

/** Throws a `CliError` for a value that is none. */
export function isolationSettings({ isolation, network, users }: UpValues): IsolationOptions {
  return {
    ...(isolation === undefined ? {} : { isolation: choiceOf("isolation", isolation, isolationModes) }),
    ...(network === undefined ? {} : { network: choiceOf("network", network, networkModes) }),
    ...(users === undefined ? {} : { users: usersOf(users) }),
  };
}

function choiceOf<Choice extends string>(field: string, value: string, choices: readonly Choice[]): Choice {
  const choice = choices.find((each) => each === value);
  if (choice !== undefined) return choice;
  throw new CliError(`${field} must be one of ${choices.join(", ")}, got ${value}`, exitCode.usage);
}

/** A team as in its document, or `*`; a login name. */
const TEAM_USER = /^([\w./-]+|\*)=([a-z_][a-z0-9_.-]{0,31})$/i;

/** `research=ml-research`: the user of the team and of the teams below it; `*` is any other team. */
function usersOf(entries: readonly string[]): Readonly<Record<string, string>> {
  const users = new Map<string, string>();
  for (const entry of entries) {
    const [, team = "", user = ""] = TEAM_USER.exec(entry) ?? [];
    if (team === "" || team === "__proto__")
      throw new CliError(
        `users must be a list of TEAM=USER without spaces, such as research=ml-research, got ${JSON.stringify(entry)}`,
        exitCode.usage,
      );
    if (user === "root") throw new CliError(`users gives ${team} the user root: name another one`, exitCode.usage);
    if (users.has(team)) throw new CliError(`users names the team ${team} twice`, exitCode.usage);
    users.set(team, user);
  }
  return Object.fromEntries(users);
}
