/** Tests that work which can never start gives exit code 3 at once, and that work which only waits does not. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startLive, type LiveControlPlane } from "../testing/live-control-plane.ts";
import type { Said } from "../testing/recorded-terminal.ts";

let live: LiveControlPlane;

beforeAll(async () => {
  live = await startLive();
  const stdin =
    "kind: team\nname: capped\nlimit: { slot: 2 }\n---\n" +
    "kind: team\nname: shared\nuserLimit: { slot: 1 }\n---\n" +
    "kind: team\nname: owner\nguarantee: { slot: 1 }\n---\n" +
    "kind: team\nname: other\nguarantee: { slot: 3 }\n";
  const said = await live.headroom(["apply", "-f", "-", "--yes"], { stdin });
  if (said.code !== 0) throw new Error(said.stderr);
});
afterAll(() => live.close());

/**
 * Time in ms after which a watch is ended that would continue forever. It is far beyond the needs of any slow machine;
 * the exit code is then that of Ctrl-C.
 */
const WATCH_MS_MAX = 60_000;

const run = (options: readonly string[], command = "true"): Promise<Said> =>
  live.headroom(["run", "--cores", "0", ...options, "--", command], {
    interrupted: AbortSignal.timeout(WATCH_MS_MAX),
  });

interface Case {
  readonly name: string;
  readonly options: readonly string[];
  readonly line: string;
}

const FLEET = "can never start on this fleet: Exceeds the fleet";

const never: readonly Case[] = [
  { name: "more accelerators than the fleet has", options: ["--gpus", "900"], line: FLEET },
  { name: "more workers than the nodes hold", options: ["--gpus", "1", "--workers", "5"], line: FLEET },
  { name: "more memory than any node has", options: ["--memory", "900TiB"], line: FLEET },
  { name: "more cores than any node has", options: ["--cores", "100000"], line: FLEET },
  {
    name: "more than its team may use",
    options: ["--gpus", "3", "--team", "capped"],
    line: "can never start under present limits: Exceeds the limit of team capped: it needs 3, but the limit is 2 slot accelerators",
  },
  {
    name: "more than its user may use in the team",
    options: ["--gpus", "2", "--team", "shared"],
    line: "can never start under present limits: Exceeds the limit per user of team shared",
  },
  {
    name: "more than the guarantees of other teams leave, without preemption",
    options: ["--gpus", "2", "--team", "owner", "--no-preemptible"],
    line: "can never start under present limits: Exceeds what other teams' guarantees leave to non-preemptible work of team owner: it needs 2, but they leave only 1",
  },
];

describe("work that can never start", () => {
  it.each(never)("answers 3 for $name: as a dry run, followed, and explained", async ({ options, line }) => {
    const dry = await run([...options, "--dry-run", "--json"]);
    expect([dry.code, JSON.parse(dry.stdout)]).toMatchObject([3, { kind: "waits", verdict: { neverStarts: true } }]);
    const followed = await run([...options, "--name", "beyond", "--follow"]);
    expect([followed.code, followed.stderr]).toEqual([3, expect.stringContaining(line)]);
    expect((await live.headroom(["why", "beyond"])).code).toBe(3);
    expect((await live.headroom(["eta", "beyond"])).code).toBe(3);
    const queue = await live.headroom(["list", "--waiting", "--json"]);
    expect(JSON.parse(queue.stdout)).toMatchObject({ items: [{ workload: { name: "beyond" }, neverStarts: true }] });
    expect((await live.headroom(["stop", "beyond"])).code).toBe(0);
  });

  it("is submitted with a warning, and never starts in the list of expected starts", async () => {
    const said = await run(["--gpus", "900", "--name", "told"]);
    expect([said.code, said.stderr]).toEqual([0, expect.stringContaining(`warning: told waits and ${FLEET}`)]);
    expect((await live.headroom(["eta"])).stdout).toMatch(/told .* never +never +never/);
    expect((await live.headroom(["stop", "told"])).code).toBe(0);
    const fits = await run(["--gpus", "1"]);
    expect([fits.code, fits.stderr]).toEqual([0, expect.not.stringContaining("can never start")]);
  });

  it("answers 3 for a dry run of apply, by labels, slices, or a limit that the same files lower", async () => {
    const work = "kind: train\nname: filed\nrun: 'true'\n";
    for (const text of [
      `${work}gang: { accelerators: 1 }\nselector: { rack: nowhere }\n`,
      `${work}gang: { accelerators: 1, workers: 8 }\nfabric: { slices: [{ workers: 8, within: node }] }\n`,
      `kind: team\nname: small\nlimit: { slot: 1 }\n---\n${work}team: small\ngang: { accelerators: 2 }\n`,
    ]) {
      const file = path.join(live.folder, "filed.yaml");
      writeFileSync(file, text);
      const said = await live.headroom(["apply", "-f", file, "--dry-run"]);
      expect([said.code, said.stderr], text).toEqual([3, ""]);
    }
  });

  it("says what to change", async () => {
    const { stdout } = await run(["--gpus", "3", "--team", "capped", "--dry-run"]);
    expect(stdout).toContain(
      "raise limit.slot of team capped to at least 3 in its file and run headroom apply -f FILE",
    );
    expect(stdout).toContain("Request 2 accelerators per worker instead of 3.");
  });
});

describe("work that only waits", () => {
  it("is none of that while the limit is in use, or while it waits for an accelerator type on request", async () => {
    const hold = (name: string, ...options: string[]): Promise<Said> =>
      run(["--name", name, ...options], "while [ ! -e go ]; do sleep 0.05; done");
    expect((await hold("holder", "--gpus", "2", "--team", "capped")).code).toBe(0);
    expect((await hold("own", "--gpus", "1", "--team", "shared")).code).toBe(0);
    for (const options of [
      ["--gpus", "1", "--team", "capped"],
      ["--gpus", "1", "--team", "shared"],
      ["--gpus", "4"],
      ["--gpus", "1", "--type", "H100", "--wait-for-type"],
    ]) {
      const dry = await run([...options, "--dry-run", "--json"]);
      expect([dry.code, JSON.parse(dry.stdout)]).toMatchObject([0, { kind: "waits" }]);
      expect(dry.stdout).not.toContain("neverStarts");
      const followed = await run([...options, "--name", "patient", "--follow", "--timeout", "1ms"]);
      expect([followed.code, followed.stderr]).toEqual([
        3,
        expect.stringContaining("The workload has not ended within the given time"),
      ]);
      expect((await live.headroom(["why", "patient"])).code).toBe(0);
      expect((await live.headroom(["stop", "patient"])).code).toBe(0);
    }
    for (const name of ["holder", "own"]) expect((await live.headroom(["stop", name])).code).toBe(0);
  });

  it("refuses a type that no node has unless it waits for it", async () => {
    const said = await run(["--gpus", "1", "--type", "H100", "--follow"]);
    expect([said.code, said.stderr]).toEqual([3, expect.stringContaining("Nearest in the fleet: slot")]);
  });
});
