/** Past work of a cluster: it counts in fair shares and predictions as own work would, and is gone with its executor. */
import { expect, it } from "vitest";
import { defaultPolicy, teamName } from "@headroom/model";
import type { ImportedHistory, Policy, TeamRules } from "@headroom/model";
import { usageKey, worldOf } from "@headroom/engine/internals";
import { predictedRun } from "../src/index.ts";
import { Drive } from "./lab/drive.ts";
import { applied, command, node, pool, site, spec, team } from "./lab/make.ts";

const DAY_MS = 86_400_000;
const nlp = teamName("lab/nlp");
const policy: Policy = {
  ...defaultPolicy,
  teams: { ...(defaultPolicy.teams as TeamRules), usageHalfLifeMs: 7 * DAY_MS },
  backfill: { protectedStarts: 1, assumedWalltimeMs: DAY_MS, predictFrom: 2 },
};
const run = { team: nlp, actor: "ann", kind: "train", accelerators: 8, walltimeMs: null } as const;
const history: ImportedHistory = {
  executor: "hpc",
  source: "jobs.txt",
  digest: "a",
  fromMs: 10 * DAY_MS,
  toMs: 30 * DAY_MS,
  jobCount: 3,
  leftOutCount: 0,
  unreadCount: 0,
  // Four accelerators for ten days, then eight more beside them for ten days.
  uses: [
    { team: nlp, actor: "ann", fromMs: 10 * DAY_MS, toMs: 30 * DAY_MS, acceleratorMs: 80 * DAY_MS },
    { team: nlp, actor: "bob", fromMs: 20 * DAY_MS, toMs: 30 * DAY_MS, acceleratorMs: 80 * DAY_MS },
  ],
  runs: [
    { ...run, name: "train-1", submittedAtMs: 28 * DAY_MS, tookMs: 5_000_000 },
    { ...run, name: "train-2", submittedAtMs: 29 * DAY_MS, tookMs: 7_000_000 },
  ],
};

function started(): { readonly drive: Drive; readonly accelerators: (key: string) => number } {
  const drive = new Drive();
  drive.nowMs = 30 * DAY_MS;
  drive.receive(
    command({ kind: "setPolicy", policy }),
    command({ kind: "setExecutor", executor: "hpc", change: { kind: "declare", mode: "follow" } }),
    applied({
      sites: [site],
      pools: [pool("H100")],
      teams: [team("lab"), team("lab/nlp", "lab")],
    }),
    { kind: "nodeSeen", node: node("n1", "H100") },
  );
  const accelerators = (key: string): number => {
    const { decayedUsage } = worldOf(drive.engine);
    return decayedUsage.average(key, drive.nowMs)[2] / 65_536 / 1_000;
  };
  return { drive, accelerators };
}

const imports = (drive: Drive, change = history): number =>
  drive.receive(command({ kind: "setExecutor", executor: "hpc", change: { kind: "importHistory", history: change } }))
    .events.length;

it("counts as the usage that own work would have left, and fades", () => {
  const { drive, accelerators } = started();
  expect(imports(drive)).toBeGreaterThan(0);
  // Constant use of a from -20 d and b from -10 d on: a (1 - 2^(-20/7)) + b (1 - 2^(-10/7)).
  expect(accelerators(usageKey(nlp, "ann"))).toBeCloseTo(4 * (1 - 2 ** (-20 / 7)), 1);
  expect(accelerators(usageKey(nlp, "bob"))).toBeCloseTo(8 * (1 - 2 ** (-10 / 7)), 1);
  const now = accelerators(usageKey(nlp));
  expect(now).toBeCloseTo(accelerators(usageKey(nlp, "ann")) + accelerators(usageKey(nlp, "bob")), 1);
  expect(accelerators(usageKey(teamName("lab")))).toBeCloseTo(now, 5);
  drive.nowMs += 7 * DAY_MS;
  expect(accelerators(usageKey(nlp))).toBeCloseTo(now / 2, 2);
});

it("predicts run times until own work has enough runs, and survives a restart", () => {
  const { drive, accelerators } = started();
  imports(drive);
  const work = {
    spec: { ...spec("train-9"), team: nlp, gang: { ...spec("x").gang, workers: 1, accelerators: 8 } },
    actor: "ann",
  };
  const predicted = (): number | undefined => {
    const { rules } = worldOf(drive.engine);
    return predictedRun(rules, drive.engine.state.runTimes, work)?.durationMs;
  };
  expect(predicted()).toBe(6_000_000);
  const [digest, share] = [drive.engine.digest(), accelerators(usageKey(nlp))];
  drive.restart();
  expect([drive.engine.digest(), accelerators(usageKey(nlp)), predicted()]).toEqual([digest, share, 6_000_000]);
  // Another policy forgets predictions, and this one has them again.
  drive.receive(command({ kind: "setPolicy", policy: defaultPolicy }));
  expect([predicted(), accelerators(usageKey(nlp))]).toEqual([undefined, 0]);
  drive.receive(command({ kind: "setPolicy", policy }));
  expect([predicted(), accelerators(usageKey(nlp))]).toEqual([6_000_000, share]);
});

it("does not count for the teams above a team that was removed, as after a restart", () => {
  const { drive, accelerators } = started();
  imports(drive);
  expect(accelerators(usageKey(teamName("lab")))).toBeGreaterThan(1);
  drive.receive(command({ kind: "removeTeam", team: nlp }));
  const live = accelerators(usageKey(teamName("lab")));
  drive.restart();
  expect([live, accelerators(usageKey(teamName("lab")))]).toEqual([0, 0]);
});

it("is recorded once, replaced by other content, and removed with its executor", () => {
  const { drive, accelerators } = started();
  const { runTimes } = drive.engine.state;
  imports(drive);
  const sequence = drive.engine.state.sequence;
  imports(drive);
  expect(drive.engine.state.sequence).toBe(sequence);
  imports(drive, { ...history, digest: "b", uses: history.uses.slice(0, 1), runs: [] });
  expect([accelerators(usageKey(nlp, "bob")), runTimes.size]).toEqual([0, 0]);
  drive.receive(command({ kind: "setExecutor", executor: "hpc", change: { kind: "remove" } }));
  expect([accelerators(usageKey(nlp)), drive.engine.state.importedHistories.size]).toEqual([0, 0]);
  const refused = drive.receive(
    command({ kind: "setExecutor", executor: "other", change: { kind: "importHistory", history } }),
  );
  expect(refused.replies[0]?.kind).toBe("rejected");
});
