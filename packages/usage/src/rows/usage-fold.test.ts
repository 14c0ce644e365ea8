import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { readEvents } from "@headroom/engine";
import type { JournalGroup } from "@headroom/engine";
import type { Event } from "@headroom/model";
import { recountHeld } from "../testing/held-recount.ts";
import { clipRow, milliMsOf, type UsageRow } from "./row.ts";
import { UsageFold } from "./usage-fold.ts";
import { isWithin } from "./usage-totals.ts";

const folder = path.resolve(import.meta.dirname, "../../../../test/history");
const journals = readdirSync(folder).filter((name) => name.endsWith(".journal.jsonl"));

const groupsOf = (name: string): readonly JournalGroup[] =>
  readFileSync(path.join(folder, name), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as JournalGroup);

function rowsOf(groups: readonly JournalGroup[], endMs: number): { rows: readonly UsageRow[]; fold: UsageFold } {
  const fold = new UsageFold();
  const rows = groups.flatMap(({ text }) => fold.fold(readEvents(text)));
  return { rows: [...rows, ...fold.openRows(endMs)], fold };
}

const sum = (rows: readonly UsageRow[]): number => rows.reduce((total, row) => total + milliMsOf(row), 0);

/** Every fourth recording, and the newest: each contains the life of the ones before it. */
const chosen = journals.filter((_, index) => index % 4 === 0 || index === journals.length - 1);

describe("usage rows of recorded journals", () => {
  it.each(chosen)("%s: rows add up to the held time of every team, and to all accelerators", (name) => {
    const groups = groupsOf(name);
    const { byTeam, capacity, endMs, engine } = recountHeld(groups);
    const { rows, fold } = rowsOf(groups, endMs);
    const held = new Map([...byTeam.keys()].map((team) => [team, sum(rows.filter((row) => row.team === team))]));
    expect(held).toEqual(byTeam);
    expect(sum(rows)).toBe(capacity);
    for (const [team, account] of engine.state.accounts) {
      const openedMs = openedAtMs(groups, team);
      const within = rows.filter((row) => row.team !== "" && isWithin(row.team, team, fold.parents));
      const counted = sum(within.flatMap((row) => clipRow(row, openedMs, account.atMs) ?? []));
      expect([team, counted]).toEqual([team, account.milliMs]);
    }
    if (name.startsWith("0031")) expect(engine.state.accounts.size).toBeGreaterThan(0);
  });

  it("a fold that is cut gives the same rows", () => {
    const groups = groupsOf(journals.at(-1) ?? "");
    const endMs = 10_000_000;
    let fold = new UsageFold();
    const cut = groups.flatMap(({ text }) => {
      fold = new UsageFold(fold.snapshot());
      return fold.fold(readEvents(text));
    });
    expect([...cut, ...fold.openRows(endMs)]).toEqual(rowsOf(groups, endMs).rows);
  });
});

/** When the account was opened, or last renewed. */
function openedAtMs(groups: readonly JournalGroup[], team: string): number {
  let opened = -1;
  for (const event of groups.flatMap(({ text }) => readEvents(text))) {
    if (event.kind === "teamDefined" && event.team.name === team)
      opened = event.team.budget === undefined ? -1 : opened < 0 ? event.atMs : opened;
    if (event.kind === "budgetRenewed" && event.team === team) opened = event.atMs;
  }
  return opened;
}

const at = (text: string): number => Date.parse(`${text}T00:00:00Z`);

/** A node with one accelerator, divided into MIG slices, and a workload for each profile or fraction. */
function partsEvents(shapes: readonly object[], events: readonly object[]): readonly Event[] {
  const pool = { name: "p", site: "s", executor: "e", acceleratorType: "A100-80GB", priceMicroUsdPerHour: 0 };
  const node = { id: "n", pool: "p", fabric: [], acceleratorCount: 1, coresMilli: 0, memoryMib: 0 };
  const atMs = at("2026-01-10");
  const placed = shapes.flatMap((shape, index) => {
    const gang = { workers: 1, accelerators: 1, coresMilli: 0, memoryMib: 0, ...shape };
    const spec = { kind: "train", name: `w${index}`, team: `t${index}`, gang };
    const ids = { attemptId: `w${index}.1`, workloadId: `w${index}` };
    return [
      { kind: "workloadSubmitted", version: 3, atMs, workloadId: `w${index}`, spec, actor: "ann" },
      { kind: "gangPlaced", version: 2, atMs, ...ids, workers: [{ node: "n", accelerators: "0" }] },
      { kind: "attemptStarted", version: 1, atMs, attemptId: `w${index}.1` },
    ];
  });
  return [
    { kind: "poolDefined", version: 3, atMs, pool },
    { kind: "nodeJoined", version: 2, atMs, node },
    ...placed,
    ...events,
  ] as unknown as readonly Event[];
}

const ended = (attemptId: string, day: string, outcome: string): object => ({
  kind: "attemptEnded",
  version: 1,
  atMs: at(day),
  attemptId,
  outcome,
  exit: { kind: "exited", worker: 0, code: 1 },
  detail: "",
  retryAtMs: null,
});

describe("usage rows", () => {
  it("add up to one accelerator for any mix of fractions and MIG slices", () => {
    const mix = [{ profile: "1g.10gb" }, { profile: "2g.20gb" }, { profile: "4g.40gb" }];
    const events = partsEvents(mix, [ended("w0.1", "2026-01-12", "succeeded"), ended("w1.1", "2026-01-13", "failed")]);
    const fold = new UsageFold();
    const rows = [...fold.fold(events), ...fold.openRows(at("2026-01-20"))];
    expect(sum(rows)).toBe(1_000 * (at("2026-01-20") - at("2026-01-10")));
    for (let day = 10; day < 20; day++) {
      const atMs = at(`2026-01-${day}`);
      expect(rows.reduce((milli, row) => milli + (clipRow(row, atMs, atMs + 1)?.milli ?? 0), 0)).toBe(1_000);
    }
  });

  it("of a closed month are corrected by further rows, up to the newest checkpoint", () => {
    const events = partsEvents(
      [{}],
      [
        { kind: "checkpointRecorded", version: 1, atMs: at("2026-01-25"), attemptId: "w0.1", step: 1, path: "/c" },
        ended("w0.1", "2026-02-03", "failed"),
      ],
    );
    const rows = new UsageFold().fold(events);
    const texts = rows.map(({ fromMs, toMs, milli, state, cause, correctedAtMs }) =>
      [day(fromMs), day(toMs), milli, state, cause, correctedAtMs === null ? "" : day(correctedAtMs)].join(" "),
    );
    expect(texts).toEqual([
      "01-10 02-01 1000 used running ",
      "01-25 02-01 -1000 used running 02-03",
      "01-25 02-01 1000 failed exited 02-03",
      "02-01 02-03 1000 failed exited ",
    ]);
  });
});

const day = (atMs: number): string => new Date(atMs).toISOString().slice(5, 10);
