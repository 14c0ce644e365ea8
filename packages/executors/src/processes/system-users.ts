/** Users of the operating system, as the name service knows them. */
import { runCommand } from "@headroom/platform";

/** A user as `getent passwd` describes it. */
export interface SystemUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
  readonly shell: string;
}

const LOOKUP_TIMEOUT_MS = 10_000;
/** The names that useradd(8) allows. */
export const USER_NAME = /^[a-z_][a-z0-9_.-]{0,31}$/i;

/** Users of a directory service count. `null`: there is none. */
export async function findUser(name: string): Promise<SystemUser | null> {
  const { code, stdout } = await runCommand("getent", ["passwd", "--", name], {
    timeoutMs: LOOKUP_TIMEOUT_MS,
    env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin" },
  });
  // 2: the key was not found (getent(1)).
  if (code === 2) return null;
  const [found = "", , uid = "", gid = "", , home = "", shell = ""] = stdout.trim().split("\n")[0]?.split(":") ?? [];
  // Directory services that ignore case answer with the name of the user in their own spelling.
  if (code === 0 && found !== "" && found !== name) return null;
  if (code !== 0 || found === "" || !/^\d+$/.test(uid) || !/^\d+$/.test(gid))
    throw new Error(`getent passwd ${name} did not answer (exit code ${code})`);
  return { name, uid: Number(uid), gid: Number(gid), home: home || "/", shell: shell || "/bin/sh" };
}

/** Variables of a login of the user, unless the workload sets them. */
export function loginOf(
  { name, home, shell }: Pick<SystemUser, "name" | "home" | "shell">,
  env: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const login = { HOME: home, USER: name, LOGNAME: name, SHELL: shell };
  return { ...login, ...Object.fromEntries(Object.entries(env).filter(([each]) => each in login)) };
}

/** The entry of the nearest team, or that of `*`. */
export function entryOfTeam(team: string, table: Readonly<Record<string, string>>): string | undefined {
  for (let at = team; at !== ""; at = at.slice(0, Math.max(at.lastIndexOf("/"), 0)))
    if (Object.hasOwn(table, at)) return table[at];
  return Object.hasOwn(table, "*") ? table["*"] : undefined;
}
