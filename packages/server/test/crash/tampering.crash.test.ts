/**
 * A process of the same user damages, removes, swaps and forges records of attempts, at random, while a control plane
 * runs and between two runs. No start may fail, no attempt may start twice or run beside its successor, and every
 * workload must end.
 */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { draw, workloadId } from "@headroom/model";
import { createLocalExecutor } from "@headroom/executors";
import { expect, it } from "vitest";
import { openHome, registerFleet, removeDirectory, temporaryDirectory } from "../../src/driver/testing/bench-home.ts";
import type { OpenHome } from "../../src/driver/testing/bench-home.ts";
import { submit, submittedId, testSpec } from "../../src/driver/testing/requests.ts";

import { baseSeed, writeReport } from "./crash-report.ts";

const DEEDS = 200;
const LIFE_EVERY = 10;
const SLOTS = 4;

it(`${DEEDS} times tampered with, the records cost attempts and nothing else`, async () => {
  const home = temporaryDirectory();
  const starts = path.join(home, "starts");
  const problems: string[] = [];
  let drawn = 0;
  const next = (below: number): number => draw(baseSeed, ++drawn, "tampering") % below;
  const open = async (): Promise<OpenHome> => {
    const executor = createLocalExecutor({
      homeDir: home,
      slotCount: SLOTS,
      accelerators: "declared",
      // Workers list their starts in a file of the home, which a sandbox hides.
      isolation: "none",
      onProblem: (message) => problems.push(message),
    });
    const opened = await openHome(home, { executor });
    await registerFleet(opened);
    return opened;
  };
  const counts: Record<string, number> = {};
  const submitted: string[] = [];
  try {
    let life = await open();
    for (let deed = 0; deed < DEEDS; deed++) {
      const run = `echo "$HEADROOM_ATTEMPT_ID $$" >> ${starts}; sleep 0.${1 + next(5)}; exit ${next(4) === 0 ? 3 : 0}`;
      const gang = { workers: 1, accelerators: 1, coresMilli: 0, memoryMib: 0 };
      const retries = { max: 2, backoffMs: 0, backoffMaxMs: 0 };
      submitted.push(submittedId(await life.driver.command(submit(testSpec(`t${deed}`, { run, gang, retries })))));
      await new Promise((resolve) => setTimeout(resolve, next(60)));
      const isBetweenLives = deed % LIFE_EVERY === LIFE_EVERY - 1;
      if (isBetweenLives) await life.close();
      const done = tamper(path.join(home, "attempts"), next);
      counts[done] = (counts[done] ?? 0) + 1;
      if (isBetweenLives) life = await open();
    }
    const unended = new Set(submitted);
    const abort = new AbortController();
    for await (const { event } of life.driver.events(1, abort.signal)) {
      if (event.kind === "workloadEnded") unended.delete(event.workloadId);
      if (unended.size === 0) abort.abort();
    }
    const phases = await life.driver.read(({ state }) => ({
      attempts: state.attempts.size,
      phases: submitted.map((id) => state.workloads.get(workloadId(id))?.phase),
    }));
    expect(phases.attempts).toBe(0);
    expect(new Set(phases.phases)).toEqual(new Set(["succeeded", "failed"]));
    expect(life.fatal).toEqual([]);
    await life.close();
    const started = readFileSync(starts, "utf8")
      .trim()
      .split("\n")
      .map((line) => line.split(" ")[0]);
    expect(new Set(started).size).toBe(started.length);
    expect(problems.filter((problem) => !/is lost|Removing|cannot|stopGang|launchGang|Reading/.test(problem))).toEqual(
      [],
    );
    writeReport("crash-tampering", {
      deedCount: DEEDS,
      deeds: counts,
      startCount: started.length,
      lostCount: new Set(problems.filter((problem) => problem.includes("is lost"))).size,
      seed: baseSeed,
    });
  } finally {
    removeDirectory(home);
  }
});

/** Performs one random action and returns its description. */
function tamper(attempts: string, next: (below: number) => number): string {
  const names = readdirSync(attempts).filter((name) => !name.startsWith("."));
  // Prefers the newest attempts, because they are still active.
  const name = names.toSorted((a, b) => Number(/\d+/.exec(b)) - Number(/\d+/.exec(a)))[next(Math.min(names.length, 6))];
  if (name === undefined) return "nothing";
  const records = path.join(attempts, name);
  const files = recordsIn(records);
  const file = path.join(records, [...files, "exit.json"][next(files.length + 1)] ?? "exit.json");
  const other = path.join(attempts, names[next(names.length)] ?? name, path.basename(file));
  const deeds: readonly (readonly [string, () => void])[] = [
    ["garbage", () => writeFileSync(file, "{")],
    ["another version", () => writeFileSync(file, '{"version":7}')],
    ["removed", () => rmSync(file, { force: true, recursive: true })],
    ["truncated", () => existsSync(file) && truncateSync(file, next(60))],
    [
      "flipped",
      () => {
        if (!existsSync(file)) return;
        const bytes = readFileSync(file);
        const at = next(Math.max(1, bytes.length));
        bytes[at] = (bytes[at] ?? 0) ^ 1;
        writeFileSync(file, bytes);
      },
    ],
    ["swapped", () => existsSync(other) && other !== file && copyFileSync(other, file)],
    [
      "directory",
      () => {
        rmSync(file, { force: true, recursive: true });
        mkdirSync(path.join(file, "x"), { recursive: true });
      },
    ],
    ["all removed", () => rmSync(records, { force: true, recursive: true })],
  ];
  const [what, deed] = deeds[next(deeds.length)] ?? ["nothing", () => undefined];
  try {
    deed();
  } catch {
    // The attempt is being removed, or its file is a directory by now.
  }
  return what;
}

/** No record exists if the attempt was forgotten a moment ago. */
function recordsIn(directory: string): string[] {
  try {
    return readdirSync(directory).filter((each) => each.endsWith(".json") && !each.startsWith("."));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}
