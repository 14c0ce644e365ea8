/** Tables that compare the forecast without and with the change. */
import type { WhatIfAnswer } from "@headroom/protocol";
import {
  grouped,
  interruptionOutcome,
  meanOf,
  startsEarlier,
  teamShares,
  tenths,
  type TeamShare,
} from "@headroom/views/text";
import { printable, type Sink } from "../terminal.ts";
import { instant, shortDuration } from "./amounts.ts";
import type { Paint, Tone } from "./style.ts";
import { tableLines, type Cell } from "./table.ts";

/** Maximum number of rows, so that tables fit a screen. `--json` has every sample, team and start. */
const TIMES_SHOWN = 12;
const ROWS_MAX = 20;
const HOUR_MS = 3_600_000;

type Timeline = WhatIfAnswer["present"];
type Sample = Timeline["samples"][number];
type Interruption = NonNullable<WhatIfAnswer["interrupted"][number]["changed"]>;
type Look = { readonly sink: Pick<Sink, "columns">; readonly paint: Paint };

const right = (title: string): { readonly title: string; readonly align: "right" } => ({ title, align: "right" });

export function whatIfTables(answer: WhatIfAnswer, sink: Pick<Sink, "columns">, paint: Paint): string[] {
  const look = { sink, paint };
  return [
    `${instant(answer.fromMs)} to ${instant(answer.fromMs + answer.horizonMs)}, from the state as of event ${answer.sequence}`,
    printable(answer.sentence),
    ...wholeLines(answer, look),
    ...timeLines(answer, look),
    ...teamLines(answer, look),
    ...interruptionLines(answer, look),
    ...startLines(answer, look),
  ];
}

/** Amounts such as `12` and `1,204.5`: work can hold fractions of an accelerator. */
const amount = (value: number): string => grouped(tenths(value));

const figures: readonly (readonly [string, (timeline: Timeline, answer: WhatIfAnswer) => number])[] = [
  ["accelerators in use, mean", (timeline) => meanOf(timeline, ({ heldAccelerators }) => heldAccelerators)],
  ["accelerators that take work, mean", (timeline) => meanOf(timeline, ({ usableAccelerators }) => usableAccelerators)],
  ["waiting, mean", (timeline) => meanOf(timeline, ({ waitingWorkloads }) => waitingWorkloads)],
  ["waiting, most", ({ samples }) => Math.max(0, ...samples.map(({ waitingWorkloads }) => waitingWorkloads))],
  [
    "total waiting time in workload hours",
    (timeline, { horizonMs }) => (meanOf(timeline, ({ waitingWorkloads }) => waitingWorkloads) * horizonMs) / HOUR_MS,
  ],
  ["submissions during this time", ({ arrived }) => arrived.count],
  ["their mean wait in hours", ({ arrived }) => arrived.meanWaitMs / HOUR_MS],
  ["waiting workloads that start", ({ samples }) => samples.at(-1)?.startedTasks ?? 0],
  ["interrupted running work", ({ interruptions }) => interruptions],
  ["lost work in accelerator hours", ({ lostAcceleratorMs }) => lostAcceleratorMs / HOUR_MS],
  ["evictions", ({ evictions }) => evictions],
];

function wholeLines(answer: WhatIfAnswer, { sink, paint }: Look): string[] {
  const rows = figures.map(([name, figure]) => [
    name,
    amount(figure(answer.present, answer)),
    amount(figure(answer.changed, answer)),
  ]);
  return ["", ...tableLines([{ title: "" }, right("AS THINGS ARE"), right("WITH THE CHANGE")], rows, sink, paint)];
}

/** Both timelines at the same times. Each row has the number of starts since the row before. */
function timeLines({ present, changed, stepMs }: WhatIfAnswer, { sink, paint }: Look): string[] {
  const count = Math.min(present.samples.length, changed.samples.length);
  const stride = Math.max(1, Math.ceil((count - 1) / TIMES_SHOWN));
  const rows: (Cell | string)[][] = [];
  for (let index = 0; index < count; index += stride) {
    const pair = (figure: (sample: Sample) => number): string =>
      [present, changed].map(({ samples }) => amount(figure(samples[index] as Sample))).join(" → ");
    const started = [present, changed].map(({ samples }) => {
      const before = samples[index - stride]?.startedTasks ?? 0;
      return amount((samples[index] as Sample).startedTasks - before);
    });
    rows.push([
      index === 0 ? "now" : shortDuration(index * stepMs),
      pair(({ heldAccelerators }) => heldAccelerators),
      pair(({ usableAccelerators }) => usableAccelerators),
      pair(({ waitingWorkloads }) => waitingWorkloads),
      pair(({ waitingAccelerators }) => waitingAccelerators),
      started.join(" → "),
    ]);
  }
  const columns = ["IN", "IN USE", "OF", "WAITING", "THEY ASK FOR", "STARTED"].map(right);
  return ["", ...tableLines(columns, rows, sink, paint)];
}

