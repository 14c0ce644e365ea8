import type { WhatIfAnswer } from "@headroom/protocol";
import { expect, it } from "vitest";
import type { Paint } from "./style.ts";
import { whatIfTables } from "./what-if-text.ts";

const tagged: Paint = (tone, text) => (tone === "dim" || tone === "bold" ? text : `<${tone}>${text}</>`);
const HOUR_MS = 3_600_000;

type Timeline = WhatIfAnswer["present"];

/** Values of every hour: accelerators in use, waiting workloads, workloads started so far. */
const timeline = (
  usable: number,
  hours: readonly (readonly [number, number, number])[],
  more: Pick<Timeline, "arrived" | "evictions" | "interruptions" | "lostAcceleratorMs">,
): Timeline => ({
  samples: hours.map(([held, waiting, started], hour) => ({
    atMs: hour * HOUR_MS,
    heldAccelerators: held,
    usableAccelerators: usable,
    waitingWorkloads: waiting,
    waitingTasks: waiting,
    waitingAccelerators: waiting * 8,
    startedWorkloads: started,
    startedTasks: started,
    heldByTeam: { lab: held - 4, "a team": 4 },
  })),
  ...more,
});

const arrived = { count: 4, startedCount: 4, meanWaitMs: HOUR_MS };
const undisturbed = { arrived, evictions: 0, interruptions: 0, lostAcceleratorMs: 0 };
/** The start of a workload that is not an array. */
const single = (presentAtMs: number | null, changedAtMs: number | null) => ({
  taskCount: 1,
  presentAtMs,
  changedAtMs,
  presentLastAtMs: presentAtMs,
  changedLastAtMs: changedAtMs,
});

const answer: WhatIfAnswer = {
  sequence: 12,
  fromMs: 0,
  horizonMs: 2 * HOUR_MS,
  stepMs: HOUR_MS,
  arrivals: { recordedFromMs: -24 * HOUR_MS, recordedCount: 9, recurringCount: 4, untilMs: 2 * HOUR_MS },
  present: timeline(
    16,
    [
      [16, 3, 0],
      [16, 3, 0],
      [16, 1, 2],
    ],
    undisturbed,
  ),
  changed: timeline(
    32,
    [
      [32, 1, 2],
      [32, 0, 3],
      [24.5, 0, 3],
    ],
    { arrived: { ...arrived, meanWaitMs: 0 }, evictions: 1, interruptions: 1, lostAcceleratorMs: 12 * HOUR_MS },
  ),
  earlierCount: 3,
  laterCount: 0,
  moved: [
    { workloadId: "w1", name: "one", team: "lab", ...single(2 * HOUR_MS, 0) },
    { workloadId: "w2", name: "two", team: "lab", ...single(null, HOUR_MS) },
  ],
  interruptedCount: 1,
  interrupted: [
    {
      workloadId: "w3",
      name: "three",
      team: "lab",
      present: null,
      changed: { taskCount: 1, atMs: 0, againAtMs: HOUR_MS, lostAcceleratorMs: 12 * HOUR_MS },
    },
  ],
  sentence: "In the next 2 h: so it is.",
};

it("shows both courses beside each other: in all, hour by hour, team by team, start by start", () => {
  expect(whatIfTables(answer, { columns: undefined }, tagged)).toEqual([
    "1970-01-01T00:00:00Z to 1970-01-01T02:00:00Z, from the state as of event 12",
    "In the next 2 h: so it is.",
    "",
    "                                      AS THINGS ARE  WITH THE CHANGE",
    "accelerators in use, mean                        16             29.5",
    "accelerators that take work, mean                16               32",
    "waiting, mean                                   2.3              0.3",
    "waiting, most                                     3                1",
    "total waiting time in workload hours            4.7              0.7",
    "submissions during this time                      4                4",
    "their mean wait in hours                          1                0",
    "waiting workloads that start                      2                3",
    "interrupted running work                          0                1",
    "lost work in accelerator hours                    0               12",
    "evictions                                         0                1",
    "",
    " IN     IN USE       OF  WAITING  THEY ASK FOR  STARTED",
    "now    16 → 32  16 → 32    3 → 1        24 → 8    0 → 2",
    " 1h    16 → 32  16 → 32    3 → 0        24 → 0    0 → 1",
    " 2h  16 → 24.5  16 → 32    1 → 0         8 → 0    2 → 0",
    "",
    "TEAM           ACCELERATORS, MEAN  DIFFERENCE",
    "lab     <green>gains</>           12 → 25.5       <green>+13.5</>",
    "a team  same                4 → 4           0",
    "",
    "WORKLOAD  TEAM               INTERRUPTED  RUNS AGAIN  HOURS DONE AGAIN",
    "three     lab   <red>interrupted</>      – → now   – → in 1h            – → 12",
    "",
    "WORKLOAD  TEAM                   STARTS",
    "one       lab   <green>earlier</>     in 2h → now",
    "two       lab   <green>earlier</>  beyond → in 1h",
  ]);
});

it("shows a dozen rows of a long time, and says so where nothing moves", () => {
  const day = timeline(
    8,
    Array.from({ length: 97 }, (_, hour) => [8, 0, hour] as const),
    undisturbed,
  );
  const alike = { ...answer, present: day, changed: day, moved: [], interruptedCount: 0, interrupted: [] };
  const lines = whatIfTables(alike, { columns: undefined }, tagged);
  const hours = lines.filter((line) => /^ *(now|\d+[dh])/.test(line));
  expect(hours).toHaveLength(13);
  expect(hours.at(-1)).toMatch(/^ +4d .* 8 → 8$/);
  expect(lines.slice(-4)).toEqual([
    "",
    "No running work is interrupted.",
    "",
    "All waiting work starts at the same times as without the change.",
  ]);
});

it("tells of arrays when their first and their last task starts", () => {
  const array = {
    workloadId: "w4",
    name: "array",
    team: "lab",
    taskCount: 98,
    presentAtMs: HOUR_MS,
    changedAtMs: HOUR_MS,
    presentLastAtMs: null,
    changedLastAtMs: 2 * HOUR_MS,
  };
  const lines = whatIfTables({ ...answer, moved: [...answer.moved, array] }, { columns: undefined }, tagged);
  expect(lines.slice(-4)).toEqual([
    "WORKLOAD          TEAM                   STARTS   ITS LAST TASK",
    "one               lab   <green>earlier</>     in 2h → now",
    "two               lab   <green>earlier</>  beyond → in 1h",
    "array (98 tasks)  lab   <green>earlier</>   in 1h → in 1h  beyond → in 2h",
  ]);
});
