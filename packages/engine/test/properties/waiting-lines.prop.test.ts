/**
 * The lines of waiting buckets that the queue keeps up to date give the order of a plain sort, and totals of them never rule out
 * a request that may free capacity.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { defaultPolicy, workloadId } from "@headroom/model";
import { runsOf, sliceOf } from "../../../../tools/testing/rotating.ts";
import { createEngine } from "../../src/index.ts";
import { Batch } from "../../src/batch/batch.ts";
import { headOrder } from "../../src/cluster/head-order.ts";
import type { QueueBucket } from "../../src/cluster/queue.ts";
import { wholeNeeded } from "../../src/cluster/request.ts";
import type { WaitingLines } from "../../src/cluster/waiting-lines.ts";
import type { World } from "../../src/cluster/world.ts";
import { worldOf } from "../../src/engine/engine.ts";
import { WaitingOrder } from "../../src/ordering/waiting-order.ts";
import { classesInLine } from "../../src/placement/classes-in-line.ts";
import { couldEverFit } from "../../src/placement/could-ever.ts";
import { preemptionStrategy } from "../../src/preemption/strategy.ts";
import { applied, command, node, pool, site, spec, team } from "../lab/make.ts";
import { Story } from "./play.ts";
import { worlds } from "./worlds.ts";

const headsOf = (buckets: readonly QueueBucket[]): readonly unknown[] =>
  buckets.map(({ waiting }) => waiting.first()?.id);

function walked(world: World, lines: WaitingLines, acceleratorsMax: number): readonly QueueBucket[] {
  const order = new WaitingOrder(lines, {
    compare: headOrder(world),
    takesPart: (bucket) => couldEverFit(world, bucket),
    team: null,
  });
  const buckets: QueueBucket[] = [];
  for (let bucket = order.first(acceleratorsMax); bucket !== null; bucket = order.first(acceleratorsMax)) {
    buckets.push(bucket);
    order.drop(bucket);
  }
  return buckets;
}

/** Compares the lines with the list of all waiting buckets. Returns the number of buckets. */
function compareOrders(world: World, lines: WaitingLines): number {
  const all = world.queue.waitingClasses();
  const sorted = classesInLine(world).toSorted(headOrder(world));
  expect(headsOf(walked(world, lines, Number.POSITIVE_INFINITY))).toEqual(headsOf(sorted));
  const small = sorted.filter(({ request }) => wholeNeeded(request) <= 2);
  expect(headsOf(walked(world, lines, 2))).toEqual(headsOf(small));
  expect(lines.acceleratorsMin).toBe(Math.min(...all.map(({ request }) => wholeNeeded(request))));
  expect(lines.durationMinMs).toBe(Math.min(...all.map(({ request }) => request.durationMs)));
  expect(lines.teamCount).toBe(new Set(all.map(({ request }) => request.team)).size);
  return sorted.length;
}

/** Returns the number of reasons that the totals rule out. */
function compareEligibility(world: World, nowMs: number): number {
  const strategy = preemptionStrategy(world);
  const ruledOut = (["migrated", "reclaimed", "preempted"] as const).filter(
    (reason) => strategy.mayAnyBeEligible?.(world, reason) === false,
  );
  const batch = new Batch(world, nowMs);
  for (const reason of ruledOut)
    for (const bucket of classesInLine(world)) expect(strategy.isEligible(batch, bucket, reason)).toBe(false);
  return world.evictable.size === 0 ? 0 : ruledOut.length;
}

describe("lines of waiting buckets", () => {
  it("are in the order of a plain sort, with the totals of a plain count", () => {
    let sortedCount = 0;
    let ruledOutCount = 0;
    fc.assert(
      fc.property(worlds, fc.boolean(), (world, isPredicted) => {
        const backfill = { protectedStarts: 2, assumedWalltimeMs: 2000, ...(isPredicted ? { predictFrom: 1 } : {}) };
        const engine = createEngine();
        const story = new Story();
        let nowMs = 0;
        engine.receive(story.capacityEpoch({ ...world, policy: { ...world.policy, backfill } }), nowMs);
        engine.advance();
        for (const step of world.steps) {
          nowMs += step.waitMs;
          story.remember(engine.receive(story.inputs(step, engine), nowMs));
          engine.advance();
          const inner = worldOf(engine);
          const { lines } = inner.queue;
          if (lines === null) continue;
          if (compareOrders(inner, lines) > 1) sortedCount++;
          ruledOutCount += compareEligibility(inner, nowMs);
        }
      }),
      runsOf(600),
    );
    // Too few orders would make this comparison vacuous.
    const { least } = sliceOf({ size: 600 });
    expect(sortedCount).toBeGreaterThanOrEqual(least(30));
    expect(ruledOutCount).toBeGreaterThanOrEqual(least(30));
  });

  it("are right while many equal requests come, go and change their priority", () => {
    const move = fc.record({ at: fc.nat(30), workers: fc.integer({ min: 1, max: 3 }), priority: fc.nat(3) });
    fc.assert(
      fc.property(fc.array(move, { minLength: 20, maxLength: 60 }), (moves) => {
        const engine = createEngine();
        const fleet = { sites: [site], pools: [pool("H100")], teams: [team("a")] };
        const inputs = [
          applied(fleet),
          command({ kind: "setPolicy", policy: defaultPolicy }),
          { kind: "nodeSeen", node: node("n1", "H100", { acceleratorCount: 4 }) } as const,
        ];
        engine.receive(inputs, 0);
        engine.advance();
        moves.forEach(({ at, workers, priority }, index) => {
          const id = workloadId(`w${at + 1}`);
          const known = engine.state.workloads.has(id);
          const gang = { workers, accelerators: 4 };
          const submits = {
            kind: "submitWorkload",
            spec: spec(`job-${index}`, { team: "a", priority, gang }),
          } as const;
          const changes = { kind: "changeWorkload", workloadId: id, changes: { priority } } as const;
          const stops = { kind: "stopWorkload", workloadId: id } as const;
          engine.receive([command(!known ? submits : index % 2 === 0 ? changes : stops)], index);
          engine.advance();
          const world = worldOf(engine);
          compareOrders(world, world.queue.lines as WaitingLines);
        });
      }),
      runsOf(100),
    );
  });
});
