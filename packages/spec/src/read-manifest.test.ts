import { describe, expect, it } from "vitest";
import { schedule } from "./schedule.ts";
import { teamSpec } from "./team.ts";
import { checkDocuments, checkFabricLevels, documentJsonSchema, pathText, scheduleDocument } from "./index.ts";
import type { HeadroomDocument } from "./index.ts";
import { documentIn, problemsIn, train } from "./testing/reading.ts";

describe("kinds", () => {
  it.each<[unknown, string]>([
    [
      { kind: "trian" },
      'kind: must be train, batch, serve, fleet, team, maintenance, reservation, tariff, schedule or pipeline, got "trian"; did you mean train?',
    ],
    [{ kind: "workspace" }, "kind: workspace is not supported yet"],
    [{}, "kind: is required"],
    [[], ': must be a mapping with a kind, like "kind: train", got a list of 0 entries'],
    [null, ': must be a mapping with a kind, like "kind: train", got an empty value'],
  ])("refuses %j", (value, expected) => {
    expect(problemsIn(value)).toEqual([expected]);
  });
});

describe("endpoints", () => {
  const serve = { kind: "serve", name: "chat", run: "serve --port $PORT" };

  it("have one replica and a readiness request by default", () => {
    expect(documentIn(serve)).toMatchObject({
      kind: "workload",
      spec: { kind: "serve", replicas: { min: 1, max: 1 }, ready: { path: "/health", timeoutMs: 600_000 } },
    });
  });

  it("take a number or bounds of replicas, and the name of a model", () => {
    const written = { ...serve, replicas: { min: 0, max: 4 }, ready: { path: "/v1/models" }, model: "llama" };
    expect(documentIn(written)).toMatchObject({
      spec: { replicas: { min: 0, max: 4 }, ready: { path: "/v1/models", timeoutMs: 600_000 }, servedModel: "llama" },
    });
    expect(documentIn({ ...serve, replicas: 3 })).toMatchObject({ spec: { replicas: { min: 3, max: 3 } } });
  });

  it.each([
    [{ replicas: { min: 3, max: 2 } }, "replicas: must be a number from 1 to 1000"],
    [{ replicas: 0 }, "replicas: must be a number from 1 to 1000"],
    [{ ready: { timeout: "1ms" } }, "ready.timeout: "],
    [{ env: { PORT: "1" } }, "env.PORT: is set by Headroom"],
    [{ tasks: 3 }, "tasks: "],
  ])("refuse %j", (fields, expected) => {
    expect(problemsIn({ ...serve, ...fields })[0]).toContain(expected);
  });
});

