/** `headroom key` on the files alone: what it prints, what it stores, and that a running gateway takes it. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { headroom, type Said } from "../testing/recorded-terminal.ts";
import { startProgram } from "../testing/running-program.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "headroom-run-key-"));
  writeFileSync(
    path.join(folder, "gateway.yaml"),
    `listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nstate: ${folder}/state\nteams: [{ name: search }]\npools: [{ name: p, replicas: ['http://127.0.0.1:9'] }]\nmodels: [{ name: m, pools: [p] }]\n`,
  );
});
afterEach(() => rmSync(folder, { recursive: true }));

const key = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Said> =>
  headroom(["key", ...args], { workingDirectory: folder, env });

describe("headroom key", () => {
  it("creates, lists, rotates and revokes without an edit of gateway.yaml", async () => {
    const made = await key(["create", "search/laptop", "--expires", "2199-01-01", "--models", "m"]);
    expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^hr-[\w-]{43}\n$/) as string });
    expect(made.stderr).toContain("shown once");
    const list = await key(["list"]);
    expect(list.stdout).toMatch(/search +laptop +active +2199-01-01 00:00 UTC +m +\d{4}-.* +keys file/);
    expect((await key(["create", "search/laptop"])).stderr).toContain("headroom key rotate search/laptop");
    expect((await key(["create", "serach/laptop"])).stderr).toContain("no team serach in gateway.yaml; it has search");
    expect((await key(["create", "laptop"])).code).toBe(2);
    const rotated = JSON.parse((await key(["rotate", "search/laptop", "--overlap", "2h", "--json"])).stdout) as object;
    expect(rotated).toHaveProperty("oldUntilMs");
    const { keys } = JSON.parse((await key(["list", "--json"])).stdout) as { keys: { state: string }[] };
    expect(keys.map(({ state }) => state)).toEqual(["rotated", "active"]);
    expect((await key(["revoke", "search/laptop"])).stdout).toBe("revoked search/laptop (2 keys)\n");
    expect(readFileSync(path.join(folder, "gateway.keys.json"), "utf8")).toContain('"keys": []');
  });

  it("reaches a running gateway through the file and through its admin address", async () => {
    const [first = ""] = (await key(["create", "search/first"])).stdout.split("\n");
    const program = startProgram(["gateway", "--config", "gateway.yaml"], { home: folder });
    try {
      const [, url = "", admin = ""] = await program.saying(/listens on (\S+), admin on (\S+)\n/);
      const isKnown = async (bearer: string): Promise<boolean> =>
        (await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${bearer}` } })).status === 200;
      expect(await isKnown(first)).toBe(true);
      const [second = ""] = (await key(["create", "search/second"])).stdout.split("\n");
      await expect.poll(() => isKnown(second)).toBe(true);
      const token = path.join(folder, "state", "gateway", "admin-token");
      const there = ["--admin", admin, "--admin-token", token];
      const [third = ""] = (await key(["create", "search/third", ...there])).stdout.split("\n");
      expect(await isKnown(third)).toBe(true);
      expect((await key(["revoke", "search/third", ...there])).code).toBe(0);
      expect(await isKnown(third)).toBe(false);
      expect((await key(["list", "--admin", admin], { HEADROOM_GATEWAY_TOKEN: "wrong" })).stderr).toContain(
        "admin token",
      );
      for (const each of [first, second, third]) expect(program.output()).not.toContain(each);
    } finally {
      program.process.kill("SIGKILL");
      await program.ended;
    }
  });
});
