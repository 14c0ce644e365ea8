/** Teams and submitters of jobs that users submitted to Slurm themselves: the reverse of `executor/submitters.ts`. Pure. */
import type { PastNames } from "../kinds/executor-type.ts";
import type { SlurmSettings } from "./settings.ts";

type NameRules = Pick<SlurmSettings, "accounts" | "userRule" | "users">;

/** Names of teams (`TeamName`): segments of letters, digits, `.`, `_` and `-`. */
const TEAM = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

/** Without a table of accounts, an account is the team of the same name. */
export const slurmPastNames = ({ accounts, userRule, users = {} }: NameRules): PastNames => ({
  teamOf(account) {
    if (accounts === undefined) return TEAM.test(account) ? account : null;
    return onlyOne(
      Object.entries(accounts).filter(([team]) => team !== "*"),
      account,
    );
  },
  actorOf: (user) => (userRule === "table" ? (onlyOne(Object.entries(users), user) ?? user) : user),
});

/** The key with this value; `null`: there is none, or there are several. */
function onlyOne(entries: readonly (readonly [string, string])[], value: string): string | null {
  const [first, ...more] = entries.filter(([, each]) => each === value);
  return first === undefined || more.length > 0 ? null : first[0];
}
