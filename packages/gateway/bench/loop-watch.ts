/**
 * Records when a process did not run its event loop, and why: the thread waited for a processor, the garbage collector ran, or
 * other code did. Imported with `--import`, it watches the process that it is imported into, and writes the periods to the
 * file `HEADROOM_BENCH_LATE` when the process ends. It uses nothing of the watched program.
 */
import { openSync, readSync, writeFileSync } from "node:fs";
import { PerformanceObserver } from "node:perf_hooks";

export interface Span {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** A period in which the event loop did not run, on the clock of `monotonicMs`. */
export interface LateSpan extends Span {
  /** Time that the thread had a processor, and that it was ready to run and had none. 0 where the system does not tell. */
  readonly ranMs: number;
  readonly waitedMs: number;
  readonly collectedMs: number;
}

/** Interval of a timer. If the timer fires much too late, the loop was busy, or its thread had no processor. */
const PULSE_MS = 2;
const PULSE_LATE_MS = 3;

/** Milliseconds of CLOCK_MONOTONIC: comparable between processes of one machine. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

export class LoopWatch {
  readonly #late: Omit<LateSpan, "collectedMs">[] = [];
  readonly #collections: Span[] = [];
  readonly #observer: PerformanceObserver;

  constructor() {
    const offsetMs = monotonicMs() - performance.now();
    this.#observer = new PerformanceObserver((list) => {
      for (const { startTime, duration } of list.getEntries())
        this.#collections.push({ fromMs: offsetMs + startTime, untilMs: offsetMs + startTime + duration });
    });
    this.#observer.observe({ entryTypes: ["gc"] });
    let lastMs = monotonicMs();
    let last = scheduled();
    setInterval(() => {
      const nowMs = monotonicMs();
      const now = scheduled();
      if (nowMs - lastMs > PULSE_MS + PULSE_LATE_MS)
        this.#late.push({
          fromMs: lastMs,
          untilMs: nowMs,
          ranMs: now.ranMs - last.ranMs,
          waitedMs: now.waitedMs - last.waitedMs,
        });
      lastMs = nowMs;
      last = now;
    }, PULSE_MS).unref();
  }

  /** The periods so far. */
  spans(): readonly LateSpan[] {
    return this.#late.map((span) => ({
      ...span,
      collectedMs: this.#collections.reduce((sum, each) => sum + overlapMs(each, span), 0),
    }));
  }
}

export function overlapMs(one: Span, other: Span): number {
  return Math.max(0, Math.min(one.untilMs, other.untilMs) - Math.max(one.fromMs, other.fromMs));
}

const statistics = Buffer.alloc(256);
let statisticsFd: number | undefined;

/** How long the main thread has had a processor and waited for one, from Linux's scheduler statistics. */
function scheduled(): { readonly ranMs: number; readonly waitedMs: number } {
  try {
    statisticsFd ??= openSync("/proc/self/schedstat", "r");
    const length = readSync(statisticsFd, statistics, 0, statistics.length, 0);
    const [ran, waited] = statistics.toString("latin1", 0, length).split(" ");
    return { ranMs: Number(ran) / 1e6, waitedMs: Number(waited) / 1e6 };
  } catch {
    return { ranMs: 0, waitedMs: 0 };
  }
}

const file = process.env["HEADROOM_BENCH_LATE"];
if (file !== undefined) {
  // A process that the watched one starts is not watched.
  delete process.env["HEADROOM_BENCH_LATE"];
  const watch = new LoopWatch();
  process.once("exit", () => writeFileSync(file, JSON.stringify(watch.spans())));
}
