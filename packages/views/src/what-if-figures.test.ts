import type { WhatIfAnswer } from "@headroom/protocol";
import { describe, expect, it } from "vitest";
import { teamOutcomes } from "./what-if-figures.ts";

const HOUR_MS = 3_600_000;

type Moved = WhatIfAnswer["moved"][number];
type Interrupted = WhatIfAnswer["interrupted"][number];

const timeline = (heldByTeam: Readonly<Record<string, number>>): WhatIfAnswer["present"] =>
  ({
    samples: [{ heldByTeam }],
    evictions: 0,
    interruptions: 0,
    lostAcceleratorMs: 0,
  }) as unknown as WhatIfAnswer["present"];

const start = (team: string, presentAtMs: number | null, changedAtMs: number | null): Moved => ({
  workloadId: `${team} ${presentAtMs ?? "never"}`,
  name: "train",
  team,
  taskCount: 1,
  presentAtMs,
  changedAtMs,
  presentLastAtMs: presentAtMs,
  changedLastAtMs: changedAtMs,
});

interface Played {
  readonly moved?: readonly Moved[];
  readonly interrupted?: readonly Interrupted[];
  readonly present?: Readonly<Record<string, number>>;
  readonly changed?: Readonly<Record<string, number>>;
}

const answer = ({ moved = [], interrupted = [], present = {}, changed = {} }: Played): WhatIfAnswer =>
  ({
    fromMs: 0,
    horizonMs: 12 * HOUR_MS,
    present: timeline(present),
    changed: timeline(changed),
    moved,
    interrupted,
  }) as unknown as WhatIfAnswer;

describe("teams that a change helps or harms", () => {
  it("are told by the starts that move, the largest effect first", () => {
    const moved = [
      start("a", 2 * HOUR_MS, HOUR_MS),
      start("a", 4 * HOUR_MS, HOUR_MS),
      start("b", HOUR_MS, 9 * HOUR_MS),
    ];
    expect(teamOutcomes(answer({ moved }))).toEqual([
      { team: "b", outcome: "loses", sentence: "1 workload starts 8 h later" },
      { team: "a", outcome: "gains", sentence: "2 workloads start 2 h earlier on average" },
    ]);
  });

  it("wait at least to the end of the forecast where a start is not within it", () => {
    expect(teamOutcomes(answer({ moved: [start("a", 2 * HOUR_MS, null)] }))).toEqual([
      { team: "a", outcome: "loses", sentence: "1 workload starts at least 10 h later" },
    ]);
  });

  it("do not gain by work that is interrupted and repeated, however many accelerators it holds", () => {
    const once: Interrupted = {
      workloadId: "w1",
      name: "train",
      team: "a",
      present: null,
      changed: { taskCount: 1, atMs: 0, againAtMs: 60_000, lostAcceleratorMs: 3 * HOUR_MS },
    };
    expect(teamOutcomes(answer({ interrupted: [once], present: { a: 8 }, changed: { a: 16 } }))).toEqual([
      { team: "a", outcome: "loses", sentence: "1 interrupted; 3 accelerator-hours repeated" },
    ]);
    const spared = { ...once, present: once.changed, changed: null };
    expect(teamOutcomes(answer({ interrupted: [spared] }))).toEqual([
      { team: "a", outcome: "gains", sentence: "1 not interrupted; 3 accelerator-hours saved" },
    ]);
  });

  it("are told by accelerators where no start moves; teams above others are not counted again", () => {
    const present = { a: 4, "a/x": 4, b: 8, c: 1 };
    const changed = { a: 6, "a/x": 6, b: 7.5, c: 1 };
    expect(teamOutcomes(answer({ present, changed }))).toEqual([
      { team: "a/x", outcome: "gains", sentence: "+2 accelerators on average" },
      { team: "b", outcome: "loses", sentence: "-0.5 accelerators on average" },
    ]);
  });
});