describe("teams and fleets", () => {
  it("takes the parent from a path and refuses another one", () => {
    expect(documentIn({ kind: "team", name: "research/nlp", limit: { H100: 4 } })).toEqual({
      kind: "team",
      team: { name: "research/nlp", parent: "research", limit: { H100: 4 } },
    });
    expect(problemsIn({ kind: "team", name: "research/nlp", parent: "product" })).toEqual([
      'parent: must be research, which the name research/nlp implies, got "product"',
    ]);
    expect(problemsIn({ kind: "team", name: "a", limit: { H100: -1 } })).toEqual([
      "limit.H100: must be between 0 and 100000000, got -1",
    ]);
  });

  it("reads everything that a team can have, amounts in the units of people", () => {
    const document = documentIn({
      kind: "team",
      name: "research",
      guarantee: { "H100-SXM": 128, accelerators: 160.5, cores: 512.25, memory: "64GiB" },
      limit: { "H100-SXM": 256 },
      weight: 2.5,
      lendingLimit: { "H100-SXM": 64 },
      borrowingLimit: { cores: 100 },
      priority: "high",
      preemption: { reclaim: "lowerPriority", whileBorrowing: { priorityMax: -10 } },
      reservedTopology: [{ within: "H100-SXM", accelerators: 8, count: 4, nodes: ["n1", "n2"] }],
    });
    expect(document).toEqual({
      kind: "team",
      team: {
        name: "research",
        parent: null,
        guarantee: { "H100-SXM": 128, accelerators: 160.5, cores: 512_250, memory: 65_536 },
        limit: { "H100-SXM": 256 },
        weight: 2.5,
        lendingLimit: { "H100-SXM": 64 },
        borrowingLimit: { cores: 100_000 },
        priority: 100,
        preemption: { within: "lowerPriority", reclaim: "lowerPriority", whileBorrowing: { priorityMax: -10 } },
        reservedTopology: [{ within: "H100-SXM", accelerators: 8, count: 4, nodes: ["n1", "n2"] }],
      },
    });
    const { team } = document as { readonly team: unknown };
    expect(teamSpec.parse(team)).toEqual(team);
  });

  it.each<[object, string]>([
    [{ quota: { H100: 4 } }, "quota: unknown field; did you mean guarantee?"],
    [{ budget: 4 }, "budget: must be a mapping with the fields gpuHours, usd, period, over, got 4"],
    [{ budget: { period: "month" } }, "budget: must bound gpuHours, usd or both"],
    [
      { guarantee: { memory: 64 } },
      "guarantee.memory: needs a unit: write memory like 512MiB, 900GiB or 1.5TiB, got 64",
    ],
    [{ guarantee: { cores: 0.0001 } }, "guarantee.cores: must be a whole number of thousandths of a core, got 0.0001"],
    [{ limit: { H100: 0.0001 } }, "limit.H100: must be a whole number of thousandths of an accelerator, got 0.0001"],
    [
      { limit: { "a  b": 1 } },
      'limit["a  b"]: is not the name of an accelerator type, nor accelerators, cores, memory or networkGbps',
    ],
    [{ limit: { networkGbps: 0.5 } }, "limit.networkGbps: must be a whole number, got 0.5"],
    [{ weight: -1 }, "weight: must be a number between 0 and 1000000, got -1"],
    [{ preemption: { within: "lower" } }, 'preemption.within: must be never or lowerPriority, got "lower"'],
    [{ reservedTopology: [{ within: "leaf", accelerators: 8 }] }, "reservedTopology[0].count: is required"],
  ])("refuses %j of a team", (fields, expected) => {
    expect(problemsIn({ kind: "team", name: "a", ...fields })).toEqual([expected]);
  });

  const pool = {
    name: "h100",
    executor: "simulated",
    accelerator: "H100-SXM",
    nodes: 4,
    perNode: 8,
    cores: 64,
    memory: "1TiB",
    price: "2.10 USD/h",
  };

  it("reads sites and pools; the level of the nodes is not a level of the fabric", () => {
    expect(
      documentIn({ kind: "fleet", sites: [{ name: "dc1", fabric: ["spine", "leaf", "node"], pools: [pool] }] }),
    ).toEqual({
      kind: "fleet",
      fleet: {
        sites: [{ name: "dc1", fabricLevels: ["spine", "leaf"] }],
        pools: [
          {
            name: "h100",
            site: "dc1",
            executor: "simulated",
            acceleratorType: "H100-SXM",
            priceMicroUsdPerHour: 2_100_000,
          },
        ],
        simulatedNodes: [{ pool: "h100", nodeCount: 4, acceleratorCount: 8, coresMilli: 64_000, memoryMib: 1_048_576 }],
      },
    });
  });

  it("reads labels of pools and of single nodes", () => {
    const sites = [
      { name: "dc1", pools: [{ name: "here", labels: { zone: "a" }, nodeLabels: { n1: { rack: "r1" } } }] },
    ];
    expect(documentIn({ kind: "fleet", sites })).toMatchObject({
      fleet: { pools: [{ name: "here", labels: { zone: "a" }, nodeLabels: { n1: { rack: "r1" } } }] },
    });
    const wrong = [
      { name: "dc1", pools: [{ name: "here", labels: { zone: 1 }, nodeLabels: { n1: "r1", n2: { r: 7 } } }] },
    ];
    expect(problemsIn({ kind: "fleet", sites: wrong })).toEqual([
      "sites[0].pools[0].labels.zone: must be a name, got 1 (put it in quotes)",
      'sites[0].pools[0].nodeLabels.n1: must be a mapping like { rack: r1 }, got "r1"',
      "sites[0].pools[0].nodeLabels.n2: has a label r that must be a name, got 7 (put it in quotes)",
    ]);
  });

  it("reads how many nodes are kept as spares, and refuses to keep all of a simulated pool", () => {
    const withHotSpares = (hotSpares: number) => ({
      kind: "fleet",
      sites: [{ name: "dc1", pools: [{ ...pool, hotSpares }] }],
    });
    expect(documentIn(withHotSpares(3))).toMatchObject({ fleet: { pools: [{ name: "h100", hotSpares: 3 }] } });
    expect(problemsIn(withHotSpares(4))).toEqual([
      "sites[0].pools[0].hotSpares: must be below nodes (4), because otherwise all nodes would be spares",
    ]);
  });

  it("refuses pools that say what nothing would look at, or the same name twice", () => {
    const sites = [{ name: "dc1", pools: [{ name: "here", nodes: 3 }, pool, pool] }];
    expect(problemsIn({ kind: "fleet", sites })).toEqual([
      "sites[0].pools[0].nodes: cannot be declared for executor local, which finds the nodes itself",
      "sites[0].pools[2].name: names the pool h100 twice",
    ]);
  });
});

