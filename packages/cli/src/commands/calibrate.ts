import { defineCommand, jsonOption } from "../command.ts";
import type { CalibrateOptions } from "../size/run-calibrate.ts";

const details = `Needs a Python with PyTorch, takes about two minutes, and changes nothing on the machine. The script can also be copied
and run by itself (packages/perf/assets/calibrate.py).

Examples:
  headroom calibrate --out h200.json
  headroom calibrate --show h200.json
  headroom size train --model llama-3-8b --accelerator H200 --gpus 8 --profile h200.json`;

export const calibrateCommand = defineCommand<CalibrateOptions>({
  name: "calibrate",
  summary: "Measure what this machine's accelerator reaches, for `headroom size`",
  details,
  options: [
    {
      flags: "--out <file>",
      description: "output file of the profile (default: calibration.json)",
      complete: "file",
    },
    { flags: "--python <command>", description: "a Python with PyTorch (default: python3)" },
    {
      flags: "--parts <names>",
      description: "matmul,attention,memory,host,launch,collectives (default: all)",
    },
    { flags: "--quick", description: "fewer sizes" },
    { flags: "--cpu", description: "measure the CPU even if there is an accelerator" },
    {
      flags: "--accelerator <name>",
      description: "its name in the catalogue, if the driver's name is ambiguous",
    },
    { flags: "--show <file>", description: "measure nothing; show an existing profile", complete: "file" },
    jsonOption,
  ],
  async run(context, { options }) {
    const { runCalibrate } = await import("../size/run-calibrate.ts");
    return runCalibrate(context, options);
  },
});
