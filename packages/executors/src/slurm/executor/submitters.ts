/**
 * Maps the submitter of a workload to a user and an account of Slurm. A submitter without a user, or a team without an account, is
 * refused before anything is launched; nobody becomes root.
 */
import { userInfo } from "node:os";
import type { LaunchGang } from "@headroom/model";
import type { RunAsRecord } from "../../job-protocol/attempt-records.ts";
import { RefusedGang } from "../../job-protocol/refused-gang.ts";
import { entryOfTeam, findUser, USER_NAME } from "../../processes/system-users.ts";
import type { SystemUser } from "../../processes/system-users.ts";
import type { SlurmSettings } from "../settings.ts";

export interface SubmitterAccount {
  /** `null`: the jobs run as the user of the control plane. */
  readonly runAs: (RunAsRecord & Pick<SystemUser, "home" | "shell">) | null;
  /** Absent: the default account of the user. */
  readonly account?: string | undefined;
}

/** Users below are those of the system (Debian Policy 9.2.2). */
const PEOPLE_FROM_UID = 1_000;

type Rules = Pick<SlurmSettings, "account" | "accounts" | "user" | "userRule" | "users">;
export type UserLookup = (name: string) => Promise<SystemUser | null>;

/** Throws a `RefusedGang` if the rules name no user or no account. `selfUid`: the user of this process. */
export async function accountOf(
  { actor, spec }: Pick<LaunchGang, "actor" | "spec">,
  rules: Rules,
  find: UserLookup = findUser,
  selfUid: number = userInfo().uid,
): Promise<SubmitterAccount> {
  const account = accountName(spec.team, rules);
  const name = userNameOf(actor, rules);
  if (name === null) return { runAs: null, account };
  const user = USER_NAME.test(name) ? await find(name) : null;
  if (user === null)
    throw new RefusedGang(
      `the submitter ${actor} becomes the Slurm user ${name}, and this machine knows no such user (getent passwd). Create the user, or change userRule or users of the executor`,
    );
  if (user.uid === 0 || (rules.userRule === "sameName" && user.uid < PEOPLE_FROM_UID))
    throw new RefusedGang(
      `the submitter ${actor} becomes the Slurm user ${name}, who is ${user.uid === 0 ? "root" : "a user of the system"}. Choose another user in users of the executor`,
    );
  if (user.uid === selfUid) return { runAs: null, account };
  if (selfUid !== 0)
    throw new RefusedGang(
      `only root can submit jobs as the user ${name}. Run the control plane as root, or set userRule: controlPlane for the executor`,
    );
  const { uid, gid, home, shell } = user;
  return { runAs: { user: user.name, submitter: actor, uid, gid, home, shell }, account };
}

/** `null`: the user of the control plane. */
function userNameOf(actor: string, { user, userRule, users }: Rules): string | null {
  if (userRule === "controlPlane") return null;
  if (userRule === "sameName") return actor;
  if (userRule === "oneUser") return user ?? null;
  const listed = Object.hasOwn(users ?? {}, actor) ? users?.[actor] : undefined;
  if (listed !== undefined) return listed;
  throw new RefusedGang(`the submitter ${actor} has no Slurm user. Add ${actor} to users of the executor`);
}

/** The account of the nearest team. Throws a `RefusedGang` if it has none. */
export function accountName(team: string, { account, accounts }: Rules): string | undefined {
  if (accounts === undefined) return account;
  const found = entryOfTeam(team, accounts);
  if (found !== undefined) return found;
  throw new RefusedGang(`the team ${team} has no Slurm account. Add the team, or *, to accounts of the executor`);
}
