/**
 * Every stated change really starts the work, and no smaller change of its kind does. If no change of a kind is stated,
 * none of that kind starts the work.
 */
import { describe, expect, it } from "vitest";
import { sliceOf } from "../../../../tools/testing/rotating.ts";
import { CHANGE_KINDS, smallestChanges } from "../../src/index.ts";
import type { ChangeKind } from "../../src/index.ts";
import { madeReal } from "./made-real.ts";
import { pendingCase } from "./pending-cases.ts";
import type { PendingCase } from "./pending-cases.ts";
import { everyChange, smallerThan } from "./smaller.ts";

/** Number of seeds of the whole sample; nine of ten give a case. */
const SIZE = 2200;
/** Every kind of change occurs in one case of twenty. */
const CASES_OF_EACH_KIND = 100;
const { seeds, share, least } = sliceOf({ size: SIZE, parts: 37 });

function* cases(): Generator<PendingCase> {
  for (const seed of seeds) {
    const found = pendingCase(seed);
    if (found !== null) yield found;
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
    let caseCount = 0;
    for (const found of cases()) {
      caseCount++;
      const before = found.engine.digest();
      for (const { change, start } of smallestChanges(found.engine, found.workloadId)) {
        counts.set(change.kind, (counts.get(change.kind) ?? 0) + 1);
        const wanted = start.atOnce ? ["starts"] : ["starts", "startsAfterOthersLeft"];
        expect(wanted, `seed ${found.seed}: ${JSON.stringify(change)}`).toContain(madeReal(found, change));
      }
      expect(found.engine.digest(), `seed ${found.seed}: the live state was touched`).toBe(before);
    }
    const rare = CHANGE_KINDS.filter((kind) => (counts.get(kind) ?? 0) < least(CASES_OF_EACH_KIND));
    const shares = CHANGE_KINDS.map(
      (kind) => `${kind} ${(((counts.get(kind) ?? 0) * 100) / caseCount).toFixed(1)}%`,
    ).join(", ");
    expect(caseCount).toBeGreaterThan(seeds.length / 2);
    expect(rare, shares).toEqual([]);
    if (share > 1) console.info(`${caseCount} cases: ${shares}`);
  });

  it("is the smallest of its kind, and kinds that are not stated have none", () => {
    for (const found of cases()) {
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
