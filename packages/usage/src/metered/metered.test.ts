import type { Event } from "@headroom/model";
import { describe, expect, it } from "vitest";
import { HourlyRows } from "../bill/charges.ts";
import { priceBook, priceDocument } from "../prices/price-documents.ts";
import { costAnswer } from "../report/cost-answer.ts";
import { costChanges } from "../report/cost-changes.ts";
import { CostReport } from "../report/cost-report.ts";
import { GatewayUsage, type GatewayRecord } from "./gateway-usage.ts";
import { StoreFold } from "./store-fold.ts";

const DAY_MS = 24 * 3_600_000;
const GIB = 1_073_741_824;
const documents = [
  {
    kind: "price",
    name: "s3",
    source: "storage",
    provider: "Cloud",
    store: "lake",
    from: "1970-01-02",
    perGibMonth: 0.73,
  },
  {
    kind: "price",
    name: "gpt",
    source: "tokens",
    provider: "Cloud",
    model: "chat",
    pool: "cloud",
    from: "1970-01-01",
    perMillionInput: 2,
    perMillionCachedInput: 1,
    perMillionOutput: 10,
  },
].map((each) => priceDocument.parse(each));
const book = priceBook(documents);
if ("problem" in book) throw new Error(book.problem);

const place = (store: string) => ({ store, uri: `s3://${store}/x`, state: "declared" as const });
const registered = (atMs: number): Event =>
  ({
    kind: "artifactRegistered",
    atMs,
    artifact: {
      kind: "model",
      team: "research",
      name: "chat",
      number: 1,
      bytes: 10 * GIB,
      places: [place("lake")],
      digest: null,
      inputs: [],
      actor: "ann",
    },
  }) as unknown as Event;
const changed = (atMs: number, change: object): Event =>
  ({
    kind: "artifactChanged",
    atMs,
    artifact: "model:research/chat",
    change,
    actor: "ann",
    reason: "",
  }) as unknown as Event;

const fold = (events: readonly Event[]): StoreFold => {
  const stores = new StoreFold();
  for (const event of events) stores.fold(event);
  return stores;
};
const range = { fromMs: 0, toMs: 10 * DAY_MS };

describe("bytes in stores", () => {
  it("count by day from registration to deletion, and again from the restoration", () => {
    const stores = fold([
      registered(1.5 * DAY_MS),
      changed(3 * DAY_MS, { kind: "delete", number: 1 }),
      changed(4 * DAY_MS, { kind: "restore", number: 1 }),
    ]);
    const lines = stores.lines(range, 4.25 * DAY_MS, book);
    expect(lines.map(({ dayMs, quantity, microUsd }) => [dayMs / DAY_MS, quantity, microUsd])).toEqual([
      [1, 120, 120_000],
      [2, 240, 240_000],
      [4, 60, 60_000],
    ]);
    expect(lines[0]).toMatchObject({ team: "research", subject: "model:research/chat@1", place: "lake", price: "s3" });
  });

  it("count in each store once, and not where they are missing", () => {
    const stores = fold([
      registered(0),
      changed(DAY_MS, { kind: "place", number: 1, place: place("tape") }),
      changed(DAY_MS, { kind: "place", number: 1, place: { ...place("lake"), uri: "s3://lake/y" } }),
      changed(2 * DAY_MS, { kind: "place", number: 1, place: { ...place("tape"), state: "missing" } }),
    ]);
    const lines = stores.lines({ fromMs: DAY_MS, toMs: 3 * DAY_MS }, 3 * DAY_MS, book);
    expect(lines.map(({ dayMs, place: store, quantity, price }) => [dayMs / DAY_MS, store, quantity, price])).toEqual([
      [1, "lake", 240, "s3"],
      [1, "tape", 240, ""],
      [2, "lake", 240, "s3"],
    ]);
  });
});

it("bytes that left the site of their store are lines of the workload that read them", () => {
  const submitted = { kind: "workloadSubmitted", atMs: 0, workloadId: "w1", spec: { team: "research", name: "train" } };
  const moved = {
    kind: "bytesTransferred",
    workloadId: "w1",
    attemptId: "w1.1",
    direction: "in",
    store: "lake",
    tookMs: 9,
  };
  const events = [
    submitted,
    { ...moved, atMs: DAY_MS, bytes: 2 * 1_073_741_824, egressMicroUsd: 180_000 },
    { ...moved, atMs: 1.5 * DAY_MS, bytes: 1_073_741_824, egressMicroUsd: 90_000, failed: true },
    { ...moved, atMs: 2 * DAY_MS, bytes: 1_073_741_824 },
  ] as unknown as Event[];
  expect(fold(events).lines(range, 4 * DAY_MS, book)).toMatchObject([
    {
      dayMs: DAY_MS,
      service: "egress",
      team: "research",
      subject: "train",
      place: "lake",
      quantity: 3,
      microUsd: 270_000,
    },
  ]);
});

