import { operationNames, operations, problem } from "@headroom/protocol";
import type { Operation } from "@headroom/protocol";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runsOf, sliceOf } from "../../../../tools/testing/rotating.ts";
import { removeHome, startLive, temporaryHome } from "./testing/live-control-plane.ts";
import type { LiveControlPlane } from "./testing/live-control-plane.ts";

let live: LiveControlPlane;
beforeAll(async () => {
  live = await startLive(temporaryHome());
  await live.client.submitWorkload({
    kind: "batch",
    name: "seed",
    run: "true",
    taskCount: 5,
    gang: { accelerators: 99 },
  });
  await live.client.apply({ teams: [{ name: "a/b", parent: "a" }, { name: "a" }] });
});
afterAll(async () => {
  await live.close();
  removeHome(live.home);
});

const number = fc.oneof(
  fc.integer(),
  fc.double(),
  fc.constantFrom(-1, 0, 1, 0.5, 1e9, 2 ** 53, -(2 ** 53), 1e308, Number.MAX_SAFE_INTEGER),
);
const text = fc.oneof(
  fc.string(),
  fc.string({ unit: "binary" }),
  fc.constantFrom(
    "",
    "a",
    "a/b",
    "w1",
    "default",
    "fifo",
    "__proto__",
    "constructor",
    "\u0000",
    "../..",
    "\uD800",
    "x".repeat(300),
  ),
);
const anything = fc.oneof(fc.jsonValue(), number, text);

/** A valid body in which a few values are replaced, removed or added. Most of these bodies pass the first check. */
function nearly(right: object): fc.Arbitrary<unknown> {
  const change = fc.record({
    place: fc.nat(40),
    what: fc.constantFrom("replace", "remove", "add"),
    key: text,
    value: anything,
  });
  return fc.array(change, { maxLength: 3 }).map((changes) => {
    const body: unknown = structuredClone(right);
    for (const { place, what, key, value } of changes) {
      const places = placesIn(body);
      const [holder, name] = places[place % places.length] ?? [];
      if (holder === undefined || name === undefined) continue;
      if (what === "remove") delete holder[name];
      else
        Object.defineProperty(holder, what === "add" ? key : name, {
          value,
          enumerable: true,
          configurable: true,
          writable: true,
        });
    }
    return body;
  });
}

type Holder = Record<string, unknown>;
function placesIn(value: unknown): [Holder, string][] {
  if (typeof value !== "object" || value === null) return [];
  const holder = value as Holder;
  return Object.keys(holder).flatMap((key): [Holder, string][] => [[holder, key], ...placesIn(holder[key])]);
}

const spec = {
  kind: "train",
  name: "fuzz",
  team: "a/b",
  run: "true",
  env: { A: "1" },
  gang: { workers: 1, accelerators: 99, coresMilli: 1, memoryMib: 1 },
  acceleratorTypes: ["slot"],
  walltimeMs: 1_000,
  retries: { max: 1, backoffMs: 1, backoffMaxMs: 1 },
};
const site = { name: "s", fabricLevels: ["leaf"] };
const pool = { name: "p", site: "s", executor: "simulated", acceleratorType: "T", priceMicroUsdPerHour: 1 };
const bodies: Readonly<Record<string, object>> = {
  submitWorkload: spec,
  apply: {
    sites: [site],
    pools: [pool],
    teams: [{ name: "t", parent: "a", limit: { T: 1 } }],
    workloads: [{ ...spec, name: "applied" }],
  },
  drainNode: { running: "wait" },
  noticeNode: { inMs: 60_000, reason: "spot" },
  setPolicy: {
    policy: { name: "p", order: ["priority"], whenHeadBlocked: "skip", placement: "pack", exceedsFleet: "hold" },
  },
};

const drawn = fc.constantFrom(...operationNames, "submitWorkload" as const).chain((name) =>
  fc.record({
    name: fc.constant(name),
    params: fc.array(text, { minLength: 2, maxLength: 2 }),
    query: fc.dictionary(fc.oneof(fc.constantFrom(...Object.keys(operations[name].query.shape), "x"), text), text, {
      maxKeys: 2,
    }),
    key: fc.option(fc.constantFrom("k1", "k2", "k3")),
    body: fc.oneof({ weight: 4, arbitrary: nearly(bodies[name] ?? {}) }, { weight: 1, arbitrary: anything }),
  }),
);

/** Most operations need submitted workloads, so one request in twenty is a valid submission. */
const right = fc.constant({ name: "submitWorkload" as const, params: [], query: {}, key: null, body: spec });
const request = fc.oneof({ weight: 19, arbitrary: drawn }, { weight: 1, arbitrary: right });

/** A URL cannot contain lone surrogates. */
const encoded = (value: string): string => encodeURIComponent(value.toWellFormed());

describe("requests made at random from the schemas", () => {
  it("are answered or refused, and never find a bug", async () => {
    const statuses = new Map<number, number>();
    await fc.assert(
      fc.asyncProperty(request, async ({ name, params, query, key, body }) => {
        const operation: Operation = operations[name];
        let next = 0;
        const path = operation.path.replace(/\{\w+\}/g, () => encoded(params[next++] ?? "") || "w1");
        const pairs = Object.entries(query).map(([field, value]) => `${encoded(field)}=${encoded(value)}`);
        const abort = new AbortController();
        const response = await live.request(`${path}?${pairs.join("&")}`, {
          method: operation.method,
          headers: { "content-type": "application/json", ...(key === null ? {} : { "idempotency-key": key }) },
          ...(operation.body === null ? {} : { body: JSON.stringify(body) }),
          signal: abort.signal,
        });
        statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
        if (response.status >= 500)
          expect.fail(`${response.status} ${await response.text()}; logged: ${live.complaints.join("; ")}`);
        if (response.status >= 400) problem.parse(await response.json());
        else if (operation.stream) abort.abort();
        else if (operation.bytes) expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(0);
        else operation.response.parse(await response.json());
      }),
      runsOf(1_500),
    );
    expect(live.complaints).toEqual([]);
    // If no request were accepted, the test would cover only the first check.
    const { least } = sliceOf({ size: 1_500 });
    expect(statuses.get(200)).toBeGreaterThan(least(50));
    expect(statuses.get(422)).toBeGreaterThan(least(50));
    const created = statuses.get(201) ?? 0;
    expect(created).toBeGreaterThan(least(10));
  });

  it("left a journal that starts again", async () => {
    const { sequence, chain } = await live.client.status();
    await live.close();
    live = await startLive(live.home);
    const after = await live.client.status();
    expect(after.sequence).toBeGreaterThanOrEqual(sequence);
    expect(after.chain.length).toBe(chain.length);
  });
});
