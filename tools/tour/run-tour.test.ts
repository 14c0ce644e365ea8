import { expect, it } from "vitest";
import type { Chapter } from "./chapter.ts";
import { chapters } from "./chapters/index.ts";
import { runTour, selectChapters } from "./run-tour.ts";

const chapter = (name: string, needs: readonly string[], run: Chapter["run"]): Chapter => ({
  name,
  shows: `${name} works.`,
  needs,
  run,
});
const passes = (name: string, ...needs: readonly string[]): Chapter =>
  chapter(name, needs, async (stage) => stage.equal(`${name} is equal`, [1], [1]));
const signal = new AbortController().signal;

it("selects the chapters that a chapter needs, in the order of the story", () => {
  const all = [passes("start"), passes("train", "start"), passes("serve", "train"), passes("size")];
  const names = (...selected: readonly string[]) => selectChapters(all, selected).map(({ name }) => name);
  expect(names()).toEqual(["start", "train", "serve", "size"]);
  expect(names("size", "serve")).toEqual(["start", "train", "serve", "size"]);
  expect(names("size")).toEqual(["size"]);
  expect(() => names("sizes")).toThrow("no chapter sizes: there are start, train, serve, size");
});

it("has chapters with names of their own, each after those that it needs", () => {
  const names = chapters.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const [index, { needs }] of chapters.entries()) {
    expect(needs.filter((needed) => !names.slice(0, index).includes(needed))).toEqual([]);
  }
});

it("fails where an assertion fails, skips what needs that chapter, and runs the others", async () => {
  const fails = chapter("fails", [], async (stage) => {
    stage.equal("one is one", 1, 1);
    stage.equal("one is two", 1, 2);
  });
  const lines: string[] = [];
  const report = await runTour(
    [fails, passes("after", "fails"), passes("behind", "after"), passes("apart")],
    (line) => lines.push(line),
    signal,
  );
  expect(report.outcome).toBe("failed");
  expect(report.chapters.map(({ name, outcome }) => `${name} ${outcome}`)).toEqual([
    "fails failed",
    "after skipped",
    "behind skipped",
    "apart passed",
  ]);
  expect(report.chapters[0]?.checks).toEqual([
    { claim: "one is one", passed: true },
    { claim: "one is two", passed: false },
  ]);
  expect(lines).toContain("  ✗ one is two");
});

it("passes only where every chapter ran", async () => {
  expect((await runTour([passes("only")], () => undefined, signal)).outcome).toBe("passed");
  expect((await runTour([passes("only")], () => undefined, AbortSignal.abort())).outcome).toBe("failed");
});
