import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startLive, type LiveControlPlane } from "../testing/live-control-plane.ts";
import type { Said, Surroundings } from "../testing/recorded-terminal.ts";

let live: LiveControlPlane;

beforeAll(async () => {
  live = await startLive();
});
afterAll(() => live.close());

const headroom = (args: readonly string[], extra?: Partial<Surroundings>): Promise<Said> => live.headroom(args, extra);
const json = <Value>({ stdout }: Said): Value => JSON.parse(stdout) as Value;

interface Row {
  readonly id: string;
  readonly name: string;
  readonly actor: string;
  readonly phase: string;
}

const rows = async (team: string): Promise<readonly Row[]> =>
  json<{ items: Row[] }>(await headroom(["list", "--team", team, "--json"])).items;

/** Workloads that hold accelerators, oldest first. */
const placed = async (team: string): Promise<string[]> =>
  (await rows(team))
    .filter(({ phase }) => phase === "running")
    .map(({ name }) => name)
    .toReversed();

/** Submits workloads with one accelerator each. They run until they are stopped. */
async function submit(user: string, team: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const work = ["run", "--name", name, "--team", team, "--cores", "0", "--gpus", "1", "--", "exec sleep 600"];
    expect((await headroom(["--user", user, ...work])).code).toBe(0);
  }
}

async function applyDocuments(stdin: string): Promise<void> {
  expect(await headroom(["apply", "-f", "-", "--yes"], { stdin })).toMatchObject({ code: 0 });
}

describe("whom a command acts for", () => {
  const submitted = async (args: readonly string[], extra?: Partial<Surroundings>): Promise<string> => {
    const said = await headroom([...args, "run", "--gpus", "64", "--json", "--", "true"], extra);
    const { workloadId } = json<{ workloadId: string }>(said);
    const { actor } = json<Row>(await headroom(["show", workloadId, "--json"]));
    expect((await headroom(["show", workloadId])).stdout).toMatch(new RegExp(`^submitted .* by ${actor}$`, "m"));
    await headroom(["stop", workloadId]);
    return actor;
  };

  it("is the system's user, else who the environment names, else who an option names", async () => {
    const env = { HEADROOM_USER: "bob" };
    expect(await submitted([])).toBe("tester");
    expect(await submitted([], { userName: "1000" })).toBe("1000");
    expect(await submitted([], { env: { HEADROOM_USER: "" } })).toBe("tester");
    expect(await submitted([], { env })).toBe("bob");
    expect(await submitted(["--user", "carol@example.org"], { env })).toBe("carol@example.org");
  });

  it("is whom a browser acts for that it signs in", async () => {
    const { url } = json<{ url: string }>(await headroom(["--user", "alice", "login", "--json"]));
    const { headers } = await fetch(url, { redirect: "manual" });
    expect(headers.get("location")).toMatch(/^\/#session=session\.[\w.-]+\.alice$/);
  });

  it("stands in the history of what was done", async () => {
    const { workloadId } = json<{ workloadId: string }>(
      await headroom(["--user", "alice", "run", "--gpus", "64", "--json", "--", "true"]),
    );
    await headroom(["--user", "bob", "stop", workloadId]);
    const { stdout } = await headroom(["history", workloadId]);
    expect(stdout).toContain("alice submitted it.");
    expect(stdout).toContain("bob stopped it.");
  });

  it.each<[readonly string[], Partial<Surroundings>, string]>([
    [["--user", "a b"], {}, '"a b" does not'],
    [["--user", ""], {}, '"" does not'],
    [[], { env: { HEADROOM_USER: "ünal" } }, '"ünal" does not'],
    [[], { userName: "CORP\\alice" }, '"CORP\\\\alice" does not'],
    [["--user", "console"], {}, "No user can be called console"],
  ])("is refused before anything is asked: %j %j", async (args, extra, expected) => {
    const said = await headroom([...args, "status"], extra);
    expect(said.code).toBe(2);
    expect(said.stderr).toContain(expected);
    expect(said.stderr).toContain("Choose another user with --user or HEADROOM_USER.\n");
  });
});

describe("users of one team", () => {
  it("each have what `userLimit` allows, and no more", async () => {
    await applyDocuments("kind: team\nname: capped\nuserLimit: { slot: 1 }\n");
    await submit("alice", "capped", ["a1", "a2"]);
    await submit("bob", "capped", ["b1", "b2"]);
    await expect.poll(() => placed("capped")).toEqual(["a1", "b1"]);
    expect((await headroom(["list", "--team", "capped"])).stdout).toMatch(/ b1 +capped +bob +train +running /);
    expect((await headroom(["list", "--waiting"])).stdout).toMatch(/ a2 +capped +alice .*alice/);
    expect((await headroom(["why", "a2"])).stdout).toMatch(/alice|one user/);
    await headroom(["stop", "b1"]);
    await expect.poll(() => placed("capped")).toEqual(["a1", "b2"]);
    expect((await headroom(["stop", "a1", "a2", "b2"])).code).toBe(0);
    await expect.poll(() => placed("capped")).toEqual([]);
  });

  it("take turns where the policy's order begins with `user`", async () => {
    const policy = "base: default\nname: turns\norder: [user, submitted]\n";
    expect((await headroom(["policy", "-"], { stdin: policy })).code).toBe(0);
    await applyDocuments("kind: team\nname: shared\n");
    await submit("alice", "shared", ["a1", "a2", "a3", "a4", "a5", "a6"]);
    await submit("bob", "shared", ["b1", "b2", "b3"]);
    await expect.poll(() => placed("shared")).toEqual(["a1", "a2", "a3", "a4"]);
    // The user with the smaller usage goes first. So bob goes first until both users hold two accelerators. Then alice
    // does, whose work was submitted earlier.
    for (const [ends, begins] of [
      ["a1", "b1"],
      ["a2", "b2"],
      ["a3", "a5"],
      ["b1", "b3"],
      ["a4", "a6"],
    ] as const) {
      await headroom(["stop", `shared/${ends}`]);
      await expect.poll(() => placed("shared")).toContain(begins);
      expect(await placed("shared")).toHaveLength(4);
    }
  });
});
