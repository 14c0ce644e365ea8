/** On a fleet without other work, a workload starts exactly at its stated earliest start, whatever windows exist. */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { CalendarEntry, Input } from "@headroom/model";
import { Drive, applied, command, node, pool, site, spec } from "@headroom/engine/testing";
import { EarliestStarts } from "../src/index.ts";

const MINUTE_MS = 60_000;
const TYPES = ["A100", "H100"];
const NODES = ["a1", "a2", "h1", "h2", "h3"].map((id) =>
  node(id, id.startsWith("a") ? "A100" : "H100", { acceleratorCount: 4 }),
);

/** Fewer windows than the maximum number of ends that are tried. */
const calendar = fc
  .array(
    fc.record({
      nodes: fc.subarray(
        NODES.map(({ id }) => id),
        { minLength: 1 },
      ),
      fromMin: fc.oneof(fc.constant(0), fc.nat({ max: 120 })),
      lastsMin: fc.integer({ min: 1, max: 90 }),
    }),
    { maxLength: 14 },
  )
  .map((windows) =>
    windows.map(({ nodes, fromMin, lastsMin }, index): CalendarEntry => {
      const times = { startMs: fromMin * MINUTE_MS, endMs: (fromMin + lastsMin) * MINUTE_MS };
      return { kind: "maintenance", name: `window-${index}`, nodes, ...times };
    }),
  );

const work = fc
  .record({
    gang: fc.record({ workers: fc.integer({ min: 1, max: 3 }), accelerators: fc.integer({ min: 1, max: 4 }) }),
    acceleratorTypes: fc.subarray(TYPES),
    walltimeMs: fc.integer({ min: 1, max: 90 }).map((minutes) => minutes * MINUTE_MS),
  })
  .map((asked) => spec("asked", asked));

/** Wakes the engine until an attempt runs. */
function passToStart(drive: Drive): void {
  for (let wake = drive.engine.nextWakeAtMs(); wake !== null; wake = drive.engine.nextWakeAtMs()) {
    if (drive.engine.state.attempts.size > 0) return;
    drive.nowMs = wake;
    drive.receive({ kind: "tick" });
  }
}

it("beside windows alone, work starts when it is said to at the earliest", () => {
  fc.assert(
    fc.property(calendar, work, fc.nat({ max: 100 }), (windows, asked, afterMin) => {
      const drive = new Drive();
      const seen = NODES.map((each): Input => ({ kind: "nodeSeen", node: each }));
      drive.receive(applied({ sites: [site], pools: TYPES.map(pool) }), ...seen);
      drive.receive(applied({ calendar: windows }));
      drive.passTo(afterMin * MINUTE_MS);
      // The capacity of two nodes.
      const { workers, accelerators } = asked.gang;
      fc.pre(workers * accelerators <= 8 || asked.acceleratorTypes.join() !== "A100");
      drive.receive(command({ kind: "submitWorkload", spec: asked }));
      const [workload] = drive.engine.state.workloads.values();
      const isThere = drive.engine.state.attempts.size > 0;
      const saidMs = isThere ? drive.nowMs : new EarliestStarts(drive.engine, drive.nowMs).of(workload!);
      passToStart(drive);
      expect(drive.engine.state.attempts.size).toBe(1);
      expect(saidMs).toBe(drive.nowMs);
    }),
  );
});