/** Sorted by the difference, the largest first. */
function teamLines(answer: WhatIfAnswer, { sink, paint }: Look): string[] {
  const difference = ({ presentMean, changedMean }: TeamShare): number =>
    tenths(tenths(changedMean) - tenths(presentMean));
  const teams = teamShares(answer).toSorted(
    (one, other) => Math.abs(difference(other)) - Math.abs(difference(one)) || (one.team < other.team ? -1 : 1),
  );
  const rows = teams.slice(0, ROWS_MAX).map((share): (Cell | string)[] => {
    const gained = difference(share);
    const tone: Tone = gained > 0 ? "green" : gained < 0 ? "red" : "dim";
    const outcome = gained > 0 ? "gains" : gained < 0 ? "loses" : "same";
    return [
      { text: share.team, tone: "bold" },
      { text: outcome, tone },
      `${amount(share.presentMean)} → ${amount(share.changedMean)}`,
      { text: `${gained > 0 ? "+" : ""}${amount(gained)}`, tone },
    ];
  });
  const columns = [{ title: "TEAM", minWidth: 8 }, { title: "" }, right("ACCELERATORS, MEAN"), right("DIFFERENCE")];
  return ["", ...tableLines(columns, rows, sink, paint), ...more(teams.length)];
}

const outcomeTones = { interrupted: "red", spared: "green", earlier: "green", later: "red" } as const;

function interruptionLines(answer: WhatIfAnswer, { sink, paint }: Look): string[] {
  const { interrupted, interruptedCount, changed, fromMs } = answer;
  if (interruptedCount === 0)
    return [
      "",
      changed.interruptions === 0 ? "No running work is interrupted." : "The change interrupts no other running work.",
    ];
  const rows = interrupted.slice(0, ROWS_MAX).map((work): (Cell | string)[] => {
    const { name, team, present, changed: after } = work;
    const pair = (text: (of: Interruption) => string): string =>
      [present, after].map((of) => (of === null ? "–" : text(of))).join(" → ");
    const outcome = interruptionOutcome(work);
    return [
      { text: nameOf(name, Math.max(present?.taskCount ?? 0, after?.taskCount ?? 0)), tone: "bold" },
      team,
      { text: outcome, tone: outcomeTones[outcome] },
      pair(({ atMs }) => whenText(atMs, fromMs)),
      pair(({ againAtMs }) => whenText(againAtMs, fromMs)),
      pair(({ lostAcceleratorMs }) => amount(lostAcceleratorMs / HOUR_MS)),
    ];
  });
  const columns = [...workColumns, right("INTERRUPTED"), right("RUNS AGAIN"), right("HOURS DONE AGAIN")];
  return ["", ...tableLines(columns, rows, sink, paint), ...more(interruptedCount)];
}

function startLines({ moved, fromMs, earlierCount, laterCount }: WhatIfAnswer, { sink, paint }: Look): string[] {
  if (moved.length === 0) return ["", "All waiting work starts at the same times as without the change."];
  const when = (...times: readonly (number | null)[]): string =>
    times.map((atMs) => whenText(atMs, fromMs)).join(" → ");
  const hasArrays = moved.some(({ taskCount }) => taskCount > 1);
  const rows = moved.slice(0, ROWS_MAX).map((work): (Cell | string)[] => {
    const { name, team, taskCount, presentAtMs, changedAtMs, presentLastAtMs, changedLastAtMs } = work;
    return [
      { text: nameOf(name, taskCount), tone: "bold" },
      team,
      startsEarlier(work) ? { text: "earlier", tone: "green" } : { text: "later", tone: "red" },
      when(presentAtMs, changedAtMs),
      ...(hasArrays ? [taskCount > 1 ? when(presentLastAtMs, changedLastAtMs) : ""] : []),
    ];
  });
  const columns = [...workColumns, right("STARTS"), ...(hasArrays ? [right("ITS LAST TASK")] : [])];
  return ["", ...tableLines(columns, rows, sink, paint), ...more(earlierCount + laterCount)];
}

const workColumns = [{ title: "WORKLOAD", minWidth: 8 }, { title: "TEAM", minWidth: 6 }, { title: "" }];

const nameOf = (name: string, taskCount: number): string => (taskCount > 1 ? `${name} (${taskCount} tasks)` : name);

const whenText = (atMs: number | null, fromMs: number): string =>
  atMs === null ? "beyond" : atMs <= fromMs ? "now" : `in ${shortDuration(atMs - fromMs)}`;

const more = (count: number): string[] => (count > ROWS_MAX ? [`… and ${count - ROWS_MAX} more`] : []);
