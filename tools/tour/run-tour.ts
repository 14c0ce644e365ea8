/** Runs chapters in order and reports the result of each. */
import type { Chapter } from "./chapter.ts";
import type { Check } from "./stage.ts";
import { Stage } from "./stage.ts";

export interface ChapterReport {
  readonly name: string;
  readonly shows: string;
  /** `skipped`: a chapter that this chapter needs has failed. */
  readonly outcome: "passed" | "failed" | "skipped";
  readonly seconds: number;
  readonly checks: readonly Check[];
  readonly error: string | null;
}

export interface TourReport {
  readonly outcome: "passed" | "failed";
  readonly seconds: number;
  readonly chapters: readonly ChapterReport[];
}

/**
 * The named chapters and those that they need, in order. If `names` is empty, all chapters. Throws on an unknown name.
 */
export function selectChapters(all: readonly Chapter[], names: readonly string[]): readonly Chapter[] {
  if (names.length === 0) return all;
  const byName = new Map(all.map((chapter) => [chapter.name, chapter]));
  const selected = new Set<string>();
  const select = (name: string): void => {
    const chapter = byName.get(name);
    if (chapter === undefined) throw new Error(`no chapter ${name}: there are ${[...byName.keys()].join(", ")}`);
    selected.add(name);
    for (const needed of chapter.needs) select(needed);
  };
  for (const name of names) select(name);
  return all.filter(({ name }) => selected.has(name));
}

export async function runTour(
  chapters: readonly Chapter[],
  print: (line: string) => void,
  interrupted: AbortSignal,
): Promise<TourReport> {
  const stage = new Stage(print);
  const startedAtMs = performance.now();
  const reports: ChapterReport[] = [];
  try {
    for (const [index, chapter] of chapters.entries()) {
      if (interrupted.aborted) break;
      print(`\n${index + 1}/${chapters.length} ${chapter.name}: ${chapter.shows}`);
      const failed = new Set(reports.filter(({ outcome }) => outcome !== "passed").map(({ name }) => name));
      const report = await runChapter(chapter, stage, failed);
      if (report.error !== null) print(`  ${report.error}`);
      print(`  ${report.outcome} after ${report.seconds.toFixed(1)} s`);
      reports.push(report);
    }
  } finally {
    await stage.close();
  }
  const isPassed = reports.length === chapters.length && reports.every(({ outcome }) => outcome === "passed");
  const seconds = secondsSince(startedAtMs);
  return { outcome: isPassed ? "passed" : "failed", seconds, chapters: reports };
}

async function runChapter(chapter: Chapter, stage: Stage, failed: ReadonlySet<string>): Promise<ChapterReport> {
  const { name, shows, needs } = chapter;
  const missing = needs.filter((needed) => failed.has(needed));
  const nothing = { name, shows, seconds: 0, checks: [] };
  if (missing.length > 0) return { ...nothing, outcome: "skipped", error: `needs ${missing.join(", ")}` };
  stage.checks = [];
  const startedAtMs = performance.now();
  try {
    await chapter.run(stage);
    const { checks } = stage;
    return { name, shows, outcome: "passed", seconds: secondsSince(startedAtMs), checks, error: null };
  } catch (error) {
    const { checks } = stage;
    const message = error instanceof Error ? error.message : String(error);
    return { name, shows, outcome: "failed", seconds: secondsSince(startedAtMs), checks, error: message };
  }
}

const secondsSince = (startedAtMs: number): number => Math.round(performance.now() - startedAtMs) / 1000;
