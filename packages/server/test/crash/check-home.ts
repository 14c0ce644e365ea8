/** Invariants of a home directory after its control plane has ended, cleanly or not. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { workloadId } from "@headroom/model";
import type { Event } from "@headroom/model";
import type { ReadonlyState } from "@headroom/engine";
import { openForReading } from "@headroom/journal/internals";
import { JournalReader } from "@headroom/journal/internals";
import { redecideJournal, verifyJournal } from "@headroom/journal/internals";
import { journalDirectory } from "../../src/driver/testing/bench-home.ts";

/** Acknowledged commands: names of submitted workloads by id, and ids of workloads whose stop was accepted. */
export interface Acknowledged {
  readonly names: ReadonlyMap<string, string>;
  readonly stopped: Iterable<string>;
}

/** One sentence for each acknowledged command that the state does not contain. */
export function lostOf(state: ReadonlyState, { names, stopped }: Acknowledged): string[] {
  const lost: string[] = [];
  for (const [id, name] of names) {
    const workload = state.workloads.get(workloadId(id));
    // An id that was reused for another submission counts as lost.
    if (workload?.spec.name !== name)
      lost.push(`${name} was acknowledged as ${id}, which is ${workload?.spec.name ?? "not there"}`);
  }
  for (const id of stopped) {
    const workload = state.workloads.get(workloadId(id));
    if (workload?.stopRequested !== true) lost.push(`the stop of ${id} was acknowledged, and is not there`);
  }
  return lost;
}

/**
 * Finds starts that happened twice. Each start of a worker leaves a line `<attempt>/<rank>.<number> <pid>`. No such id
 * may occur twice, and an attempt may not start more workers than it was given.
 */
export function startedTwice(startsPath: string, given: ReadonlyMap<string, number>): string[] {
  if (!existsSync(startsPath)) return [];
  const seen = new Set<string>();
  const counts = new Map<string, number>();
  const violations: string[] = [];
  // The file can exist before its first line is written.
  const lines = readFileSync(startsPath, "utf8")
    .split("\n")
    .filter((line) => line !== "");
  for (const line of lines) {
    const worker = line.split(" ")[0] ?? "";
    const attempt = worker.split("/")[0] ?? "";
    if (seen.has(worker)) violations.push(`worker ${worker} was started twice`);
    seen.add(worker);
    counts.set(attempt, (counts.get(attempt) ?? 0) + 1);
  }
  for (const [attempt, count] of counts) {
    const most = given.get(attempt) ?? 0;
    if (count > most) violations.push(`attempt ${attempt} was given ${most} workers and started ${count}`);
  }
  return violations;
}

interface Sizes {
  /** Number of workers that each attempt was given in total. */
  readonly given: ReadonlyMap<string, number>;
  readonly growthCount: number;
  readonly shrinkCount: number;
}

function sizesIn(directory: string): Sizes {
  const database = openForReading(directory);
  try {
    const reader = new JournalReader(database);
    const given = new Map<string, number>();
    let growthCount = 0;
    let shrinkCount = 0;
    for (const { text } of reader.groups(0, reader.head().sequence))
      for (const event of JSON.parse(text) as readonly Event[]) {
        if (event.kind === "gangShrinkRequested") shrinkCount++;
        if (event.kind === "gangGrown") growthCount++;
        if (event.kind === "gangGrown" || event.kind === "gangPlaced")
          given.set(event.attemptId, (given.get(event.attemptId) ?? 0) + event.workers.length);
      }
    return { given, growthCount, shrinkCount };
  } finally {
    database.close();
  }
}

export interface HomeCheck {
  readonly violations: readonly string[];
  readonly digestCount: number;
  readonly eventCount: number;
  readonly roundCount: number;
  readonly growthCount: number;
  readonly shrinkCount: number;
  /** Number of attempts recorded as lost; 0 is expected if attempts survive the control plane's end. */
  readonly lostAttemptCount: number;
}

/** Folds the journal from the first event, compares all digests, and repeats all decisions from the recorded inputs. */
export function checkHome(home: string, acknowledged: Acknowledged): HomeCheck {
  const directory = journalDirectory(home);
  try {
    const { engine, sequence, chain, digestCount } = verifyJournal(directory);
    const { given, growthCount, shrinkCount } = sizesIn(directory);
    const violations = [...lostOf(engine.state, acknowledged), ...startedTwice(path.join(home, "starts"), given)];
    const again = redecideJournal(directory);
    if (again.sequence !== sequence || again.chain !== chain)
      violations.push(`decided again, it ends at ${again.sequence} ${again.chain}`);
    const ended = [...engine.state.workloads.values()].flatMap(({ endedAttempts }) => endedAttempts);
    const lostAttemptCount = ended.filter(({ outcome }) => outcome === "lost").length;
    const counts = { digestCount, eventCount: sequence, roundCount: again.roundCount, growthCount, shrinkCount };
    return { violations, ...counts, lostAttemptCount };
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    const none = { digestCount: 0, eventCount: 0, roundCount: 0, growthCount: 0, shrinkCount: 0, lostAttemptCount: 0 };
    return { violations: [said], ...none };
  }
}
