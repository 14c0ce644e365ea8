import type { Chapter } from "../chapter.ts";

const teams = `kind: team
name: default
guarantee: { accelerators: 2 }
---
kind: team
name: product
guarantee: { accelerators: 2 }
---
kind: team
name: research
`;

/** A workload whose worker prints a line on SIGTERM and exits. It can be started again. */
const sweep = `kind: train
name: sweep
team: research
run: 'trap "echo saved on SIGTERM; exit 143" TERM; echo "try $HEADROOM_ATTEMPT_ID"; while :; do sleep 0.1; done'
gang: { accelerators: 2, cores: 0 }
grace: 5s
`;

interface Shown {
  readonly id: string;
  readonly phase: string;
  readonly attempts: readonly { readonly outcome?: string }[];
}
interface History {
  readonly items: readonly { readonly sentence: string; readonly plan?: { readonly workloadId: string } }[];
}

export const preemption: Chapter = {
  name: "preemption",
  shows: "A team below its guarantee takes back accelerators that another team borrowed, and the ground is recorded.",
  needs: ["start"],
  async run(stage) {
    stage.write("teams.yaml", teams);
    stage.equal("the teams are applied", (await stage.headroom("apply", "-f", "teams.yaml", "--yes")).code, 0);
    stage.write("sweep.yaml", sweep);
    await stage.headroom("apply", "-f", "sweep.yaml", "--yes");
    await stage.until("research borrows two accelerators", async () =>
      (await stage.headroom("logs", "sweep")).stdout.includes("try") ? true : null,
    );
    const quickstart = (await stage.json<Shown>("show", "quickstart")).attempts.length;

    const job = ["--team", "product", "--name", "release", "--gpus", "2", "--cores", "0"];
    const command = ["--", "echo built; sleep 1"];
    const forecast = await stage.headroom("run", ...job, "--dry-run", ...command);
    stage.matches("a dry run names the victim before anything is submitted", forecast.stdout, /after preempting sweep/);
    const release = await stage.headroom("run", ...job, "--follow", ...command);
    stage.equal("the job of the guaranteed team runs to its end", [release.code, release.stdout], [0, "built\n"]);

    const { id } = await stage.json<Shown>("show", "release");
    await stage.headroom("history", "sweep");
    const { items } = await stage.json<History>("history", "sweep");
    const grounds = items.filter(({ plan }) => plan?.workloadId === id).map(({ sentence }) => sentence);
    stage.equal("one preemption is recorded, with the job that it served", grounds.length, 1);
    stage.matches("its ground names both teams", grounds[0] ?? "", /research.*product.*entitlement/);
    const back = await stage.until("sweep runs again", async () => {
      const shown = await stage.json<Shown>("show", "sweep");
      return shown.phase === "running" && shown.attempts.length === 2 ? shown : null;
    });
    stage.equal("sweep has a second attempt; the first was stopped, not failed", back.attempts[0]?.outcome, "stopped");
    const { attempts } = await stage.json<Shown>("show", "quickstart");
    stage.equal("the quickstart, within the guarantee of its team, was not touched", attempts.length, quickstart);
    await stage.headroom("stop", "sweep");
    await stage.until("sweep has stopped", async () =>
      (await stage.json<Shown>("show", "sweep")).phase === "cancelled" ? true : null,
    );
  },
};
