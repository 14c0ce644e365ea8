import { teamName } from "@headroom/model";
import type { LaunchGang } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { slurmSettings } from "../settings.ts";
import type { SystemUser } from "../../processes/system-users.ts";
import { accountOf } from "./submitters.ts";

const uids: Readonly<Record<string, number>> = { alice: 1_001, daemon: 1, root: 0, toor: 0 };
const find = (name: string): Promise<SystemUser | null> => {
  const uid = uids[name];
  return Promise.resolve(uid === undefined ? null : { name, uid, gid: uid, home: `/home/${name}`, shell: "/bin/sh" });
};

async function mapped(settings: object, actor = "alice", { team = "lab/nlp", selfUid = 0 } = {}) {
  const launch = { actor, spec: { team: teamName(team) } } as LaunchGang;
  const rules = slurmSettings.parse({ directory: "/d", ...settings });
  const { runAs, account } = await accountOf(launch, rules, find, selfUid);
  return [runAs?.user, account];
}

describe("the submitter of a workload", () => {
  it("becomes a user by the rule, and the team an account", async () => {
    expect(await mapped({})).toEqual([undefined, undefined]);
    expect(await mapped({ userRule: "sameName", account: "ml" })).toEqual(["alice", "ml"]);
    expect(await mapped({ userRule: "table", users: { "b@c.org": "alice" } }, "b@c.org")).toEqual(["alice", undefined]);
    expect(await mapped({ userRule: "oneUser", user: "alice" }, "bob")).toEqual(["alice", undefined]);
    expect(await mapped({ accounts: { lab: "a", "*": "other" } })).toEqual([undefined, "a"]);
    expect(await mapped({ accounts: { lab: "a", "*": "other" } }, "alice", { team: "labs" })).toEqual([
      undefined,
      "other",
    ]);
  });

  it("needs no root if the user is that of the control plane", async () => {
    expect(await mapped({ userRule: "sameName" }, "alice", { selfUid: 1_001 })).toEqual([undefined, undefined]);
    await expect(mapped({ userRule: "sameName" }, "alice", { selfUid: 1_002 })).rejects.toThrow("only root can submit");
  });

  it.each([
    [{ userRule: "sameName" }, "root", "who is root"],
    [{ userRule: "table", users: { alice: "toor" } }, "alice", "who is root"],
    [{ userRule: "sameName" }, "daemon", "a user of the system"],
    [{ userRule: "sameName" }, "--help", "knows no such user"],
    [{ userRule: "sameName" }, "bob", "knows no such user"],
    [{ userRule: "table", users: { alice: "alice" } }, "bob", "bob has no Slurm user"],
    [{ userRule: "table", users: { alice: "alice" } }, "constructor", "constructor has no Slurm user"],
    [{ accounts: { vision: "v" } }, "alice", "has no Slurm account"],
  ])("is refused by %j: %s", async (settings, actor, reason) => {
    await expect(mapped(settings, actor)).rejects.toThrow(reason);
  });

  it("has rules that are complete", () => {
    for (const settings of [{ userRule: "table" }, { userRule: "oneUser" }, { account: "a", accounts: {} }])
      expect(slurmSettings.safeParse({ directory: "/d", ...settings }).success).toBe(false);
  });
});
