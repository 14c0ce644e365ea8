/**
 * A user of the operating system for each team: the sandbox is made by root, and its workers change to that user (setpriv(1)) before they
 * run anything of the workload. So the rights of files keep teams apart, also in directories that every sandbox shows.
 */
import { statSync } from "node:fs";
import path from "node:path";
import type { LaunchGang } from "@headroom/model";
import { OperationalError } from "@headroom/platform";
import { RefusedGang } from "../../job-protocol/refused-gang.ts";
import { entryOfTeam, findUser, USER_NAME } from "../system-users.ts";
import type { SystemUser } from "../system-users.ts";
import { findProgram } from "./bubblewrap.ts";

/** User of an attempt, as its launch record has it. */
export interface UserRecord {
  /** Absolute path of setpriv(1). */
  readonly program: string;
  readonly uid: number;
  readonly gid: number;
}

export interface TeamUser extends UserRecord {
  readonly login: SystemUser;
}

const PROGRAMS = "/usr/sbin:/usr/bin:/sbin:/bin";
const OTHERS_ENTER = 0o001;

/** Words that start a program as the user, without groups of others and without capabilities. */
export const asUser = ({ program, uid, gid }: UserRecord): readonly string[] => [
  program,
  "--reuid",
  String(uid),
  "--regid",
  String(gid),
  "--clear-groups",
  "--",
];

export class TeamUsers {
  readonly #table: Readonly<Record<string, string>>;
  readonly #program: string;

  /** `table`: users by team, `*` for any other. Throws an `OperationalError` where workers cannot change to other users. */
  constructor(table: Readonly<Record<string, string>>, homeDir: string, hasBubblewrap: boolean) {
    if (process.getuid?.() !== 0) throw cannot("only root can start work as other users. Start as root");
    if (!hasBubblewrap) throw cannot("bubblewrap is missing. Install it");
    const program = findProgram("setpriv", PROGRAMS);
    if (program === null) throw cannot("setpriv is missing. Install util-linux");
    const closed = directoriesAbove(homeDir).find((each) => (statSync(each).mode & OTHERS_ENTER) === 0);
    if (closed !== undefined)
      throw cannot(`other users cannot enter ${closed}. Name a directory that they can reach, such as one in /var/lib`);
    this.#program = program;
    this.#table = table;
  }

  /** Throws a `RefusedGang` if the team has no user, or work as it was requested cannot run as another user. */
  async of({ spec }: LaunchGang): Promise<TeamUser> {
    const name = entryOfTeam(spec.team, this.#table);
    if (name === undefined)
      throw new RefusedGang(`the team ${spec.team} has no user here. Add the team, or *, to users of the executor`);
    const login = USER_NAME.test(name) ? await findUser(name) : null;
    if (login === null)
      throw new RefusedGang(
        `work of the team ${spec.team} runs as the user ${name}, and this machine knows no such user (getent passwd). Create the user, or change users of the executor`,
      );
    if (login.uid === 0 || login.gid === 0)
      throw new RefusedGang(
        `work of the team ${spec.team} would run as root. Choose another user in users of the executor`,
      );
    return { program: this.#program, uid: login.uid, gid: login.gid, login };
  }
}

/** The directories in the path of a file, the root first. */
function directoriesAbove(file: string): readonly string[] {
  const parent = path.dirname(file);
  return parent === file ? [] : [...directoriesAbove(parent), parent];
}

const cannot = (why: string): OperationalError =>
  new OperationalError("noIsolation", `Teams cannot have users of their own here: ${why}, or leave out users.`, {
    retryable: false,
  });
