/** `headroom token` and `headroom whoami` against a running control plane. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startLive, type LiveControlPlane } from "../testing/live-control-plane.ts";

let live: LiveControlPlane;
beforeAll(async () => {
  live = await startLive();
});
afterAll(() => live.close());

describe("headroom token", () => {
  it("creates a token that acts as its user, until it is revoked", async () => {
    const created = await live.headroom(["token", "create", "ci", "--for", "robot", "--expires", "30d"]);
    const secret = created.stdout.trim();
    expect(secret).toMatch(/^hr_[0-9a-f]{16}_[\w-]{43}$/);
    expect(created.stderr).toContain("shown once");
    expect((await live.headroom(["token", "list"])).stdout).toMatch(
      /^NAME .*LAST USED\s+ci +[0-9a-f]{16} +robot +member +\(all teams\) +2\S+ +never/,
    );
    const env = { HEADROOM_TOKEN: secret };
    expect((await live.headroom(["whoami"], { env })).stdout).toMatch(
      /^robot: member of the whole control plane, by the token ci, which expires at 2/,
    );
    const denied = await live.headroom(["token", "list"], { env });
    expect([denied.code, denied.stderr]).toEqual([
      1,
      expect.stringContaining("robot needs the permission tokens.read"),
    ]);
    expect((await live.headroom(["--user", "alice", "whoami"], { env })).stderr).toContain("This token acts as robot");
    expect((await live.headroom(["token", "denied"])).stdout).toMatch(/robot +listTokens +tokens\.read/);
    expect((await live.headroom(["token", "revoke", "ci"])).stdout).toBe("token ci is revoked\n");
    expect((await live.headroom(["whoami"], { env })).stderr).toContain("does not belong to this control plane");
    expect((await live.headroom(["token", "list", "--all", "--csv"])).stdout).toMatch(/,ci,robot,,member,/);
  });

  it("revokes the token with an id, not another one that has this id as its name", async () => {
    const created = await live.headroom(["token", "create", "meant", "--for", "robot", "--json"]);
    const { token } = JSON.parse(created.stdout) as { token: { id: string } };
    expect((await live.headroom(["token", "create", token.id, "--for", "robot"])).code).toBe(0);
    expect((await live.headroom(["token", "revoke", token.id])).stdout).toBe("token meant is revoked\n");
  });

  it("says what is wrong with options", async () => {
    const said = async (...args: readonly string[]): Promise<string> =>
      (await live.headroom(["token", "create", "x", ...args])).stderr;
    expect(await said()).toContain("--for alice");
    expect(await said("--for", "alice", "--role", "root")).toContain("--role must be one of viewer, member");
    expect(await said("--for", "alice", "--expires", "soon")).toContain("--expires: ");
    expect(await said("--for", "alice", "--team", "none")).toContain("There is no team none");
    expect(await said("--for", "console")).toContain("No user can be called console");
    expect((await live.headroom(["token", "revoke", "x"])).stderr).toContain("There is no token x");
  });
});
