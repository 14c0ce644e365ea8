import { defineCommand, jsonOption } from "../command.ts";
import type { CalibrateOptions } from "../size/run-calibrate.ts";

const details = `The measurement needs a Python with PyTorch and takes about two minutes. It changes nothing on the machine. The script (packages/perf/assets/calibrate.py) can also be copied and run without headroom.

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
      description: "file to write the profile to (default: calibration.json)",
      complete: "file",
    },
    { flags: "--python <command>", description: "a Python interpreter with PyTorch (default: python3)" },
    {
      flags: "--parts <names>",
      description: "parts to measure: matmul,attention,memory,host,launch,collectives (default: all)",
    },
    { flags: "--quick", description: "fewer sizes" },
    { flags: "--cpu", description: "measure the CPU, even if the machine has an accelerator" },
    {
      flags: "--accelerator <name>",
      description: "name of the accelerator in the catalogue, if the driver's name fits several (default: none)",
    },
    {
      flags: "--show <file>",
      description: "do not measure; show an existing profile (default: none)",
      complete: "file",
    },
    jsonOption,
  ],
  async run(context, { options }) {
    const { runCalibrate } = await import("../size/run-calibrate.ts");
    return runCalibrate(context, options);
  },
});
