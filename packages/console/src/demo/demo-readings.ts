/**
 * Readings of simulated accelerators. They are derived from the reports of the work on them, as a vendor's tool would
 * measure it.
 */
import { nodeUse } from "@headroom/explain";
import { forEachRange } from "@headroom/model";
import type { AttemptId, NodeId } from "@headroom/model";
import type { Engine } from "@headroom/engine";
import { findAccelerator } from "@headroom/perf";
import { METRICS_POINTS_DEFAULT } from "@headroom/protocol";
import type { AcceleratorHistory, AcceleratorReading, NodeReadings, NodeTelemetryQuery } from "@headroom/protocol";
import { drawBelow } from "@headroom/sim";
import { AcceleratorReadings, AcceleratorSeries, type NewestReports } from "@headroom/views";

/** Sampling interval in ms, longer than on a real fleet: the history of every node is kept in the page's memory. */
const SAMPLE_EVERY_MS = 600_000;
const IDLE_WATTS = 70;
const BUSY_WATTS = 560;
const IDLE_C = 31;
const BUSY_C = 34;
const IDLE_MEMORY_MIB = 4;
/** Utilization that is assumed for work that has not reported yet, and for tasks of arrays, which never report. */
const UNREPORTED_BUSY_MILLI = 900;
const UNREPORTED_MEMORY_MIB = 48 * 1024;

export class DemoReadings {
  readonly #readings = new AcceleratorReadings();
  readonly #series = new Map<string, AcceleratorSeries[]>();
  #sampledAtMs = Number.NEGATIVE_INFINITY;

  now(engine: Engine, newest: NewestReports): AcceleratorReadings {
    const nodes = [...engine.state.nodes.keys()].map((node) => readingsOf(engine, node, newest));
    this.#readings.record(nodes, engine);
    return this.#readings;
  }

  sampleIfDue(engine: Engine, newest: NewestReports): void {
    const { nowMs } = engine.state;
    if (nowMs - this.#sampledAtMs < SAMPLE_EVERY_MS) return;
    this.#sampledAtMs = nowMs;
    for (const { node, accelerators } of this.now(engine, newest).all) {
      const series = this.#series.get(node) ?? [];
      this.#series.set(node, series);
      for (const { index, fault: _fault, ...values } of accelerators)
        (series[index] ??= new AcceleratorSeries()).add(nowMs, values);
    }
  }

  history(node: string, { points = METRICS_POINTS_DEFAULT, fromMs, toMs }: NodeTelemetryQuery): AcceleratorHistory[] {
    return (this.#series.get(node) ?? []).map((series, index) => series.view(index, { points, fromMs, toMs }));
  }
}

/** Memory that is assumed for a type missing in the catalogue: that of an H100. */
const MEMORY_GIB_UNKNOWN = 80;

const memoryMibOf = (acceleratorType: string): number =>
  (findAccelerator(acceleratorType)?.memoryGib ?? MEMORY_GIB_UNKNOWN) * 1024;

function readingsOf(engine: Engine, node: NodeId, newest: NewestReports): NodeReadings {
  const { state } = engine;
  const atMs = state.nowMs;
  const known = state.nodes.get(node);
  if (known === undefined || known.health === "lost")
    return { node, source: "simulated", atMs, problem: "the node is lost", accelerators: [] };
  const holders = new Map<number, AttemptId>();
  for (const attemptId of nodeUse(engine, node).attempts)
    for (const worker of state.attempts.get(attemptId)?.workers ?? [])
      if (worker.node === node)
        forEachRange(worker.accelerators, (first, last) => {
          for (let index = first; index <= last; index++) holders.set(index, attemptId);
        });
  const memoryMib = memoryMibOf(known.acceleratorType);
  const minute = Math.floor(atMs / 60_000);
  const accelerators = Array.from({ length: known.acceleratorCount }, (_, index): AcceleratorReading => {
    const holder = holders.get(index);
    const reported = holder === undefined ? null : (newest.get(holder)?.utilization ?? null);
    const computes = holder !== undefined && state.attempts.get(holder)?.phase === "running";
    const busy = reported?.busyMilli ?? (computes ? UNREPORTED_BUSY_MILLI : 0);
    const noise = drawBelow({ seed: index, sequence: minute, purpose: `reading ${node}` }, 100);
    const busyMilli = busy === 0 ? 0 : Math.min(1000, busy - 50 + noise);
    const used = reported?.peakMemoryMib ?? (computes ? UNREPORTED_MEMORY_MIB : IDLE_MEMORY_MIB);
    return {
      index,
      busyMilli,
      memoryUsedMib: used,
      memoryTotalMib: memoryMib,
      temperatureC: IDLE_C + Math.round((BUSY_C * busyMilli) / 1000) + (noise % 3),
      powerMilliwatts: 1000 * (IDLE_WATTS + Math.round((BUSY_WATTS * busyMilli) / 1000)),
      errorCount: 0,
      fault: null,
    };
  });
  return { node, source: "simulated", atMs, problem: null, accelerators };
}