describe("between documents", () => {
  const team = (name: string, parent: string | null): HeadroomDocument => ({
    kind: "team",
    team: { name, parent, limit: {} },
  });
  const told = (documents: readonly HeadroomDocument[]): string[] =>
    checkDocuments(documents).map(({ document, path, message }) => `${document} ${pathText(path)}: ${message}`);

  it("tells teams that contain each other once, where the first of them is declared", () => {
    expect(told([team("x", "a"), team("a", "b"), team("b", "c"), team("c", "a")])).toEqual([
      "1 parent: teams are parents of each other: a → b → c → a",
    ]);
    expect(told([team("a", "a")])).toEqual(["0 parent: teams are parents of each other: a → a"]);
    expect(told([team("a", null), team("b", "a"), team("c", "elsewhere")])).toEqual([]);
  });

  it("tells levels of the fabric that neither the fleet nor a document has", () => {
    const workload = documentIn(train({ fabric: { within: "leef", slices: [{ workers: 1, within: "rail" }] } }));
    const fleet = documentIn({
      kind: "fleet",
      sites: [{ name: "dc1", fabric: ["spine", "leaf", "node"], pools: [{ name: "p" }] }],
    });
    const levels = (documents: readonly HeadroomDocument[], sites: readonly string[][]): string[] =>
      checkFabricLevels(documents, sites).map(
        ({ document, path, message }) => `${document} ${pathText(path)}: ${message}`,
      );
    expect(levels([fleet, workload], [["rail"]])).toEqual([
      "1 fabric.within: no site has the level leef; did you mean leaf? (there is rail, spine, leaf, node)",
    ]);
    expect(levels([workload], [["leef"]])).toEqual([
      "0 fabric.slices[0].within: no site has the level rail (there is leef, node)",
    ]);
    expect(levels([documentIn(train({ fabric: { within: "node" } }))], [])).toEqual([]);
    const scheduled = { kind: "schedule", name: "s", cron: "@hourly", workload: train({ fabric: { within: "leef" } }) };
    expect(levels([documentIn(scheduled)], [["leaf"]])).toEqual([
      "0 workload.fabric.within: no site has the level leef; did you mean leaf? (there is leaf, node)",
    ]);
    const antiAffinity = documentIn(train({ antiAffinity: { from: [{ set: "chat", within: "rail" }] } }));
    expect(levels([antiAffinity], [])).toEqual([
      "0 antiAffinity.from[0].within: no site has the level rail (there is node)",
    ]);
  });

  it("tells a preferred level that is wider than the required one", () => {
    const told = (within: string, prefer: string, sites: readonly string[][]): string[] =>
      checkFabricLevels([documentIn(train({ fabric: { within, prefer } }))], sites).map(
        ({ path, message }) => `${pathText(path)}: ${message}`,
      );
    expect(told("node", "spine", [["spine", "leaf"]])).toEqual([
      "fabric.prefer: must not be wider than within: one node is already required, and it is inside one spine",
    ]);
    expect(told("spine", "leaf", [["spine", "leaf"]])).toEqual([]);
    expect(told("leaf", "leaf", [["spine", "leaf"]])).toEqual([]);
    // One of the sites has both levels, in that order.
    expect(
      told("spine", "leaf", [
        ["spine", "leaf"],
        ["leaf", "spine"],
      ]),
    ).toEqual([]);
  });

  it("tells what is declared twice", () => {
    const workload = documentIn(train({}));
    expect(told([workload, team("a", null), workload])).toEqual([
      "2 name: the workload a of team default is declared twice",
    ]);
  });
});

