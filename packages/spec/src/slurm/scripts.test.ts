import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { readingText } from "./testing/reading-text.ts";

const folder = path.join(import.meta.dirname, "testing", "scripts");
const scripts = readdirSync(folder).filter((name) => name.endsWith(".sbatch"));

/** The expected output of each script, after a line `== NAME`. */
const expected = new Map(
  readFileSync(path.join(folder, "expected.txt"), "utf8")
    .split(/^== /m)
    .slice(1)
    .map((section) => {
      const [name = "", ...lines] = section.split("\n");
      return [name, lines.join("\n").trimEnd()] as const;
    }),
);

describe("batch scripts of Slurm", () => {
  it.each(scripts)("reads %s", (name) => {
    expect(readingText(readFileSync(path.join(folder, name), "utf8"), name)).toBe(expected.get(name));
  });

  it("has at least sixty scripts, each with its expected output", () => {
    expect(scripts.length).toBeGreaterThanOrEqual(60);
    expect([...expected.keys()]).toEqual(scripts);
  });
});
