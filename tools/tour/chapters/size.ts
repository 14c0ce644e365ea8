import type { Chapter } from "../chapter.ts";

interface Training {
  readonly kind: string;
  readonly nodeCount: number;
  readonly step: {
    readonly seconds: number;
    readonly interval: { readonly lowSeconds: number; readonly highSeconds: number };
  };
}

export const size: Chapter = {
  name: "size",
  shows:
    "The performance model answers before anything runs: plan, step time, memory, launch command, and what cannot be.",
  needs: [],
  async run(stage) {
    const question = ["size", "train", "--model", "llama-3-70b", "--accelerator", "H100"];
    const answer = await stage.headroom(...question, "--gpus", "256");
    stage.matches("it names plan, step time and memory", answer.stdout, /plan +tensor[^]*step +[^]*memory/);
    stage.matches("it prints the launch command", answer.stdout, /torchrun .*--tensor-model-parallel-size/);
    const { kind, nodeCount, step } = await stage.json<Training>(...question, "--gpus", "256");
    stage.equal("256 accelerators are 32 nodes", [kind, nodeCount], ["training", 32]);
    const { lowSeconds, highSeconds } = step.interval;
    stage.holds(
      "the step time lies within its interval",
      lowSeconds <= step.seconds && step.seconds <= highSeconds,
      step,
    );
    const twice = await stage.json<Training>(...question, "--gpus", "512");
    stage.holds(
      "twice the accelerators are faster, and not more than twice as fast",
      twice.step.seconds < step.seconds && twice.step.seconds > 0.45 * step.seconds,
      twice.step,
    );
    const impossible = await stage.headroom(...question, "--gpus", "1");
    stage.equal("a model that does not fit is exit code 3", impossible.code, 3);
    stage.matches("the answer names the nearest that works", impossible.stdout + impossible.stderr, /accelerators/);
  },
};
