/** A round that was tried and taken back leaves nothing: indexes, state and what is decided next are as if it had not been. */
import { describe, expect, it } from "vitest";
import { forkEngine, takeInOnly, tryFor, tryInputs, worldOf } from "../../src/engine.ts";
import type { Engine, Event, Input } from "../../src/index.ts";
import { Findings } from "../../src/verify/findings.ts";
import { checkIndexes } from "../../src/verify/index-checks.ts";
import { pendingCase } from "./pending-cases.ts";

const SEEDS = 600;

const exitsOf = ({ state }: Engine, count: number): readonly Input[] =>
  [...state.attempts.values()].slice(0, count).map(({ id, workers }) => ({
    kind: "attemptExited",
    attemptId: id,
    exits: workers.map((_, worker) => ({ kind: "exited", worker, code: 0 })),
  }));

function indexFindings(engine: Engine, nowMs: number): readonly string[] {
  const findings = new Findings();
  checkIndexes(findings, worldOf(engine), nowMs);
  return findings.list;
}

describe("a round that was tried", () => {
  it("is taken back whole", () => {
    const kinds = new Set<Event["kind"]>();
    let count = 0;
    for (let seed = 1; seed <= SEEDS; seed++) {
      const found = pendingCase(seed);
      if (found === null) continue;
      const { engine, workloadId, nowMs } = found;
      const exits = exitsOf(engine, 1 + (seed % 3));
      const [tried, other] = [forkEngine(engine), forkEngine(engine)];
      takeInOnly(other, exits, nowMs);
      const { taken, events, takeBack } = tryFor(seed % 2 === 0 ? workloadId : null, tried, exits, nowMs);
      if (!takeBack()) continue;
      count++;
      for (const { kind } of events.slice(taken.length)) kinds.add(kind);
      // A fork knows nothing of what has ended: that is all that is found, here as there.
      expect(indexFindings(tried, nowMs), `seed ${seed}`).toEqual(indexFindings(other, nowMs));
      expect(tried.digest(), `seed ${seed}`).toBe(other.digest());
      expect([...worldOf(tried).state.promises.keys()]).toEqual([...worldOf(other).state.promises.keys()]);
      expect(tryInputs(tried, [], nowMs).events, `seed ${seed}`).toEqual(tryInputs(other, [], nowMs).events);
    }
    expect(count).toBeGreaterThan(SEEDS / 2);
    for (const kind of ["gangPlaced", "placePromised", "attemptStopRequested", "evictionPlanned"] as const)
      expect(kinds).toContain(kind);
  });
});