const record = (own: Partial<GatewayRecord>): GatewayRecord => ({
  id: "r1",
  atMs: 5 * DAY_MS,
  team: "product",
  model: "chat",
  pool: "cloud",
  outcome: "completed",
  promptTokens: 1_000_000,
  completionTokens: 100_000,
  cachedTokens: 400_000,
  nanoUsd: 5_000_000,
  ...own,
});

describe("tokens of gateways", () => {
  it("cost the price of the provider where they were bought, and nothing further on the own fleet", () => {
    const usage = new GatewayUsage();
    usage.add(record({ id: "open", outcome: "open", completionTokens: 5 }));
    usage.add(record({ id: "open" }));
    usage.add(record({ id: "own", pool: "local" }));
    usage.add(
      record({ id: "cut", outcome: "open", promptTokens: 7, completionTokens: 1, cachedTokens: 0, nanoUsd: 0 }),
    );
    usage.endProcess();
    usage.add(record({ id: "running", outcome: "open" }));
    usage.leaveOpen();
    const lines = usage.lines(range, book);
    expect(
      lines.map((line) => [line.place, line.requestCount, line.quantity, line.microUsd, line.chargedMicroUsd]),
    ).toEqual([
      // 600,000 at $2, 400,000 cached at $1, 100,000 at $10 a million; and the cut stream.
      ["cloud", 2, 1_100_008, 2_600_024, 5_000],
      ["local", 1, 1_100_000, 0, 5_000],
    ]);
    const report = { by: "all", group: ["source", "team"], teams: null } as const;
    const answer = costAnswer({ hourly: new HourlyRows(), book, range }, report, lines);
    expect(answer.items.map(({ group, microUsd }) => [group, microUsd])).toEqual([[["tokens", "product"], 2_600_024]]);
    expect([answer.total.microUsd, answer.metered.length]).toEqual([2_600_024, 2]);
    const others = costAnswer({ hourly: new HourlyRows(), book, range }, { ...report, teams: new Set(["x"]) }, lines);
    expect([others.total.microUsd, others.metered]).toEqual([0, []]);
  });
});

it("lists the newest days of many lines, and of a day the most expensive, and counts all of them", () => {
  const lines = [0, 1, 2].flatMap((day) =>
    Array.from({ length: 3_000 }, (_, index) => ({
      dayMs: day * DAY_MS,
      service: "storage" as const,
      team: "research",
      subject: `model:research/m@${index}`,
      place: "lake",
      quantity: 1,
      requestCount: 0,
      price: "s3",
      provider: "Cloud",
      microUsd: index,
      chargedMicroUsd: 0,
      parts: [],
    })),
  );
  const question = { by: "all", group: ["team"], teams: null } as const;
  const { metered, total } = costAnswer({ hourly: new HourlyRows(), book, range }, question, lines);
  const ofDay = (day: number): readonly number[] =>
    metered.filter(({ dayMs }) => dayMs === day * DAY_MS).map(({ microUsd }) => microUsd);
  expect([0, 1, 2].map((day) => ofDay(day).length)).toEqual([0, 2_000, 3_000]);
  expect(Math.min(...ofDay(1))).toBe(1_000);
  expect(total.microUsd).toBe((3 * (3_000 * 2_999)) / 2);
});

it("changes no price of an accelerator-hour", () => {
  const report = new CostReport("day", ["team"]);
  const usage = new GatewayUsage();
  usage.add(record({ atMs: DAY_MS }));
  for (const line of usage.lines(range, book)) report.addMetered(line);
  const [tokens] = report.totals();
  if (tokens === undefined) throw new Error("the tokens have a price");
  const held = { ...tokens, periodStartMs: 0, microUsd: 1_000, meteredMicroUsd: 0, hours: 1 };
  const both = { ...tokens, microUsd: tokens.microUsd + 1_000, hours: 1 };
  expect(costChanges([held, both])?.changes).toMatchObject([{ beforeMicroUsd: 1_000, pricePart: 0 }]);
});
