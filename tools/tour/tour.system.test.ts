/** Runs `npm run tour -- --json`: every chapter must pass. */
import { spawnSync } from "node:child_process";
import path from "node:path";
import { expect, it } from "vitest";
import { isTurnOf } from "../testing/rotating.ts";
import { chapters } from "./chapters/index.ts";
import type { TourReport } from "./run-tour.ts";

const TOUR_LIMIT_MS = 900_000;

it.runIf(isTurnOf("tour"))("every chapter of the tour passes", () => {
  const main = path.join(import.meta.dirname, "main.ts");
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, "--json"], {
    encoding: "utf8",
    timeout: TOUR_LIMIT_MS,
    maxBuffer: 64 << 20,
  });
  expect(status, stderr).toBe(0);
  const report = JSON.parse(stdout) as TourReport;
  console.log(
    `tour: ${report.seconds} s; ${report.chapters.map(({ name, seconds }) => `${name} ${seconds} s`).join(", ")}`,
  );
  expect(report.outcome).toBe("passed");
  expect(report.chapters.map(({ name }) => name)).toEqual(chapters.map(({ name }) => name));
  for (const { name, checks } of report.chapters) expect(checks.length, name).toBeGreaterThan(2);
});
