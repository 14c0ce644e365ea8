import { describe, expect, it } from "vitest";
import type { ExitRecord, LaunchRecord } from "./attempt-records.ts";
import { gangEnd } from "./attempt-parts.ts";

const launch = {
  environments: [{}, {}, {}],
  parts: [
    { node: "a", ranks: [0, 2] },
    { node: "b", ranks: [1] },
  ],
} as unknown as LaunchRecord;

const exited = (endedAtMs: number, codes: readonly number[]): ExitRecord => ({
  kind: "exited",
  startedAtMs: 1,
  endedAtMs,
  exits: codes.map((code, worker) => ({ kind: "exited", worker, code })),
  usage: codes.map((_, worker) => ({ worker, cpuMs: endedAtMs, rssMib: 0, peakRssMib: 0 })),
});

describe("the end of a gang", () => {
  it("has the exits by rank, those of the part that failed first in front", () => {
    const end = gangEnd(launch, [exited(5, [8, 8]), exited(9, [3])], 1);
    expect(end).toMatchObject({
      kind: "exited",
      endedAtMs: 9,
      exits: [
        { worker: 1, code: 3 },
        { worker: 0, code: 8 },
        { worker: 2, code: 8 },
      ],
    });
    expect(end.kind === "exited" && end.usage.map(({ worker, cpuMs }) => [worker, cpuMs])).toEqual([
      [0, 5],
      [1, 9],
      [2, 5],
    ]);
  });

  it("is a loss if a part left no record, or lost its workers", () => {
    expect(gangEnd(launch, [exited(5, [0, 0]), null], null)).toMatchObject({
      kind: "lost",
      detail: expect.stringContaining("node b") as unknown,
    });
    const lost = { kind: "lost", endedAtMs: 4, detail: "gone" } as const;
    expect(gangEnd(launch, [exited(5, [0, 0]), lost], null)).toEqual(lost);
  });
});