describe("schedules", () => {
  const scheduled = (workload: object) => ({
    kind: "schedule",
    name: "nightly",
    cron: "0 20 * * *",
    concurrency: "forbid",
    workload: train(workload),
  });
  const read = (workload: object) => {
    const document = documentIn(scheduled(workload));
    if (document.kind !== "schedule") throw new Error(`read as ${document.kind}`);
    return document.schedule;
  };

  it.each<[object, object | undefined]>([
    [{ deadline: "12h" }, { deadlineMs: 43_200_000 }],
    [{ notBefore: "0s", deadline: "2027-03-02T08:00:00Z" }, { notBeforeMs: 0 }],
    [{ startWindow: { cheapest: "4h", latestStart: "8h" } }, { latestStartMs: 28_800_000 }],
    [{ startWindow: { cleanest: "4h" }, deadline: "1d" }, { deadlineMs: 86_400_000 }],
    [{ notBefore: "2027-03-01T08:00:00Z" }, undefined],
  ])("count from when they were due what is a duration: %j", (workload, fromDue) => {
    const found = read(workload);
    expect(found.fromDue).toEqual(fromDue);
    expect(schedule.parse(found)).toEqual(found);
    expect(documentIn(scheduleDocument(found))).toEqual({ kind: "schedule", schedule: found });
  });

  it.each<[object, string]>([
    [{ notBefore: "8h", deadline: "8h" }, "workload.deadline: must be later than notBefore, 8h"],
    [{ deadline: "8 hours" }, "workload.deadline: write an instant with its offset"],
    [{ deadline: "8h30" }, "workload.deadline: write a duration like"],
    [{ startWindow: { cheapest: "4h" } }, "workload.startWindow.latestStart: or a deadline is required"],
  ])("refuse %j", (workload, expected) => {
    expect(problemsIn(scheduled(workload))).toEqual([expect.stringContaining(expected)]);
  });

  it("are refused by the API where they say an instant twice, or the end of what waits for nothing", () => {
    const told = (workload: object, fromDue: object): string[] =>
      (schedule.safeParse({ ...read(workload), fromDue }).error?.issues ?? []).map(
        ({ path, message }) => `${path.join(".")}: ${message}`,
      );
    expect(told({ deadline: "2027-03-02T08:00:00Z" }, { deadlineMs: 1 })).toEqual([
      "fromDue: must not set a time that the workload itself sets",
    ]);
    expect(told({}, { notBeforeMs: 2, deadlineMs: 1 })).toEqual(["fromDue.deadlineMs: must be more than notBeforeMs"]);
    expect(told({}, { latestStartMs: 1 })).toEqual([
      "fromDue.latestStartMs: must be left out if the work does not wait for cheap or clean power",
    ]);
    expect(told({ startWindow: { cheapest: "4h" }, deadline: "8h" }, {})).toEqual([
      "startWindow: needs a latest start or a deadline: the cheapest or cleanest start is searched before that time",
    ]);
  });
});

describe("the JSON Schema", () => {
  it("knows every kind, closes every mapping and describes every field", () => {
    const kinds = documentJsonSchema()["oneOf"] as {
      properties: Record<string, Record<string, unknown>>;
      additionalProperties: unknown;
    }[];
    expect(kinds.map(({ properties }) => properties["kind"]?.["const"])).toEqual([
      "train",
      "batch",
      "serve",
      "fleet",
      "team",
      "maintenance",
      "reservation",
      "tariff",
      "schedule",
      "pipeline",
    ]);
    for (const { properties, additionalProperties } of kinds) {
      expect(additionalProperties).toBe(false);
      const undescribed = Object.keys(properties).filter(
        (field) => typeof properties[field]?.["description"] !== "string",
      );
      expect(undescribed).toEqual([]);
    }
  });
});
