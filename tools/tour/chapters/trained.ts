import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import type { Chapter } from "../chapter.ts";
import { attemptLogs } from "../../../packages/cli/test/quickstart-run.ts";
import { quickstartCheckpoints } from "../quickstart.ts";

/** Loss in nats per byte. A model that has learned nothing has ln 264 = 5.58. */
const LOSS_MAX = 1.8;
const STEPS = 900;

interface Shown {
  readonly phase: string;
  readonly checkpoint: { readonly step: number } | null;
  readonly attempts: readonly unknown[];
}

export const trained: Chapter = {
  name: "trained",
  shows: "The quickstart ends with a trained model, after everything that happened meanwhile.",
  needs: ["start"],
  async run(stage) {
    const followed = await stage.headroom("logs", "-f", "--tail", "3", "quickstart");
    stage.equal("the quickstart succeeds", followed.code, 0);
    const shown = await stage.json<Shown>("show", "quickstart");
    stage.equal(
      "it succeeded in one attempt, with a checkpoint of the last step",
      [shown.phase, shown.attempts.length, shown.checkpoint?.step],
      ["succeeded", 1, STEPS],
    );
    const losses = [...(attemptLogs(stage.home)[0]?.losses.values() ?? [])].map(Number);
    stage.note(`loss: ${losses[0]} at first, ${losses.at(-1)} at the end`);
    stage.holds(`the loss fell below ${LOSS_MAX} nats a byte`, Number(losses.at(-1)) < LOSS_MAX, losses.at(-1));
    const directory = await quickstartCheckpoints(stage);
    stage.holds("the model for inference servers is there", existsSync(path.join(directory, "model.gguf")));
    const sample = readFileSync(path.join(directory, "sample.txt"), "utf8");
    stage.holds("the model writes text", sample.trim().length > 0, sample);
    stage.note("a few lines by the model:");
    for (const line of sample.trim().split("\n").slice(0, 4)) stage.note(`  ${line}`);
    await stage.headroom("list", "--limit", "5");
  },
};
