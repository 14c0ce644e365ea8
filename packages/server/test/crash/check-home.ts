/** What must hold of a home directory whose control plane is gone, however it went. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { workloadId } from "@headroom/engine";
import type { ReadonlyState } from "@headroom/engine";
import { journalDirectory } from "../../src/driver/testing/bench-home.ts";
import { redecideJournal, verifyJournal } from "../../src/journal/verify-journal.ts";

/** What had been acknowledged: the names of workloads by id, and the ids whose stop was accepted. */
export interface Acknowledged {
  readonly names: ReadonlyMap<string, string>;
  readonly stopped: Iterable<string>;
}

/** One sentence for each thing acknowledged that the state does not know. */
export function lostOf(state: ReadonlyState, { names, stopped }: Acknowledged): string[] {
  const lost: string[] = [];
  for (const [id, name] of names) {
    const workload = state.workloads.get(workloadId(id));
    // An id that was given again to another submission is as lost as a missing one.
    if (workload?.spec.name !== name)
      lost.push(`${name} was acknowledged as ${id}, which is ${workload?.spec.name ?? "not there"}`);
  }
  for (const id of stopped) {
    const workload = state.workloads.get(workloadId(id));
    if (workload?.stopRequested !== true) lost.push(`the stop of ${id} was acknowledged, and is not there`);
  }
  return lost;
}

/** Each start leaves a line that begins with its attempt; an attempt must not have two. */
export function startedTwice(startsPath: string): string[] {
  if (!existsSync(startsPath)) return [];
  const seen = new Set<string>();
  const twice: string[] = [];
  for (const line of readFileSync(startsPath, "utf8").trim().split("\n")) {
    const attempt = line.split(" ")[0] ?? "";
    if (seen.has(attempt)) twice.push(`attempt ${attempt} was started twice`);
    seen.add(attempt);
  }
  return twice;
}

export interface HomeCheck {
  readonly violations: readonly string[];
  readonly digestCount: number;
  readonly eventCount: number;
  readonly roundCount: number;
  /** Attempts that are recorded as lost: none, where what runs outlives the control plane. */
  readonly lostAttemptCount: number;
}

/** Folds everything from the first event, compares all digests, and decides everything again from the recorded inputs. */
export function checkHome(home: string, acknowledged: Acknowledged): HomeCheck {
  const directory = journalDirectory(home);
  try {
    const { engine, sequence, chain, digestCount } = verifyJournal(directory);
    const violations = [...lostOf(engine.state, acknowledged), ...startedTwice(path.join(home, "starts"))];
    const again = redecideJournal(directory);
    if (again.sequence !== sequence || again.chain !== chain)
      violations.push(`decided again, it ends at ${again.sequence} ${again.chain}`);
    const ended = [...engine.state.workloads.values()].flatMap(({ endedAttempts }) => endedAttempts);
    const lostAttemptCount = ended.filter(({ outcome }) => outcome === "lost").length;
    return { violations, digestCount, eventCount: sequence, roundCount: again.roundCount, lostAttemptCount };
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    return { violations: [said], digestCount: 0, eventCount: 0, roundCount: 0, lostAttemptCount: 0 };
  }
}
