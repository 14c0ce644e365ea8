/** Compares planned and actual results of `apply` on a real control plane. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startLive, type LiveControlPlane } from "../testing/live-control-plane.ts";
import type { Said, Surroundings } from "../testing/recorded-terminal.ts";

let live: LiveControlPlane;

/** Submits two workloads that other workloads depend on: one succeeds, one fails. */
beforeAll(async () => {
  live = await startLive();
  for (const [name, command] of [
    ["hello", "true"],
    ["fails", "false"],
  ] as const)
    await headroom(["run", "--name", name, "--cores", "0", "--follow", "--", command]);
});
afterAll(() => live.close());

const headroom = (args: readonly string[], extra?: Partial<Surroundings>): Promise<Said> => live.headroom(args, extra);

describe("run --type", () => {
  it("answers 3 for a type that no node has, with the nearest names, unless it waits for it", async () => {
    for (const options of [["--dry-run"], ["--follow"], []]) {
      const said = await headroom([
        "run",
        "--name",
        "cards",
        "--gpus",
        "1",
        "--type",
        "H100",
        ...options,
        "--",
        "true",
      ]);
      expect(said.code).toBe(3);
      expect(said.stderr).toContain("No node has accelerators of type H100. Nearest in the fleet: slot");
    }
    const waits = await headroom([
      "run",
      "--name",
      "cards",
      "--gpus",
      "1",
      "--type",
      "H100",
      "--wait-for-type",
      "--",
      "true",
    ]);
    expect(waits.code).toBe(0);
    expect(JSON.parse((await headroom(["show", "cards", "--json"])).stdout)).toMatchObject({
      spec: { acceleratorTypes: ["H100"], waitForType: true },
    });
    await headroom(["stop", "cards"]);
  });
});

describe("run --dry-run", () => {
  it("says what would become of it, and by its exit code that the fleet could never hold it", async () => {
    const before = live.plane.driver.status().sequence;
    const small = await headroom(["run", "--cores", "0.1", "--dry-run", "--", "true"]);
    expect([small.code, small.stdout]).toEqual([0, expect.stringContaining("would start")]);
    for (const form of [[], ["--json"]]) {
      const large = await headroom(["run", "--gpus", "90", "--dry-run", ...form, "--", "true"]);
      expect([large.code, large.stdout]).toEqual([3, expect.stringMatching(/would wait/)]);
    }
    expect(live.plane.driver.status().sequence).toBe(before);
  });
});

