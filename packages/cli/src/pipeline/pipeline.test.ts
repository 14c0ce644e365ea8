/** `headroom pipeline` against a control plane whose steps are real processes. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startLive, type LiveControlPlane } from "../testing/live-control-plane.ts";

const report = (name: string, text: string): string =>
  `echo '{"kind":"artifact","name":"${name}","path":"data:,${text}"}' >> "$HEADROOM_PROGRESS_FILE"`;

const file = `kind: pipeline
name: retrain
params:
  - { name: rows, default: "10" }
  - { name: date, default: "2026-01-01" }
triggers: [{ webhook: true }]
runsAtOnce: 1
steps:
  - name: prepare
    cache: true
    params: [rows]
    workload:
      kind: train
      produces: [score]
      run: ${JSON.stringify(report("score", "0.9"))}
  - name: gate
    after: [prepare]
    when: [prepare.score >= 0.8]
    approval: true
  - name: publish
    after: [gate]
    forEach: { values: [a, b] }
    workload: { kind: train, run: 'test "$HEADROOM_PARAM_ROWS" != 13', walltime: 1m }
`;

let live: LiveControlPlane;
beforeAll(async () => {
  live = await startLive();
  writeFileSync(path.join(live.folder, "retrain.yaml"), file);
  expect(await headroom("apply", "-f", "retrain.yaml", "--yes")).toMatch(/pipeline +retrain/);
});
afterAll(() => live.close());

async function headroom(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await live.headroom(args);
  return code === 0 ? stdout.trimEnd() : `${code} ${stderr.trimEnd()}`;
}

interface ShownRun {
  readonly phase: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly steps: readonly { readonly key: string; readonly phase: string; readonly sentence: string }[];
}

/** The run, as soon as it has so many steps of the phase. */
async function reached(run: string, phase: string, count: number): Promise<ShownRun> {
  for (;;) {
    const shown = JSON.parse(await headroom("pipeline", "show", run, "--json")) as ShownRun;
    if ((shown.counts[phase] ?? 0) >= count) return shown;
    if (shown.phase === "failed" && phase !== "failed") throw new Error(JSON.stringify(shown));
  }
}

describe("pipelines from the command line", () => {
  it("are planned, run, explained, approved, and reuse what they made", async () => {
    expect(await headroom("pipeline", "list")).toMatch(/retrain +default +3 +0/);
    const plan = await headroom("pipeline", "run", "retrain", "--dry-run");
    expect(plan).toMatch(/publish +gate +by results|publish +gate +runs +2 +\? +1m +walltime/);
    expect(await headroom("pipeline", "runs")).toBe("");
    expect(await headroom("pipeline", "run", "retrain")).toMatch(/^started p1 of retrain/);
    await reached("p1", "awaitingApproval", 1);
    expect(await headroom("why", "p1")).toMatch(
      /gate +awaiting approval: Waits for approval: headroom pipeline approve p1 gate/,
    );
    expect(await headroom("pipeline", "run", "retrain")).toMatch(/^started p2/);
    expect(await headroom("why", "p2")).toMatch(/prepare +waiting: Waits for another run/);
    expect(await headroom("pipeline", "approve", "p1", "--reason", "good")).toBe("approved gate of p1");
    expect((await reached("p1", "succeeded", 4)).steps.map(({ key }) => key)).toEqual([
      "prepare",
      "gate",
      "publish[0]",
      "publish[1]",
    ]);
    const second = await reached("p2", "awaitingApproval", 1);
    expect(second.steps[0]).toMatchObject({ phase: "cached", sentence: "Run p1 made the same." });
    expect(await headroom("pipeline", "reject", "p2")).toBe("rejected gate of p2");
    expect(await headroom("pipeline", "runs", "retrain")).toMatch(/p2 +retrain +failed .*\n.*p1 +retrain +succeeded/);
    expect(await headroom("pipeline", "run", "retrain", "--dry-run")).toMatch(/prepare +cached/);
  });

  it("are retried from the failed step, cancelled, filled for dates, and removed", async () => {
    await headroom("pipeline", "run", "retrain", "--param", "rows=13");
    await reached("p3", "awaitingApproval", 1);
    await headroom("pipeline", "approve", "p3", "gate");
    await reached("p3", "failed", 2);
    expect(await headroom("pipeline", "retry", "p3")).toBe("p3: 2 steps again");
    expect(await headroom("pipeline", "retry", "p3", "--from", "nothing")).toMatch(/^1 /);
    const span = ["--from", "2026-03-28", "--to", "2026-03-30", "--time-zone", "Europe/Oslo"];
    expect(await headroom("pipeline", "backfill", "retrain", ...span, "--dry-run")).toMatch(
      /3, 2026-03-28 to 2026-03-30/,
    );
    expect(await headroom("pipeline", "backfill", "retrain", ...span)).toMatch(/^started 3 runs of retrain, p4 to p6/);
    expect(await headroom("pipeline", "backfill", "retrain", "--from", "2026-02-30")).toMatch(
      /^2 .*days of the calendar/,
    );
    expect(await headroom("pipeline", "cancel", "p6")).toBe("cancelling p6");
    expect(await headroom("pipeline", "show", "p6")).toMatch(/cancelled/);
    expect(await headroom("pipeline", "show", "retrain")).toMatch(/kind: pipeline/);
    expect(await headroom("pipeline", "remove", "retrain")).toBe("removed pipeline retrain; its runs continue");
    expect(await headroom("pipeline", "run", "retrain")).toMatch(/^1 .*There is no pipeline retrain/);
    expect(await headroom("pipeline", "show", "p999")).toMatch(/^1 .*There is no pipeline run p999/);
  });
});
