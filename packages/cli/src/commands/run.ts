import { defineCommand, jsonOption } from "../command.ts";
import { runOptions, type RunCommandOptions } from "../run/run-options.ts";

export const runCommand = defineCommand<RunCommandOptions>({
  name: "run",
  summary: "Submit a command line, a batch script of Slurm or a manifest of Kubernetes",
  details:
    "The command runs in the current directory, in every worker, with torchrun's variables set.\n" +
    "A first word that names a script with #SBATCH lines is read as sbatch reads it, and a manifest of Kubernetes as a Job;\n" +
    "--dry-run shows what becomes of each line.\n" +
    "After -- stands a command: one word is a shell command line; several words are a program and its arguments.\n" +
    "With --follow the exit code is 0 when the workload succeeded, 1 when it failed, 3 when --timeout passed or it can never start. Ctrl-C leaves the workload running.\n" +
    "Examples:\n  headroom run --gpus 1 -- python3 train.py\n  headroom run --workers 2 --follow -- 'echo $RANK of $WORLD_SIZE'\n" +
    "  headroom run train.sbatch\n  headroom run job.yaml\n  headroom run --array 0-99%4 -- 'python3 eval.py --shard $SLURM_ARRAY_TASK_ID'\n" +
    "  headroom run --gpus 8 --type H100 --model llama-3-8b --batch 64 -- torchrun train.py",
  arguments: [
    {
      syntax: "<command...>",
      description: "batch script with its arguments, a manifest, or a command (put -- before it)",
    },
  ],
  takesRest: true,
  options: [...runOptions, jsonOption],
  async run(context, invocation) {
    const { submit } = await import("../run/submit.ts");
    return submit(context, invocation);
  },
});