describe("apply", () => {
  const team = (limit: number): string => `kind: team\nname: quota\nlimit: { slot: ${limit} }\n`;

  it("shows the plan, asks for --yes where nobody can answer, applies, and has nothing to do the second time", async () => {
    const asked = await headroom(["apply", "-f", "-"], { stdin: team(2) });
    expect([asked.code, asked.stdout]).toEqual([2, "+ team quota\n1 to create, 0 to change, 0 unchanged\n"]);
    expect((await headroom(["apply", "-f", "-", "--dry-run"], { stdin: team(2) })).code).toBe(0);
    const work = `${team(2)}---\nkind: train\nname: a\nteam: quota\nrun: 'true'\ngang: { accelerators: 90 }\n`;
    const dry = await headroom(["apply", "-f", "-", "--dry-run"], { stdin: work });
    expect(dry.stdout).toMatch(
      /\+ team quota\n\+ workload a .*\n    It would wait\. .*\n(?: +warning: .*\n)?2 to create/,
    );
    expect((await headroom(["teams", "remove", "quota"])).code).toBe(1);
    expect((await headroom(["apply", "-f", "-", "-y"], { stdin: team(2) })).stdout).toContain("created team quota\n");
    expect((await headroom(["apply", "-f", "-"], { stdin: team(2) })).stdout).toBe(
      "Nothing to do: 1 thing as declared.\n",
    );
    const changed = await headroom(["apply", "-f", "-", "--yes"], { stdin: team(3) });
    expect(changed.stdout).toContain("~ team quota\n    limit.slot: 2 → 3\n");
  });

  it("changes nothing when the server refuses one of the documents, and says where it stands", async () => {
    const before = live.plane.driver.status().sequence;
    const orphan = `${team(4)}---\nkind: train\nname: a\nteam: nobody\nrun: 'true'\n`;
    const said = await headroom(["apply", "-f", "-", "--yes"], { stdin: orphan });
    expect([said.code, said.stdout]).toEqual([1, ""]);
    expect(said.stderr).toMatch(/^error: nothing was changed:\nstdin:7:7: .*nobody/);
    const named = `kind: maintenance\nname: notice-here\nnodes: [here]\nstart: 2090-01-01T00:00:00Z\nend: 2090-01-02T00:00:00Z\n`;
    const reserved = await headroom(["apply", "-f", "-", "--yes"], { stdin: named });
    expect(reserved).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/\nstdin:2:7: The name notice-here is reserved/),
    });
    const cycle = "kind: team\nname: quota\nparent: below\n---\nkind: team\nname: below\nparent: quota\n";
    expect((await headroom(["apply", "-f", "-", "--yes"], { stdin: cycle })).stderr).toContain(
      "stdin:3:9: parent: teams are parents of each other: quota → below → quota",
    );
    expect(live.plane.driver.status().sequence).toBe(before);
  });

  it("says where work waits for what there is not", async () => {
    const work = (name: string, after: string): string =>
      `---\nkind: train\nname: ${name}\nrun: 'true'\nafter:\n${after}`;
    const ready = work("first", "  - { workload: hello, on: any }\n");
    const applied = async (stdin: string) => (await headroom(["apply", "-f", "-", "--yes"], { stdin })).stderr;
    expect(await applied(ready + work("second", "  - { workload: first }\n  - { workload: missing }\n"))).toMatch(
      /^error: nothing was changed:\nstdin:13:5: There is no workload missing in its team to wait for\./,
    );
    expect(await applied(ready + work("second", "  - { artifact: tokens }\n"))).toMatch(
      /\nstdin:12:5: No workload in its team produces the artifact tokens\./,
    );
    expect(await applied(ready + work("second", "  - { workload: first, artifact: zz }\n"))).toMatch(
      /\nstdin:12:5: No workload first in its team produces the artifact zz\./,
    );
    expect(await applied(work("only", "  - { workload: fails }\n"))).toMatch(
      /\nstdin:6:5: It waits for fails \(w\d+\) to end well/,
    );
    const circle = work("left", "  - { workload: right }\n") + work("right", "  - { workload: left }\n");
    expect(await applied(circle)).toMatch(/\nstdin:6:3: These workloads wait for each other: left > right > left\./);
  });

  it("says where a team or a site is named that there is not, and what is never due", async () => {
    const applied = async (stdin: string) => (await headroom(["apply", "-f", "-", "--yes"], { stdin })).stderr;
    const times = "start: 2090-01-01T00:00:00Z\nend: 2090-01-02T00:00:00Z\n";
    const kept = `kind: reservation\nname: kept\nteam: lab\nnodes: [here]\n${times}`;
    expect(await applied(kept)).toMatch(/\nstdin:3:7: There is no team lab\./);
    const nightly =
      "kind: schedule\nname: nightly\ncron: '0 3 30 2 *'\nworkload:\n  kind: train\n  name: t\n  run: 'true'\n";
    expect(await applied(`${nightly}  team: lab\n`)).toMatch(/\nstdin:8:9: There is no team lab\./);
    expect(await applied(nightly)).toMatch(/\nstdin:3:7: nightly is never due/);
    const tariff = `kind: tariff\nname: night\nsite: moon\nprice: 0.1 USD/kWh\n${times}`;
    expect(await applied(tariff)).toMatch(/\nstdin:3:7: There is no site moon\./);
  });

  it("gives everything that does not exist one exit code, wherever it is named", async () => {
    const codes = [
      ["nodes", "drain", "nowhere"],
      ["teams", "remove", "nobody"],
      ["run", "--team", "nobody", "--", "true"],
      ["show", "nothing"],
      ["calendar", "remove", "nothing"],
    ].map(async (args) => (await headroom(args)).code);
    expect(await Promise.all(codes)).toEqual([1, 1, 1, 1, 1]);
  });

  it("tells levels of the fabric that cannot be had, of schedules too", async () => {
    const run = "run: 'true'\ngang: { accelerators: 1 }\nfabric: { within: rail }\n";
    const nested = run.replaceAll(/^(?=.)/gm, "  ");
    const stdin = `kind: train\nname: a\n${run}---\nkind: schedule\nname: s\ncron: "@hourly"\nworkload:\n  kind: train\n  name: b\n${nested}`;
    const said = await headroom(["apply", "-f", "-", "--yes"], { stdin });
    expect(said.code).toBe(2);
    expect(said.stderr).toMatch(
      /stdin:5:\d+: fabric\.within: no site has the level rail .*workload\.fabric\.within: no/s,
    );
  });

  it("warns of quotas that contradict each other or name what no pool has, and applies them all the same", async () => {
    const stdin = "kind: team\nname: odd\nguarantee: { slot: 3, solt: 1 }\nlimit: { slot: 2 }\n";
    const dry = await headroom(["apply", "-f", "-", "--dry-run"], { stdin });
    expect(dry.code).toBe(0);
    expect(dry.stderr).toContain("warning: Team odd is guaranteed more accelerators of type slot than its limit");
    expect(dry.stderr).toContain("names solt, but no pool has accelerators of that type; did you mean slot?");
    for (const form of [["--dry-run"], ["--yes"]]) {
      const { warnings } = JSON.parse((await headroom(["apply", "-f", "-", "--json", ...form], { stdin })).stdout);
      expect(warnings).toHaveLength(2);
    }
    await headroom(["teams", "remove", "odd", "--yes"]);
  });

  it("warns of a pool that would keep all of its nodes as spares", async () => {
    const stdin = "kind: fleet\nsites: [{ name: local, pools: [{ name: local, accelerator: slot, hotSpares: 9 }] }]\n";
    const dry = await headroom(["apply", "-f", "-", "--dry-run"], { stdin });
    expect([dry.code, dry.stderr]).toEqual([0, expect.stringContaining("warning: Pool local keeps 9 hot spares, so")]);
  });

  it("refuses shapes within levels that no site has, and windows that are over, with their place", async () => {
    const shape = "kind: team\nname: odd\nreservedTopology: [{ within: laef, accelerators: 8, count: 1 }]\n";
    const shaped = await headroom(["apply", "-f", "-", "--yes"], { stdin: shape });
    expect([shaped.code, shaped.stderr]).toEqual([
      2,
      expect.stringMatching(/stdin:1:1: .*no site has the level laef/s),
    ]);
    const window =
      "kind: maintenance\nname: past\npool: local\nstart: 2020-01-01T00:00:00Z\nend: 2020-01-01T02:00:00Z\n";
    const past = await headroom(["apply", "-f", "-", "--yes"], { stdin: window });
    expect([past.code, past.stderr]).toEqual([
      2,
      expect.stringMatching(/stdin:2:7: The window past ended at 2020-01-01/),
    ]);
  });

  it("refuses what only a simulation has", async () => {
    const stdin = "kind: fleet\nsites: [{ name: dc, pools: [{ name: p, executor: simulated, nodes: 2 }] }]\n";
    const said = await headroom(["apply", "-f", "-", "--yes"], { stdin });
    expect([said.code, said.stderr]).toEqual([
      2,
      "error: stdin:2:8: simulated pools exist only in `headroom simulate`, not in a live fleet\n",
    ]);
  });
});

