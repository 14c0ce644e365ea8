import { describe, expect, it } from "vitest";
import { headroom } from "../testing/recorded-terminal.ts";

const nodes = Array.from({ length: 30 }, (_, index) => ({
  node: `n${index}`,
  set: "h100",
  facts: { driver: "550.54", nccl: index < 6 ? "2.19" : "2.21", ecc: true },
  performance: (index < 6 ? 92 : 100) + (index % 3) / 10,
}));
const lines = (rows: readonly unknown[]): string => rows.map((row) => JSON.stringify(row)).join("\n");
const run = async (args: readonly string[], stdin: string): ReturnType<typeof headroom> =>
  headroom(args, { workingDirectory: "/", stdin });

describe("headroom drift", () => {
  it("names what differs and what slow nodes share", async () => {
    const { code, stdout } = await run(["drift", "-"], lines(nodes));
    expect(code).toBe(0);
    expect(stdout).toContain("6 nodes of h100 are 8% slower; they share nccl 2.19: n0, n1, n2, n3 and 2 more");
    expect(stdout).toMatch(/h100 +nccl +2\.19 +2\.21 +majority +n0, n1, n2, n3 and 2 more/);
    const answer = JSON.parse((await run(["drift", "-", "--json"], lines(nodes))).stdout) as object;
    expect(answer).toMatchObject({
      nodes: 30,
      deviations: [{ fact: "nccl", value: "2.19", expected: "2.21", peer_count: 24, nodes: expect.any(Array) }],
      causes: [{ facts: [{ fact: "nccl", value: "2.19" }], node_count: 6 }],
    });
  });

  it("reads a profile of more facts than one line of a log has", async () => {
    const facts = Object.fromEntries(Array.from({ length: 900 }, (_, index) => [`fact-${index}`, "x".repeat(100)]));
    const { code, stdout } = await run(["drift", "-", "--json"], lines([{ node: "a", facts }]));
    expect([code, JSON.parse(stdout)]).toEqual([0, { nodes: 1, deviations: [], causes: [] }]);
  });

  it.each([
    ["{", "-:1: "],
    [`{"node":"a","facts":{}}\nnode b`, "-:2: "],
    ["", "there are no nodes"],
    [`{"node":"a"}`, "-:1: facts: expected an object"],
    [lines([nodes[0], nodes[0]]), "-:2: node n0 occurs twice"],
    [`{"node":"a","facts":{"x":{}}}`, "-:1: facts.x: expected a text"],
    [`{"node":"a","facts":{},"performance":-1}`, "-:1: performance: expected a number above 0"],
  ])("refuses %j", async (stdin, message) => {
    const { code, stderr } = await run(["drift", "-"], stdin);
    expect([code, stderr.includes(message) ? message : stderr]).toEqual([2, message]);
  });
});

describe("headroom health slow", () => {
  const steps = Array.from({ length: 20 }, (_, step) =>
    Array.from({ length: 8 }, (__, node) => ({
      set: "w1",
      step: 10 * step,
      node: `n${node}`,
      seconds: (step >= 8 && node === 5 ? 1.25 : 1) * (1 + ((step * 7 + node * 3) % 5) / 1000),
    })),
  ).flat();

  it("names a slow node with the steps as the file counts them", async () => {
    const { code, stdout } = await run(["health", "slow", "-", "--json"], lines(steps));
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      [{ set: "w1", node: "n5", step: 100, since_step: 80, slower_pct: expect.closeTo(25, 0) }],
    ]);
    expect((await run(["health", "slow", "-"], lines(steps))).stdout).toContain("160 step times, 1 changes to slow");
  });

  it("names the part of the step that is slow, where the file states parts", async () => {
    const rows = steps.map((row) => ({ ...row, seconds: 1, parts: { input: 0.2 * row.seconds, compute: 0.8 } }));
    expect(JSON.parse((await run(["health", "slow", "-", "--json"], lines(rows))).stdout)).toMatchObject([
      { node: "n5", since_step: 80, slower_pct: 0, part: "input", part_slower_pct: expect.closeTo(25, 0) },
    ]);
    expect((await run(["health", "slow", "-"], lines(rows))).stdout).toMatch(/n5\s+2[45][.\d]*% in input\s+/);
  });

  it.each([
    [`{"step":1,"node":"a","seconds":1,"parts":[1]}`, "-:1: parts: expected seconds by name"],
    [`{"step":1,"node":"a"}`, "-:1: seconds: expected a number above 0"],
    [lines([steps[8], steps[0]]), "-:2: step 0 after step 10: sort the rows"],
    ["\n", "no step times"],
  ])("refuses %j", async (stdin, message) => {
    const { code, stderr } = await run(["health", "slow", "-"], stdin);
    expect([code, stderr.includes(message) ? message : stderr]).toEqual([2, message]);
  });
});
