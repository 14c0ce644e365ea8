/** Tests the CLI against a running control plane: logs, `replay`, and control planes that cannot be used. */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startLive, type LiveControlPlane } from "../testing/live-control-plane.ts";
import type { Said, Surroundings } from "../testing/recorded-terminal.ts";

let live: LiveControlPlane;

beforeAll(async () => {
  live = await startLive();
});
afterAll(() => live.close());

const headroom = (args: readonly string[], extra?: Partial<Surroundings>): Promise<Said> => live.headroom(args, extra);

/** The workloads reserve no cores or memory, because the machine of the test can be small. */
function follow(name: string, command: string, ...options: readonly string[]): Promise<Said> {
  return headroom(["run", "--name", name, "--cores", "0", ...options, "--follow", "--", command]);
}

const json = <Value>({ stdout }: Said): Value => JSON.parse(stdout) as Value;

describe("logs", () => {
  it("merges workers by time, with timestamps, from an instant on, and only lines that match", async () => {
    const turns = 'for i in 1 2 3; do echo "$i of $RANK"; sleep 0.4; done';
    expect((await follow("turns", `sleep 0.$((RANK * 2)); ${turns}`, "--workers", "2", "--gpus", "1")).code).toBe(0);
    const { stdout } = await headroom(["logs", "turns", "--timestamps"]);
    const lines = stdout.trimEnd().split("\n");
    expect(lines).toHaveLength(6);
    expect(lines.every((line) => /^\d{4}-\d\d-\d\dT[\d:.]+Z \[[01]\] [123] of [01]$/.test(line))).toBe(true);
    expect(lines).toEqual(lines.toSorted());
    const since = lines[3]?.split(" ")[0] ?? "";
    expect((await headroom(["logs", "turns", "--since", since, "-t"])).stdout).toBe(`${lines.slice(3).join("\n")}\n`);
    expect((await headroom(["logs", "turns", "--grep", "^3 of", "--worker", "1"])).stdout).toBe("3 of 1\n");
    expect((await headroom(["logs", "turns", "--worker", "1", "--since", "2100-01-01T00:00Z"])).stderr).toBe(
      "turns has no output that --worker and --since would show.\n",
    );
    expect((await headroom(["logs", "turns", "--grep", "("])).code).toBe(2);
    expect((await headroom(["logs", "turns", "--since", "yesterday"])).code).toBe(2);
  });

  it("searches all attempts, prints what was searched, and goes on from a cursor", async () => {
    await follow("searched", "echo found one; echo between; echo found two");
    const said = await headroom(["logs", "search", "found", "--limit", "1", "--context", "1"]);
    expect(said.stdout).toMatch(
      /^\S+ {2}default\/searched task 0, attempt 1, worker 0, stdout\n {2}> found one\n {4}between\n$/,
    );
    expect(said.stderr).toMatch(/^1 match; \d+ of \d+ attempts? searched, [\d.]+ MiB read\.\n/);
    const cursor = /--cursor (\S+)/.exec(said.stderr)?.[1] ?? "";
    const rest = await headroom(["logs", "search", "FOUND t", "-i", "--cursor", cursor, "--csv"]);
    expect(rest.stdout).toMatch(/^time,team,workload,.*\n[^\n]*,stdout,found two\n$/);
    const answer = json<{ items: unknown[] }>(await headroom(["logs", "search", "^found", "--regex", "--json"]));
    expect(answer.items).toHaveLength(2);
    expect((await headroom(["logs", "search", "x", "--context", "11"])).code).toBe(2);
  });
});

it("replays what was recorded, under a policy by name or from a file", async () => {
  await follow("replayed", "true");
  const { stdout } = await headroom(["policy", "--json"]);
  writeFileSync(path.join(live.folder, "mine.json"), JSON.stringify({ ...JSON.parse(stdout), name: "mine" }));
  for (const policy of ["fifo", "mine.json"]) {
    const said = await headroom(["replay", "--policy", policy, "--since", "1h"]);
    expect(said.code).toBe(0);
    expect(said.stdout).toMatch(/\nwait, mean +\S+ +\S+ +\S+\n/);
    expect(said.stdout).toMatch(/\nTEAM +WORKLOADS +MEAN WAIT/);
  }
  const report = json<{ recorded: { workloads: number } }>(await headroom(["replay", "--policy", "fifo", "--json"]));
  expect(report.recorded.workloads).toBeGreaterThan(0);
  expect(await headroom(["replay", "--policy", "fifo", "--since", "0s"])).toMatchObject({
    code: 2,
    stderr: 'error: --since: expected a duration from 1m to 3650d, got "0s"\n',
  });
  expect(await headroom(["replay"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--policy or --team-changes"),
  });
  writeFileSync(path.join(live.folder, "bad.yaml"), "name: bad\n");
  expect(await headroom(["replay", "--policy", "bad.yaml"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("bad.yaml:1:1: order: is required"),
  });
});

describe("when the control plane is not what it should be", () => {
  it("says how to start one, that the token is wrong, that somebody else answers", async () => {
    const nowhere = await headroom(["list"], { env: { HEADROOM_HOME: path.join(live.folder, "empty") } });
    expect(nowhere.code).toBe(1);
    expect(nowhere.stderr).toContain("npm start");
    const wrong = await headroom(["list"], { env: { HEADROOM_TOKEN: "x".repeat(43) } });
    expect(wrong.code).toBe(1);
    expect(wrong.stderr).toMatch(/token/);
    const nobody = await headroom(["list"], { env: { HEADROOM_URL: "http://127.0.0.1:9" } });
    expect(nobody.code).toBe(1);
    expect(nobody.stderr).toContain("does not answer");
    expect((await headroom(["list"], { env: { HEADROOM_URL: "file:///etc/passwd" } })).code).toBe(2);
    // The directory's token is not sent to a control plane given by address.
    const named = await headroom(["list"], { env: { HEADROOM_URL: live.plane.url } });
    expect([named.code, named.stderr]).toEqual([1, expect.stringContaining("Authorization: Bearer")]);
    const env = { HEADROOM_URL: live.plane.url, HEADROOM_TOKEN: live.plane.token ?? "" };
    expect((await headroom(["list"], { env })).code).toBe(0);
  });

  it("answers 2 for what it does not understand", async () => {
    for (const args of [
      ["lsit"],
      ["list", "--phase", "odd"],
      ["list", "--limit", "-1"],
      ["show"],
      ["run"],
      ["apply"],
      ["logs", "hello", "--worker", "x"],
    ]) {
      expect([args.join(" "), (await headroom(args)).code]).toEqual([args.join(" "), 2]);
    }
    expect((await headroom(["--help"])).code).toBe(0);
    expect((await headroom(["version"])).stdout).toBe(
      `headroom ${(JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { version: string }).version} (node ${process.versions.node}, ${process.platform}-${process.arch})\n`,
    );
  });
});
