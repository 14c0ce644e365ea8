import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
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

const idOf = async (name: string): Promise<string> => json<{ id: string }>(await headroom(["show", name, "--json"])).id;

const json = <Value>({ stdout }: Said): Value => JSON.parse(stdout) as Value;

describe("run --follow", () => {
  it("prints what the workers write, says what becomes of them, and answers 0", async () => {
    const said = await follow("hello", 'echo "I am $RANK of $WORLD_SIZE"', "--workers", "2", "--gpus", "2");
    expect(said.code).toBe(0);
    expect(said.stdout.split("\n").toSorted()).toEqual(["", "[0] I am 0 of 2", "[1] I am 1 of 2"]);
    expect(said.stderr).toMatch(/^submitted hello \(\S+\)\n/);
    expect(said.stderr).toContain("hello succeeded");
  });

  it("answers 1 when the workload fails, with its stderr on stderr", async () => {
    const said = await follow("fails", "echo oops >&2; exit 3", "--retries", "0");
    expect([said.code, said.stdout]).toEqual([1, ""]);
    expect(said.stderr).toContain("oops\n");
    expect(said.stderr).toContain("exited with code 3");
  });

  it("answers 3 when it does not end in time, and the work goes on", async () => {
    const said = await follow("slow", "while [ ! -e go ]; do sleep 0.05; done", "--timeout", "1ms");
    expect(said.code).toBe(3);
    expect(json<{ phase: string }>(await headroom(["show", "slow", "--json"])).phase).not.toMatch(/succeeded|failed/);
    writeFileSync(path.join(live.folder, "go"), "");
    expect((await headroom(["logs", "-f", "slow"])).code).toBe(0);
  });

  it("answers 3 at once where it can never start, and says that it stays in the queue", async () => {
    const said = await follow("never", "true", "--gpus", "900");
    expect(said.code).toBe(3);
    expect(said.stderr).toContain("can never start on this fleet");
    expect(said.stderr).toContain("headroom stop never");
    await headroom(["stop", "never"]);
    const file = path.join(live.folder, "never.yaml");
    writeFileSync(file, "kind: train\nname: never-2\nrun: 'true'\ngang: { accelerators: 900 }\n");
    expect((await headroom(["apply", "-f", file, "--dry-run"])).code).toBe(3);
  });

  it("takes --preemptible and --after", async () => {
    expect((await follow("first", "true")).code).toBe(0);
    const said = await follow("second", "true", "--after", "first", "--no-preemptible");
    expect(said.code).toBe(0);
    const second = json<object>(await headroom(["show", "second", "--json"]));
    expect(second).toMatchObject({ spec: { preemptible: false, after: [{ workload: "first", on: "ok" }] } });
    const refused = await headroom(["run", "--after", "nobody:soon", "--", "true"]);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("--after: must be ok, failed or any")]);
    const valued = await headroom(["run", "--preemptible", "false", "--", "sleep", "60"]);
    expect([valued.code, valued.stderr]).toEqual([2, expect.stringContaining("--preemptible takes no value")]);
  });

  it("answers 130 when it is interrupted, and the work goes on", async () => {
    const interrupted = new AbortController();
    const sink = headroom(
      ["run", "--name", "ctrl-c", "--cores", "0", "--follow", "--", "while [ ! -e go2 ]; do sleep 0.05; done"],
      { interrupted: interrupted.signal },
    );
    for await (const { event } of live.plane.driver.events(1, AbortSignal.timeout(20_000))) {
      if (event.kind === "workloadSubmitted" && event.spec.name === "ctrl-c") break;
    }
    interrupted.abort();
    expect((await sink).code).toBe(130);
    writeFileSync(path.join(live.folder, "go2"), "");
    expect((await headroom(["logs", "-f", "ctrl-c"])).code).toBe(0);
  });

  it.each<[string[], string]>([
    [["--workers", "-2"], "error: --workers: must be between 1 and 20000, got -2\n"],
    [["--gpus", "many"], 'error: --gpus: must be a whole number, got "many"\n'],
    [["--walltime", "60"], 'got "60"\n'],
    [["--env", "RANK=1"], "error: --env RANK: is set by Headroom for every worker and cannot be set here\n"],
    [["--env", "novalue"], "error: --env novalue: the variable is not set\n"],
    [["--memory", "1e309GiB"], 'got "1e309GiB"\n'],
    [["--network", "0"], "error: --network: must be between 1 and 100000, got 0\n"],
    [["--accelerator-memory", "20"], "error: --accelerator-memory: write memory like 512MiB"],
  ])("refuses %j and submits nothing", async (options, expected) => {
    const before = (await headroom(["status", "--json"])).stdout;
    const said = await headroom(["run", "--name", "bad", ...options, "--", "true"]);
    expect(said.code).toBe(2);
    expect(said.stderr).toContain(expected);
    expect(json<{ sequence: number }>({ ...said, stdout: before }).sequence).toBe(live.plane.driver.status().sequence);
  });
});

