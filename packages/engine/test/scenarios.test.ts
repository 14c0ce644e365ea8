/**
 * Scenario files: blocks of input lines, `----`, and the expected outcome. `npm test -- scenarios.test.ts -u` rewrites them;
 * the difference is then reviewed like any other.
 */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { Stage } from "./scenarios/stage.ts";

const folder = path.join(import.meta.dirname, "scenarios");
const files = readdirSync(folder).filter((name) => name.endsWith(".scenario.txt"));

/** The same text with the actual outcome of the input lines under each `----`. */
function played(text: string): string {
  const stage = new Stage();
  const blocks = text.trimEnd().split(/\n\n+/);
  return `${blocks.map((block) => playBlock(stage, block)).join("\n\n")}\n`;
}

function playBlock(stage: Stage, block: string): string {
  const lines = block.split("\n");
  const end = lines.indexOf("----");
  const input = end < 0 ? lines : lines.slice(0, end);
  const steps = input.filter((line) => line !== "" && !line.startsWith("#"));
  if (steps.length === 0) return block;
  const output = steps.flatMap((line) => stage.play(line));
  return [...input, "----", ...(output.length === 0 ? ["(nothing)"] : output)].join("\n");
}

describe("scenarios", () => {
  it("are found", () => expect(files.length).toBeGreaterThan(20));

  it.each(files)("%s", async (name) => {
    const file = path.join(folder, name);
    await expect(played(readFileSync(file, "utf8"))).toMatchFileSnapshot(file);
  });
});
