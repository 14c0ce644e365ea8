/**
 * Every stated change really starts the work, and no smaller change of its kind does. If no change of a kind is stated,
 * none of that kind starts the work. `HEADROOM_RUNS=10` runs ten times as many cases.
 */
import { describe, expect, it } from "vitest";
import { CHANGE_KINDS, smallestChanges } from "../../src/index.ts";
import type { ChangeKind } from "../../src/index.ts";
import { madeReal } from "./made-real.ts";
import { pendingCase } from "./pending-cases.ts";
import type { PendingCase } from "./pending-cases.ts";
import { everyChange, smallerThan } from "./smaller.ts";

const runs = Number(process.env["HEADROOM_RUNS"] ?? 1);
/**
 * Number of cases. Each kind then occurs in at least one case of twenty, within two standard deviations; more with
 * `HEADROOM_RUNS`.
 */
const CASES = 2000 * runs;
/** Number of cases in which every smaller change is tried. */
const BRUTE_FORCE_CASES = 1600 * runs;

function* cases(count: number): Generator<PendingCase> {
  let given = 0;
  for (let seed = 1; given < count; seed++) {
    const found = pendingCase(seed);
    if (found === null) continue;
    given++;
    yield found;
  }
}

const specOf = ({ engine, workloadId }: PendingCase) => {
  const workload = engine.state.workloads.get(workloadId);
  if (workload === undefined) throw new Error(`no workload ${workloadId}`);
  return workload.spec;
};

describe("the smallest change", () => {
  it("really starts the work, and every kind comes up", () => {
    const counts = new Map<ChangeKind, number>();
    for (const found of cases(CASES)) {
      const before = found.engine.digest();
      for (const { change, start } of smallestChanges(found.engine, found.workloadId)) {
        counts.set(change.kind, (counts.get(change.kind) ?? 0) + 1);
        const wanted = start.atOnce ? ["starts"] : ["starts", "startsAfterOthersLeft"];
        expect(wanted, `seed ${found.seed}: ${JSON.stringify(change)}`).toContain(madeReal(found, change));
      }
      expect(found.engine.digest(), `seed ${found.seed}: the live state was touched`).toBe(before);
    }
    const rare = CHANGE_KINDS.filter((kind) => (counts.get(kind) ?? 0) < 0.05 * CASES);
    const shares = CHANGE_KINDS.map((kind) => `${kind} ${(((counts.get(kind) ?? 0) * 100) / CASES).toFixed(1)}%`).join(
      ", ",
    );
    expect(rare, shares).toEqual([]);
    if (runs > 1) console.info(`${CASES} cases: ${shares}`);
  });

  it("is the smallest of its kind, and kinds that are not stated have none", () => {
    for (const found of cases(BRUTE_FORCE_CASES)) {
      const stated = smallestChanges(found.engine, found.workloadId);
      for (const { change } of stated)
        for (const smaller of smallerThan(found.engine, change))
          expect(
            madeReal(found, smaller),
            `seed ${found.seed}: ${JSON.stringify(smaller)} is smaller than ${JSON.stringify(change)}`,
          ).toBe("waits");
      const kinds = new Set(stated.map(({ change }) => change.kind));
      for (const other of everyChange(found.engine, specOf(found)))
        if (!kinds.has(other.kind))
          expect(madeReal(found, other), `seed ${found.seed}: ${JSON.stringify(other)} was not stated`).toBe("waits");
    }
  });
});
