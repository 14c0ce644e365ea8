import { describe, expect, it } from "vitest";
import { levelRefusal } from "./level-refusal.ts";

type Topology = Parameters<typeof levelRefusal>[0];
type Spec = Parameters<typeof levelRefusal>[1][number]["spec"];

/** A fleet with the levels spine and leaf, whose nodes state these domains. */
const fleet = (...fabrics: readonly (readonly string[])[]): Topology =>
  ({
    sites: new Map([["s", { name: "s", fabricLevels: ["spine", "leaf"] }]]),
    pools: new Map([["p", { name: "p", site: "s" }]]),
    nodes: new Map(fabrics.map((fabric, index) => [`n${index}`, { pool: "p", fabric }])),
  }) as unknown as Topology;

const spec = (part: object): Spec => ({ gang: { workers: 2, accelerators: 8 }, ...part }) as unknown as Spec;
const within = (level: string): Spec => spec({ fabric: { within: level } });
const slices = (level: string): Spec => spec({ fabric: { slices: [{ workers: 1, within: level }] } });
const group = (level: string): Spec =>
  spec({ gang: { workers: 2, taskGroups: [{ name: "a", workers: 2, fabric: { within: level } }] } });

const unstated = /requires the level (spine|leaf), but no node of the fleet states its/;

describe("a required level", () => {
  it.for([
    { what: "leaf of nodes without a place", topology: fleet([], []), wanted: within("leaf"), refused: true },
    { what: "spine of nodes without a place", topology: fleet([], []), wanted: within("spine"), refused: true },
    { what: "leaf of nodes with a spine", topology: fleet(["a"], ["b"]), wanted: within("leaf"), refused: true },
    { what: "spine of nodes with a spine", topology: fleet(["a"], ["b"]), wanted: within("spine"), refused: false },
    { what: "leaf of nodes with a leaf", topology: fleet(["a", "x"]), wanted: within("leaf"), refused: false },
    { what: "spine of nodes with a leaf", topology: fleet(["a", "x"]), wanted: within("spine"), refused: false },
    { what: "leaf where one node has one", topology: fleet([], ["a", "x"]), wanted: within("leaf"), refused: false },
    { what: "node of nodes without a place", topology: fleet([]), wanted: within("node"), refused: false },
    { what: "leaf of a fleet without nodes", topology: fleet(), wanted: within("leaf"), refused: false },
    { what: "leaf of slices", topology: fleet([]), wanted: slices("leaf"), refused: true },
    { what: "node of slices", topology: fleet([]), wanted: slices("node"), refused: false },
    { what: "leaf of slices that is stated", topology: fleet(["a", "x"]), wanted: slices("leaf"), refused: false },
    { what: "leaf of a task group", topology: fleet([]), wanted: group("leaf"), refused: true },
    { what: "leaf of a task group that is stated", topology: fleet(["a", "x"]), wanted: group("leaf"), refused: false },
    { what: "no level", topology: fleet([]), wanted: spec({}), refused: false },
    { what: "a preferred leaf", topology: fleet([]), wanted: spec({ fabric: { prefer: "leaf" } }), refused: false },
  ])("$what", ({ topology, wanted, refused }) => {
    const refusal = levelRefusal(topology, [{ pointer: "", spec: wanted }]);
    if (refused) expect(refusal?.message).toMatch(unstated);
    else expect(refusal).toBeNull();
  });

  it("that is not stated is named by its place in the request", () => {
    const refusal = levelRefusal(fleet([]), [
      { pointer: "/workloads/0", spec: spec({}) },
      { pointer: "/workloads/1", spec: slices("leaf") },
    ]);
    expect(refusal?.problem.errors?.map(({ pointer }) => pointer)).toEqual(["/workloads/1/fabric/slices/0/within"]);
  });

  it("that only pools with other accelerators state is refused, with the pools that do not state it", () => {
    const pool = (name: string, acceleratorType: string): readonly [string, object] => [
      name,
      { name, site: "s", acceleratorType },
    ];
    const topology = {
      sites: new Map([["s", { name: "s", fabricLevels: ["leaf"] }]]),
      pools: new Map([pool("old", "A100"), pool("new", "H100")]),
      nodes: new Map([
        ["n1", { pool: "old", fabric: [] }],
        ["n2", { pool: "new", fabric: ["l1"] }],
      ]),
    } as unknown as Topology;
    const refused = (acceleratorTypes: readonly string[]): string =>
      levelRefusal(topology, [{ pointer: "", spec: spec({ fabric: { within: "leaf" }, acceleratorTypes }) }])
        ?.message ?? "";
    expect(refused(["A100"])).toContain("no node of old, where its accelerators are, states its leaf");
    expect([refused(["H100"]), refused([])]).toEqual(["", ""]);
  });
});
