import { describe, expect, it } from "vitest";
import { draw } from "@headroom/model";
import { checkFeed, type DefectClass, type FeedRow } from "./check-feed.ts";

const DAY_MS = 86_400_000;
const limits = { staleAfterMs: 30 * DAY_MS, nowMs: null };
const START_MS = 1_790_000_000_000;

const providers = ["alpha", "beta", "gamma", "delta"];
const models: readonly (readonly [string, number])[] = [
  ["H100-SXM-80GB", 2.8],
  ["H200-SXM-141GB", 3.6],
  ["B200-SXM-180GB", 5.5],
  ["A100-SXM-80GB", 1.7],
  ["L40S-48GB", 1],
];
const counts = [1, 2, 4, 8];
const regions = 8;

/** A feed without defects: prices differ by provider, region and chance. */
function cleanFeed(seed: number): FeedRow[] {
  const rows: FeedRow[] = [];
  const part = (purpose: string, index: number): number => draw(seed, index, purpose) / 2 ** 32;
  for (const [p, provider] of providers.entries())
    for (const [accelerator, usual] of models)
      for (const count of counts)
        for (let region = 0; region < regions; region++) {
          const index = rows.length;
          const list = usual * (0.8 + 0.5 * p) * (0.95 + 0.2 * part(`region ${provider}`, region));
          const spot = list * (0.25 + 0.5 * part("spot", index));
          const hasSpot = part("has spot", index) < 0.8;
          const text = (price: number): string => price.toFixed(4);
          rows.push({
            line: index + 2,
            provider,
            instance: `${accelerator}.${count}`,
            region: `${provider}-${region}`,
            accelerator,
            accelerators: String(count),
            onDemand: text(list * count),
            spot: hasSpot ? text(spot * count) : "",
            onDemandPerAccelerator: text(list),
            spotPerAccelerator: hasSpot ? text(spot) : "",
            unit: "",
            note: "",
            atMs: START_MS + Math.floor(part("age", index) * 20 * DAY_MS),
          });
        }
  return rows;
}

const scaled = (text: string, factor: number): string => (text === "" ? "" : String(Number(text) * factor));
const scaledList = (row: FeedRow, factor: number): FeedRow => ({
  ...row,
  onDemand: scaled(row.onDemand, factor),
  onDemandPerAccelerator: scaled(row.onDemandPerAccelerator, factor),
});

/** One way of spoiling a row for each class, or several. Rows that it does not fit are not chosen. */
const plants: readonly (readonly [DefectClass, (row: FeedRow) => FeedRow | null])[] = [
  ["missing", (row) => ({ ...row, onDemand: "", spot: "", onDemandPerAccelerator: "", spotPerAccelerator: "" })],
  ["not-a-number", (row) => ({ ...row, onDemand: "N/A", onDemandPerAccelerator: "" })],
  ["not-a-number", (row) => ({ ...row, onDemandPerAccelerator: row.onDemandPerAccelerator.replace(".", ",") })],
  ["negative", (row) => ({ ...row, onDemand: `-${row.onDemand}` })],
  ["zero", (row) => ({ ...row, onDemand: "0.00", onDemandPerAccelerator: "0" })],
  ["zero", (row) => (row.spot === "" ? null : { ...row, spot: "0", spotPerAccelerator: "0.0" })],
  ["spot-equals-list", (row) => ({ ...row, spot: row.onDemand, spotPerAccelerator: row.onDemandPerAccelerator })],
  [
    "spot-above-list",
    (row) => ({
      ...row,
      spot: scaled(row.onDemand, 1.12),
      spotPerAccelerator: scaled(row.onDemandPerAccelerator, 1.12),
    }),
  ],
  ["stale", (row) => ({ ...row, atMs: START_MS - 45 * DAY_MS })],
  // The price of the node in the column of one accelerator, and the other way round.
  ["unit-error", (row) => (row.accelerators === "1" ? null : { ...row, onDemandPerAccelerator: row.onDemand })],
  ["unit-error", (row) => (row.accelerators === "1" ? null : { ...row, onDemand: row.onDemandPerAccelerator })],
  ["unit-error", (row) => (row.accelerators === "8" ? scaledList(row, 8) : null)],
  ["unit-error", (row) => scaledList(row, 730)],
  ["unit-error", (row) => scaledList(row, 100)],
  ["unit-error", (row) => ({ ...row, unit: "month" })],
  ["host-price-missing", (row) => ({ ...row, note: "accelerator only, host not added" })],
  ["host-price-missing", (row) => ({ ...row, host: "" })],
  ["host-price-missing", (row) => scaledList(row, 0.45)],
];

describe("a feed", () => {
  it.each([1, 2, 3, 4, 5])(
    "with seed %d: every planted defect is found, at most one in a hundred sound rows is accused",
    (seed) => {
      const rows = cleanFeed(seed);
      expect(checkFeed(rows, limits).filter(({ defects }) => defects.length > 0)).toEqual([]);
      const expected = new Map<number, DefectClass>();
      for (const [index, [kind, spoil]] of plants.entries())
        for (let step = 0, planted = 0; planted < 2; step++) {
          const at = draw(seed, index * 1_000 + step, "place") % rows.length;
          const row = rows[at];
          const spoilt = row === undefined || expected.has(row.line) ? null : spoil(row);
          if (spoilt === null) continue;
          rows[at] = spoilt;
          expected.set(spoilt.line, kind);
          planted++;
        }
      const copied = rows.find(({ line }) => !expected.has(line));
      if (copied !== undefined) rows.push({ ...copied, line: 9_999 });
      expected.set(9_999, "duplicate");
      const verdicts = checkFeed(rows, limits);
      const found = new Map(verdicts.map(({ row, defects }) => [row.line, defects.map((defect) => defect.class)]));
      for (const [line, kind] of expected)
        expect([line, kind, found.get(line)?.includes(kind)]).toEqual([line, kind, true]);
      const accused = verdicts.filter(({ row, defects }) => defects.length > 0 && !expected.has(row.line));
      expect(accused.length).toBeLessThanOrEqual(rows.length * 0.01);
    },
  );

  it("has no price where a defect is, and keeps the others", () => {
    const [row] = cleanFeed(1);
    if (row === undefined) throw new Error("no row");
    const at = (changes: Partial<FeedRow>): readonly (number | null)[] => {
      const [verdict] = checkFeed(
        [
          {
            ...row,
            spot: "1.0",
            spotPerAccelerator: "1.0",
            onDemand: "2.5",
            onDemandPerAccelerator: "2.5",
            ...changes,
          },
        ],
        limits,
      );
      return [verdict?.onDemand ?? null, verdict?.spot ?? null];
    };
    expect(at({})).toEqual([2.5, 1]);
    expect(at({ spot: "2.5", spotPerAccelerator: "2.5" })).toEqual([2.5, null]);
    expect(at({ spot: "3", spotPerAccelerator: "3" })).toEqual([null, null]);
    expect(at({ onDemand: "0", onDemandPerAccelerator: "" })).toEqual([null, 1]);
    const twice = checkFeed([row, { ...row, line: 3, onDemand: "9.0", onDemandPerAccelerator: "9.0" }], limits);
    expect(twice.map(({ onDemand, defects }) => [onDemand, defects.length])).toEqual([
      [null, 0],
      [null, 1],
    ]);
  });
});