describe("looking", () => {
  it("shows, lists and prints as JSON what was run", async () => {
    await follow("shown", "echo one; echo two");
    const shown = await headroom(["show", "shown"]);
    expect(shown.stdout).toMatch(/^shown\nid +w\d+\nkind +train\n/);
    expect(shown.stdout).toContain("succeeded");
    const list = json<{ items: { name: string }[] }>(await headroom(["list", "--search", "shown", "--json"]));
    expect(list.items.map(({ name }) => name)).toEqual(["shown"]);
    expect((await headroom(["logs", "shown", "--tail", "1"])).stdout).toBe("two\n");
    const lines = (await headroom(["logs", "shown", "--json"])).stdout.trimEnd().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as { text: string }).text).join("")).toBe("one\ntwo\n");
  });

  it("writes tables no wider than the terminal, in colour only there and not with NO_COLOR", async () => {
    await follow("a-name-that-is-much-too-long-for-a-narrow-terminal-and-goes-on", "true");
    const narrow = await headroom(["list"], { columns: 70, env: { NO_COLOR: "1" } });
    for (const line of narrow.stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(70);
    expect(narrow.stdout).toContain("…");
    expect(narrow.stdout).not.toContain("\u001b");
    expect((await headroom(["list"], { columns: 70 })).stdout).toContain("\u001b[");
    expect((await headroom(["list"])).stdout).toMatch(/goes-on {2}/);
  });

  it("says why something waits, and that it waits for ever", async () => {
    await headroom(["run", "--name", "too-big", "--gpus", "64", "--", "true"]);
    const why = await headroom(["why", "too-big"]);
    expect(why.code).toBe(3);
    expect(why.stdout).toContain("64 accelerators");
    expect(why.stdout).toMatch(/needed +64\n/);
    const { verdict } = json<{ verdict: { reasons: { kind: string }[] } }>(
      await headroom(["why", "too-big", "--json"]),
    );
    expect(verdict.reasons[0]?.kind).toBe("exceedsFleet");
    expect((await headroom(["list", "--waiting"])).stdout).toContain("too-big");
    expect((await headroom(["list", "--waiting", "--search", "TOO-B"])).stdout).toContain("too-big");
    expect((await headroom(["list", "--waiting", "--kind", "batch"])).stderr).toContain("matches");
    expect(await headroom(["list", "--waiting", "--team", "nobody"])).toMatchObject({
      code: 1,
      stderr: "error: there is no team nobody\n",
    });
    expect((await headroom(["list", "--waiting", "--phase", "running"])).code).toBe(2);
    const eta = await headroom(["eta"]);
    expect(eta).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^ID .*STARTS IN.*\nw\d+ +too-big .*never\n$/s),
    });
    const { items, more } = json<{ items: { workload: { name: string } }[]; more: boolean }>(
      await headroom(["eta", "--team", "default", "-n", "5", "--json"]),
    );
    expect([items.map(({ workload }) => workload.name), more]).toEqual([["too-big"], false]);
    expect((await headroom(["eta", "--team", "nobody"])).code).toBe(1);
    expect((await headroom(["eta", "too-big", "--limit", "2"])).code).toBe(2);
    expect((await headroom(["eta", "too-big"])).code).toBe(3);
    expect((await headroom(["stop", "too-big", "nobody"])).code).toBe(1);
    expect(json<{ phase: string }>(await headroom(["show", "too-big", "--json"])).phase).toBe("cancelled");
  });

  it("holds work back and lets it go", async () => {
    await headroom(["run", "--name", "kept", "--gpus", "64", "--", "true"]);
    expect(await headroom(["hold", "kept"])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^held kept \(w\d+\)$/m),
    });
    expect((await headroom(["why", "kept"])).stdout).toContain("it starts after a release");
    expect(await headroom(["list", "--waiting", "--search", "kept"])).toMatchObject({
      stdout: "",
      stderr: expect.stringContaining("Not in the queue: 1 is held. `headroom list --phase pending` also lists them."),
    });
    expect(json(await headroom(["list", "--waiting", "--search", "kept", "--json"]))).toMatchObject({
      items: [],
      holdReason: { held: 1, waitsFor: 0, notBefore: 0, startWindow: 0, backoff: 0, nominated: 0 },
    });
    expect((await headroom(["release", "kept", "nobody"])).code).toBe(1);
    expect((await headroom(["why", "kept"])).stdout).toContain("64 accelerators");
    expect((await headroom(["list", "--waiting", "--search", "kept"])).stderr).not.toContain("Not in the queue");
    expect((await headroom(["stop", "kept"])).code).toBe(0);
    expect((await headroom(["hold", "kept"])).stderr).toContain("has already ended");
  });

  it("runs failed work again under its id, and apply offers it", async () => {
    const flag = path.join(live.folder, "mended");
    const file = path.join(live.folder, "broken.yaml");
    const run = `test -e ${flag}`;
    const document = { kind: "train", name: "broken", run, gang: { cores: 0 }, retries: { max: 0 } };
    writeFileSync(file, JSON.stringify(document));
    expect((await headroom(["apply", "-f", file, "--yes"])).code).toBe(0);
    await headroom(["logs", "-f", "broken"]);
    const offered = await headroom(["apply", "-f", file, "--yes"]);
    expect(offered.stdout).toContain("Nothing to do");
    expect(offered.stdout).toMatch(/^broken \(w\d+\) failed: .* Run it again: headroom rerun w\d+, or apply --rerun$/m);
    expect(json<{ rerunnable: unknown[] }>(await headroom(["apply", "-f", file, "--json"])).rerunnable).toHaveLength(1);
    writeFileSync(flag, "");
    const id = await idOf("broken");
    expect(await headroom(["apply", "-f", file, "--yes", "--rerun"])).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(`runs again: broken (${id})`),
    });
    await headroom(["logs", "-f", "broken"]);
    const shown = json<{ phase: string; attempts: { id: string; outcome: string }[] }>(
      await headroom(["show", "broken", "--json"]),
    );
    expect(shown.phase).toBe("succeeded");
    expect(shown.attempts.map(({ id: each, outcome }) => [each, outcome])).toEqual([
      [`${id}.1`, "failed"],
      [`${id}.2`, "succeeded"],
    ]);
    expect((await headroom(["history", "broken"])).stdout).toMatch(/ ran it again\.$/m);
    expect(await headroom(["rerun", "broken"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("nothing is left to run again"),
    });
  });

  it("says how an attempt went in words", async () => {
    const said = await follow("late", "exec sleep 600", "--walltime", "1ms", "--retries", "0");
    expect(said.code).toBe(1);
    expect((await headroom(["show", "late"])).stdout).toContain("its walltime has passed, worker 0 got SIGTERM");
    const { stdout } = await headroom(["history", "late"]);
    expect(stdout.split("\n").map((line) => line.replace(/^\S+ {2}/, ""))).toEqual([
      expect.stringMatching(/submitted it\.$/),
      expect.stringMatching(/^Attempt 1 was placed: 1 worker on /),
      "Attempt 1 started.",
      "Attempt 1 is being stopped: walltime exceeded.",
      "Attempt 1 ended: stopped, worker 0 was killed by SIGTERM.",
      "It ended: failed.",
      "",
    ]);
  });

  it("gives the numbers behind the reason in their units", async () => {
    await headroom([
      "run",
      "--name",
      "wide",
      "--workers",
      "5000",
      "--cores",
      "0.001",
      "--memory",
      "1GiB",
      "--",
      "true",
    ]);
    const why = await headroom(["why", "wide"]);
    expect(why.stdout).toMatch(/0\.001 cores? and 1 GiB/);
    expect((await headroom(["show", "wide"])).stdout).toContain("0.001 cores");
    expect((await headroom(["stop", "wide"])).code).toBe(0);
  });

  it("asks for network bandwidth and for memory of an accelerator", async () => {
    const asked = ["--network", "100", "--accelerator-memory", "20GiB"];
    const spec = json<{ workloadId: string }>(
      await headroom(["run", "--name", "shared", ...asked, "--json", "--", "true"]),
    );
    const shown = json<{ gang: object }>(await headroom(["show", spec.workloadId, "--json"]));
    expect(shown.gang).toMatchObject({ accelerators: 1, networkGbps: 100, acceleratorMemoryMib: 20_480 });
    expect((await headroom(["stop", spec.workloadId])).code).toBe(0);
  });

  it("finds by id, name and team/name; lists where several are meant", async () => {
    const teams = "kind: team\nname: red\n---\nkind: team\nname: blue\n";
    const work = (team: string) =>
      `---\nkind: train\nname: twin\nteam: ${team}\nrun: 'true'\ngang: { accelerators: 9 }\n`;
    expect((await headroom(["apply", "-f", "-", "--yes"], { stdin: teams + work("red") + work("blue") })).code).toBe(0);
    const both = await headroom(["show", "twin"]);
    expect(both.code).toBe(2);
    expect(both.stderr).toMatch(
      /error: twin fits 2 workloads; use an id or team\/name:\n {2}w\d+ {2}(red|blue)\/twin {2}pending\n/,
    );
    const red = json<{ id: string; team: string }>(await headroom(["show", "red/twin", "--json"]));
    expect(red.team).toBe("red");
    expect(json<{ id: string }>(await headroom(["show", red.id, "--json"])).id).toBe(red.id);
    const again = json<{ workloadId: string }>(
      await headroom(["run", "--name", "twin", "--team", "red", "--gpus", "9", "--json", "--", "true"]),
    );
    expect((await headroom(["show", "red/twin"])).stderr).toContain("red/twin fits 2 workloads; use an id:\n");
    expect((await headroom(["stop", again.workloadId])).code).toBe(0);
    expect((await headroom(["show", "twi"])).stderr).toBe('error: there is no workload "twi"; did you mean twin?\n');
    expect((await headroom(["stop", "red/twin", "blue/twin"])).code).toBe(0);
  });

  it("drains and resumes nodes, shows fleet, teams, policy and status", async () => {
    expect((await headroom(["nodes", "drain", "here"])).stdout).toContain("draining here");
    expect((await headroom(["nodes"])).stdout).toMatch(/here +local +draining +slot/);
    expect((await headroom(["nodes", "resume", "here"])).code).toBe(0);
    expect((await headroom(["nodes", "drain", "nowhere"])).code).toBe(1);
    expect(json(await headroom(["nodes", "resume", "here", "--json"]))).toEqual({ nodeId: "here" });
    const fleet = await headroom(["fleet"]);
    expect(fleet.stdout).toMatch(/local +local +local +slot +1 +0 +4 +0 +4/);
    expect(fleet.stderr).toMatch(/^1 node: 1 up, /);
    expect((await headroom(["policy", "fifo"])).code).toBe(0);
    expect(json<{ name: string }>(await headroom(["policy", "--json"])).name).toBe("fifo");
    expect((await headroom(["policy", "nope"])).code).toBe(2);
    writeFileSync(path.join(live.folder, "mine.yaml"), "base: default\nname: mine\nbackfill: { protectedStarts: 4 }\n");
    const tried = await headroom(["policy", "mine.yaml", "--dry-run", "--json"]);
    expect(json<{ backfill: unknown }>(tried).backfill).toMatchObject({ protectedStarts: 4 });
    expect((await headroom(["what-if", "--policy", "mine.yaml"])).code).toBe(0);
    expect(json<{ name: string }>(await headroom(["policy", "--json"])).name).toBe("fifo");
    expect((await headroom(["policy", "mine.yaml"])).code).toBe(0);
    expect(json<{ name: string }>(await headroom(["policy", "--json"])).name).toBe("mine");
    expect((await headroom(["policy", "default"])).code).toBe(0);
    const policy = (await headroom(["policy"])).stdout;
    for (const section of ["Order", "Round", "Teams", "Backfill", "Fabric", "Eviction", "Elastic gangs"])
      expect(policy).toMatch(new RegExp(`^${section}$`, "m"));
    expect((await headroom(["teams"])).stdout).toMatch(/^default {2,}1 {2,}– {2,}0 {2,}– {2,}– {2,}∞ {2,}∞$/m);
    expect(json<{ sequence: number }>(await headroom(["status", "--json"])).sequence).toBeGreaterThan(0);
    expect((await headroom(["login"])).stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/login\?code=\S+\n$/);
  });

  it("shows the next hours beside what they would be", async () => {
    await headroom(["run", "--name", "holds", "--gpus", "4", "--cores", "0", "--", "exec sleep 600"]);
    await headroom(["run", "--name", "waits", "--gpus", "4", "--cores", "0", "--", "exec sleep 600"]);
    const twoNodes = ["--add", "here:1", "--add", "here", "--hours", "6"];
    const { stdout, code } = await headroom(["what-if", ...twoNodes, "--arrivals", "none"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^waiting, most {2,}1 {2,}0$/m);
    expect(stdout).toMatch(/^ +IN +IN USE +OF +WAITING/m);
    expect(stdout).toMatch(/^ *now +4 → 8 +4 → 12 +1 → 0 .* 0 → 1$/m);
    expect(stdout.match(/^ *(?:now|\d+(?:h|m)(?:\d+m)?) .* → /gm)).toHaveLength(13);
    expect(stdout).toMatch(/^default {2}gains /m);
    expect(stdout).toMatch(/^waits .* earlier .* → now$/m);
    for (const nothing of [[], ["--hours", "24"], ["--json"]])
      expect(await headroom(["what-if", ...nothing])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining("nothing to compare"),
      });
    for (const hours of ["0.01", "169", "soon"])
      expect(await headroom(["what-if", "--add", "here", "--hours", hours])).toMatchObject({
        code: 2,
        stderr: expect.stringMatching(/^error: --hours: expected .* from .* to 168, got "[^"]+"\n$/),
      });
    const added = await headroom(["what-if", "--add-pool", "b200:type=B200,nodes=2,gpus=8", "--json"]);
    expect(json<{ changed: { samples: object[] } }>(added).changed.samples[0]).toMatchObject({
      usableAccelerators: 20,
      heldAccelerators: 8,
      waitingWorkloads: 0,
    });
    const { sites } = json<{ sites: { name: string }[] }>(await headroom(["fleet", "--json"]));
    const lost = json<{ changed: { samples: object[] } }>(
      await headroom(["what-if", "--lose", `site=${sites[0]?.name}`, "--json"]),
    );
    expect(lost.changed.samples[0]).toMatchObject({ usableAccelerators: 0 });
    expect((await headroom(["what-if", "--cap", `site=${sites[0]?.name}:1kW`, "--json"])).code).toBe(0);
    expect((await headroom(["what-if", "--cap", "rack=r9:1"])).stderr).toContain("--cap rack=r9:1: power write power");
    expect(await headroom(["what-if", "--lose", "hera"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("did you mean here?"),
    });
    expect(await headroom(["what-if", "--lose", "leef=x"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("The fleet has no level leef of failure domains"),
    });
    for (const pool of [
      "b200",
      "b200:gpus=8,nodes=2",
      "b200:type=B200,nodes=2",
      "b200:nodes=x,type=B200,gpus=8",
      "b200:wheels=4",
    ])
      expect(await headroom(["what-if", "--add-pool", pool])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`--add-pool ${pool}: `),
      });
    writeFileSync(
      path.join(live.folder, "more.yaml"),
      "kind: fleet\nsites:\n  - name: lyon\n    pools:\n      - { name: b200, executor: simulated, accelerator: B200, nodes: 1, perNode: 8 }\n",
    );
    const file = await headroom(["what-if", "-f", "more.yaml", "--json"]);
    expect(json<{ changed: { samples: object[] } }>(file).changed.samples[0]).toMatchObject({ usableAccelerators: 12 });
    await headroom(["stop", "waits", "holds"]);
  });

  it("says when a node goes, and that the notice can be withdrawn", async () => {
    const said = await headroom(["nodes", "notice", "here", "--in", "2h", "--reason", "spot reclaim"]);
    expect(said).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^here goes away at \d{4}-.*Z; .*--withdraw/),
    });
    expect((await headroom(["nodes"])).stdout).toMatch(/GOES\n.*here .* up .*Z \(spot reclaim\)\n/);
    const at = json(await headroom(["nodes", "notice", "here", "--at", "2099-01-01T00:00:00Z", "--json"]));
    expect(at).toEqual({ nodeId: "here", goneAtMs: Date.UTC(2099, 0, 1) });
    expect((await headroom(["nodes", "notice", "here", "--withdraw"])).stdout).toBe("here stays\n");
    expect((await headroom(["nodes"])).stdout).not.toContain("GOES");
    await headroom(["run", "--name", "leaves", "--cores", "0", "--", "exec sleep 600"]);
    await headroom(["nodes", "notice", "here", "--in", "0s"]);
    expect((await headroom(["history", "leaves"])).stdout).toContain(
      "is being stopped: it is stopped for the notice on node here.",
    );
    await headroom(["nodes", "notice", "here", "--withdraw"]);
    expect((await headroom(["stop", "leaves"])).code).toBe(0);
    for (const wrong of [
      [],
      ["--in", "2h", "--withdraw"],
      ["--in", "2"],
      ["--at", "noon"],
      ["--withdraw", "--reason", "x"],
    ])
      expect((await headroom(["nodes", "notice", "here", ...wrong])).code).toBe(2);
    expect((await headroom(["nodes", "notice", "nowhere", "--in", "2m"])).code).toBe(1);
  });

  it("says by what right a past attempt gave way, and how both sides stood", async () => {
    const { stdout: before } = await headroom(["policy", "--json"]);
    await headroom(["policy", "default"]);
    const work = (team: string, extra: string): string =>
      `---\nkind: train\nname: of-${team}\nteam: ${team}\nrun: exec sleep 600\ngang: { accelerators: 4, cores: 0 }\n${extra}`;
    const teams = "kind: team\nname: owner\nguarantee: { slot: 4 }\n---\nkind: team\nname: guest\n";
    const opportunisticJob = teams + work("guest", "preemptible: true\ngrace: 1s\n");
    expect((await headroom(["apply", "-f", "-", "--yes"], { stdin: opportunisticJob })).code).toBe(0);
    for await (const { event } of live.plane.driver.events(1, AbortSignal.timeout(20_000)))
      if (event.kind === "attemptStarted" && event.attemptId === `${await idOf("of-guest")}.1`) break;
    await headroom(["apply", "-f", "-", "--yes"], { stdin: work("owner", "") });
    const why = await headroom(["why", "of-guest", "--attempt", "1"]);
    expect(why.code).toBe(0);
    expect(why.stdout).toMatch(/Attempt 1 was placed: .*\n.*Attempt 1 started\.\n.*It is evicted for workload w\d+/);
    expect(why.stdout).toMatch(
      /SIDE +TEAM +WHO +BEFORE +AFTER +RIGHT\n +gives +guest +w\d+\.1 +.*\n +gets +owner +w\d+ +0% +100% +for its/,
    );
    const other = json<{ items: { plan?: { preemptor?: object } }[] }>(
      await headroom(["why", "of-owner", "--attempt", `${await idOf("of-owner")}.1`, "--json"]),
    );
    expect(other.items[0]?.plan?.preemptor).toEqual({ team: "owner", shareBeforeMilli: 0, shareAfterMilli: 1000 });
    expect(await headroom(["why", "of-guest", "--attempt", "7"])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/of-guest has no attempt 7: there are w\d+\.1/),
    });
    await headroom(["stop", "of-guest", "of-owner"]);
    await headroom(["policy", json<{ name: string }>({ code: 0, stderr: "", stdout: before }).name]);
  });

  it("says what would be moved to gather idle accelerators, and moves nothing itself", async () => {
    expect(await headroom(["defragment"])).toMatchObject({ code: 2, stderr: expect.stringContaining("--dry-run") });
    const said = await headroom(["defragment", "--dry-run"]);
    expect(said).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^No migration is worth its cost: .*ACCELERATOR +NODES BY IDLE/s),
    });
    expect(json(await headroom(["defragment", "--dry-run", "--json"]))).toMatchObject({
      isActive: false,
      migrations: [],
    });
  });

  it("lists what is unused as far as work tells it, and says of how many that is", async () => {
    const report = '{"kind":"utilization","accelerators":[{"busy":0.9,"memoryMib":10,"capacityMib":20}]}';
    const command = `echo '${report}' >> "$HEADROOM_PROGRESS_FILE"; while [ ! -e go3 ]; do sleep 0.05; done`;
    await headroom(["run", "--name", "tells", "--cores", "0", "--gpus", "2", "--", command]);
    await vi.waitFor(
      async () => {
        const { stdout } = await headroom(["metrics", "tells"]);
        expect(stdout).toMatch(/^w\d+\.1\n +TIME +UTILIZATION +BUSY ACCELERATORS\n.* 90\.0% +1\.0\n$/);
      },
      { timeout: 20_000, interval: 200 },
    );
    expect((await headroom(["waste"])).stdout).toContain("1 of 1 running attempt with accelerators report utilization");
    const shown = json<{ attempts: { utilization?: object }[] }>(await headroom(["show", "tells", "--json"]));
    expect(shown.attempts[0]?.utilization).toMatchObject({ accelerators: 1, busyAccelerators: 1, peakMemoryMib: 10 });
    writeFileSync(path.join(live.folder, "go3"), "");
    expect((await headroom(["logs", "-f", "tells"])).code).toBe(0);
  });

  it("says on submission what could be reclaimed, and gives workers the interval between checkpoints", async () => {
    writeFileSync(
      path.join(live.folder, "guarantees.yaml"),
      "kind: team\nname: sure\nguarantee: { accelerators: 2 }\n---\nkind: team\nname: unsure\n",
    );
    expect((await headroom(["apply", "-f", "guarantees.yaml", "--yes"])).code).toBe(0);
    const said = await follow("reclaimable", "true", "--team", "unsure", "--gpus", "3", "--walltime", "1d");
    expect(said.code).toBe(0);
    expect(said.stderr).toMatch(
      /note: 3 of 3 accelerators would be above the guarantee of team unsure; other teams can reclaim them/,
    );
    expect(said.stderr).toMatch(/warning: reclaimable may run for 1 d and declares no checkpoints/);
    const file = path.join(live.folder, "saves.yaml");
    const run = 'echo "every $HEADROOM_CHECKPOINT_EVERY_SECONDS"';
    writeFileSync(
      file,
      `kind: train\nname: saves\nteam: unsure\nrun: '${run}'\ngang: { accelerators: 1, cores: 0 }\ncheckpoint: { every: auto, cost: 10s }\n`,
    );
    expect((await headroom(["apply", "-f", file, "--dry-run"])).stdout).toMatch(/note: Checkpoints every .* on 1 node/);
    const applied = await headroom(["apply", "-f", file, "--yes"]);
    expect(applied.stdout).toMatch(/note: 1 of 1 accelerators? would be above .*\n +note: Checkpoints every /);
    expect((await headroom(["logs", "-f", "saves"])).stdout).toMatch(/^every [1-9][0-9]{3,}$/m);
  });

  it("tells the author which lines of the progress file are not reports", async () => {
    const bad = String.raw`printf 'loss=2\n{"kind":"progress","step":"x"}\n{"kind":"progress","step":1}\n' >> "$HEADROOM_PROGRESS_FILE"`;
    const said = await follow("misreports", bad);
    expect(said.code).toBe(0);
    expect(said.stderr).toMatch(/2 lines that w\d+\.1 appended to HEADROOM_PROGRESS_FILE are not reports/);
    const { stdout } = await headroom(["show", "misreports"]);
    expect(stdout).toContain('worker 0: not JSON\n    loss=2\n    expected: {"kind":"progress"');
    expect(stdout).toContain("worker 0: step: expected number, received string");
    expect((await headroom(["metrics", "misreports"])).stdout).toContain("step: expected number, received string");
  });
});