describe("the workload files in the documentation", () => {
  /** The accelerator types that the examples name. */
  const ofTheExamples = `kind: fleet
sites:
  - name: examples
    pools: [{ name: example-h100, accelerator: H100-SXM }, { name: example-h200, accelerator: H200 }]
`;

  it.each(["README.md", "docs/reference/workload-files.md"])(
    "of %s can be applied as they are printed",
    async (page) => {
      const text = readFileSync(new URL(`../../../../${page}`, import.meta.url), "utf8");
      const examples = [...text.matchAll(/^```yaml\n([^]*?)^```$/gm)].map(([, example = ""]) => example);
      expect(examples.length).toBeGreaterThan(0);
      for (const stdin of examples) {
        const said = await headroom(["apply", "-f", "-", "--dry-run"], { stdin: `${ofTheExamples}---\n${stdin}` });
        // The fleet of these tests has another accelerator type than the quotas of this test.
        const otherTypes = /^warning: A quota of team \S+ names \S+, but no pool has accelerators of that type\.\n/gm;
        expect(said.stderr.replaceAll(otherTypes, "")).toBe("");
        // Exit code 3 means that this small fleet could never start the example.
        expect([0, 3]).toContain(said.code);
        expect(said.stdout).toMatch(/^\+ /m);
      }
    },
  );
});

describe("show --yaml", () => {
  it("prints a workload as a document that applies as it is", async () => {
    const yaml = (await headroom(["show", "hello", "--yaml"])).stdout;
    const again = await headroom(["apply", "-f", "-", "--dry-run"], { stdin: yaml });
    expect([again.code, again.stdout]).toEqual([0, "Nothing to do: 1 thing as declared.\n"]);
  });
});
