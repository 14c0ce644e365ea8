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

describe("executor history", () => {
  const at = (day: number, hour: number): string => `2026-10-${10 + day}T${String(hour).padStart(2, "0")}:00:00`;
  const row = (id: number, user: string, account: string, gpus: number): string =>
    `${id}|${user}|${account}|train-${id}|${at(id, 0)}|${at(id, 1)}|${at(id, 3)}|1-00:00:00|gres/gpu=${gpus}|COMPLETED\n`;
  const header = "JobID|User|Account|JobName|Submit|Start|End|Timelimit|AllocTRES|State\n";
  const write = (name: string, text: string): void => writeFileSync(path.join(live.folder, name), text);

  it("imports past jobs of Slurm by the rules of the executor, once, until the executor is removed", async () => {
    write("teams.yaml", "kind: team\nname: nlp\n");
    write("past.txt", `${header}${row(1, "ann", "ml", 8)}${row(2, "bob", "guest", 1)}${row(3, "ann", "ml", 0)}4|cut\n`);
    expect((await headroom(["apply", "-f", "teams.yaml", "--yes"])).code).toBe(0);
    const settings = ["--setting", `directory=${live.folder}/shared`, "--setting", 'accounts={"nlp":"ml"}'];
    await headroom(["executor", "add", "slurm", "lab", "--mode", "follow", ...settings]);
    const history = (...args: readonly string[]): Promise<Said> => headroom(["executor", "history", "lab", ...args]);
    expect((await history("--import", "past.txt", "--dry-run", "--json")).stdout).toContain('"importedAtMs": null');
    expect((await history()).stderr).toContain("No past work of lab was imported");
    expect(json(await history("--import", "past.txt", "--json"))).toMatchObject({
      action: "imported",
      history: {
        teams: [{ team: "nlp", isDeclared: true, acceleratorHours: 16, runCount: 1 }],
        jobCount: 2,
        leftOutCount: 1,
        unreadCount: 1,
      },
      unmapped: [{ account: "guest", acceleratorHours: 2 }],
      left_out: { "without GPUs": 1 },
    });
    expect((await history("--import", "past.txt")).stdout).toContain("is imported already");
    expect((await history()).stdout).toMatch(/^nlp +16\.0 +1$/m);
    write("none.txt", `${header}${row(2, "bob", "guest", 1)}`);
    expect((await history("--import", "none.txt")).stderr).toContain("No account of the history has a team");
    await headroom(["executor", "remove", "lab"]);
    expect((await history()).code).not.toBe(0);
  });

  it("imports ended Jobs of Kubernetes", async () => {
    const job = (name: string, completionTime: string | undefined, gpus: number): object => ({
      metadata: { name, namespace: "ml-nlp", creationTimestamp: "2026-10-11T00:00:00Z" },
      spec: {
        parallelism: 2,
        template: { spec: { containers: [{ resources: { limits: { "nvidia.com/gpu": String(gpus) } } }] } },
      },
      status: { startTime: "2026-10-11T00:30:00Z", completionTime, succeeded: 2 },
    });
    const end = "2026-10-11T02:30:00Z";
    const items = [job("a", end, 4), job("b", undefined, 4), job("c", end, 0), { kind: "Job" }];
    write("jobs.json", JSON.stringify({ items }));
    await headroom(["executor", "add", "kubernetes", "kube", "--mode", "follow", "--setting", "namespace=ml-{team}"]);
    const said = await headroom(["executor", "history", "kube", "--import", "jobs.json", "--json"]);
    expect(json(said)).toMatchObject({
      history: { teams: [{ team: "nlp", acceleratorHours: 16, runCount: 0 }], jobCount: 1, unreadCount: 1 },
      left_out: { "still running": 1, "without GPUs": 1 },
    });
    await headroom(["executor", "remove", "kube"]);
  });
});
