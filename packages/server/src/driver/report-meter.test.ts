import { attemptId } from "@headroom/model";
import type { Attempt, Signal, Workload } from "@headroom/model";
import { describe, expect, it } from "vitest";
import {
  ARTIFACT_CHARS_MAX,
  ARTIFACTS_RECORDED_MAX,
  BURST_MAX,
  ALLOWANCE_EVERY_MS,
  ReportMeter,
} from "./report-meter.ts";

const id = attemptId("w1.1");
const running = { id, stop: null } as Attempt;
const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `a${index}`);
const producing = (count: number): Workload => ({ spec: { produces: names(count) } }) as unknown as Workload;

function opened() {
  const told: Signal[] = [];
  const dropped: string[] = [];
  const meter = new ReportMeter({ tell: (report) => told.push(report), onDropped: (each) => dropped.push(each) });
  return { meter, told, dropped };
}

const artifact = (name: string, path: string) => ({ kind: "artifactReported", attemptId: id, name, path }) as const;
const checkpoint = (step: number, path = "c") => ({ kind: "checkpointReported", attemptId: id, step, path }) as const;

/** Floods that a job can write: names declared, names reported, path length, reports a minute, checkpoints among them. */
const floods = [1, 2, 64].flatMap((declared) =>
  [1, 64, 1_000].flatMap((reported) =>
    [1, 1_000].flatMap((pathChars) =>
      [false, true].map((hasCheckpoints) => ({ declared, reported, pathChars, hasCheckpoints })),
    ),
  ),
);

describe("reports of one attempt", () => {
  it.each(floods)("are recorded within bounds, and the newest of each name: %o", (flood) => {
    const { declared, reported, pathChars, hasCheckpoints } = flood;
    const { meter, told, dropped } = opened();
    const perMinute = 400;
    const minutes = 5;
    for (let minute = 0; minute < minutes; minute++) {
      for (let index = 0; index < perMinute; index++) {
        const number = minute * perMinute + index;
        const report =
          hasCheckpoints && number % 2 === 1
            ? checkpoint(number, "c".repeat(pathChars))
            : artifact(`a${number % reported}`, `${number}`.padStart(pathChars, "/"));
        meter.take(report, running, producing(declared), minute * 60_000);
      }
      meter.flush(() => true);
    }
    const kinds = Math.min(declared, reported) + 1;
    const refills = (minutes * 60_000) / ALLOWANCE_EVERY_MS;
    expect(told.length).toBeLessThanOrEqual(BURST_MAX + refills + kinds * minutes);
    const artifacts = told.filter((each) => each.kind === "artifactReported");
    expect(artifacts.length).toBeLessThanOrEqual(ARTIFACTS_RECORDED_MAX);
    expect(artifacts.reduce((sum, { name, path }) => sum + name.length + path.length, 0)).toBeLessThanOrEqual(
      ARTIFACT_CHARS_MAX,
    );
    expect(artifacts.every(({ name }) => names(declared).includes(name))).toBe(true);
    if (hasCheckpoints)
      expect(told.findLast(({ kind }) => kind === "checkpointReported")).toMatchObject({ step: 1_999 });
    expect(dropped).toEqual(meter.droppedCount > 0 ? [id] : []);
  });

  it("ends at a total, which is counted", () => {
    const { meter, told, dropped } = opened();
    for (let minute = 0; told.length < ARTIFACTS_RECORDED_MAX && minute < 100; minute++) {
      for (const name of names(64)) meter.take(artifact(name, `${minute}`), running, producing(64), 0);
      meter.flush(() => true);
    }
    expect([told.length, dropped]).toEqual([ARTIFACTS_RECORDED_MAX, []]);
    meter.take(artifact("a0", "further"), running, producing(64), 0);
    meter.flush(() => true);
    expect([told.length, dropped, meter.droppedCount]).toEqual([ARTIFACTS_RECORDED_MAX, [id], 1]);
  });

  it("that were kept are recorded before the end of the attempt", () => {
    const { meter, told } = opened();
    for (let step = 0; step < 1_000; step++) meter.take(checkpoint(step), running, undefined, 0);
    expect(told).toHaveLength(BURST_MAX);
    meter.end(id);
    expect(told.at(-1)).toMatchObject({ step: 999 });
  });

  it("never delay a checkpoint that the engine waits for", () => {
    const { meter, told } = opened();
    for (let step = 0; step < 1_000; step++) meter.take(checkpoint(step), running, undefined, 0);
    const waiting = { id, stop: { checkpointUntilMs: 5 } } as Attempt;
    meter.take(checkpoint(1_000), waiting, undefined, 0);
    expect(told.at(-1)).toMatchObject({ step: 1_000 });
  });

  it("are passed on once if their location is known", () => {
    const { meter, told } = opened();
    const known = { spec: { produces: ["a0"] }, artifacts: [{ name: "a0", path: "/p" }] } as unknown as Workload;
    meter.take(artifact("a0", "/p"), running, known, 0);
    meter.take(artifact("a0", "/q"), running, known, 0);
    expect(told).toEqual([artifact("a0", "/q")]);
  });
});
