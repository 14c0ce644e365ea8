import { describe, expect, it } from "vitest";
import { engines } from "../replicas/engines.ts";
import { readLoad } from "../replicas/model-server-metrics.ts";
import { presets, startCommand } from "./index.ts";

const values = {
  model: "/models/m one",
  name: "chat",
  host: "127.0.0.1",
  port: 9001,
  accelerators: 2,
  drainSeconds: 45,
};

describe.each(Object.entries(presets))("the preset %s", (name, preset) => {
  it("starts a replica of the model on its address", () => {
    const command = startCommand(preset, values);
    expect(command.join(" ")).not.toMatch(/[{}]/);
    expect(command.join("\n")).toContain("/models/m one");
    expect(command.join(" ")).toContain("9001");
    if (preset.drain.onSigterm === "finishesStreams" && name !== "sglang") expect(command.join(" ")).toContain("45");
  });

  it("is what the gateway probes and reads", () => {
    const { waiting, running, kvUsage } = preset.metrics;
    const sample = ({ metric, label, value }: { metric: string; label?: string; value?: string }, amount: number) =>
      `${metric}{model_name="m"${label === undefined ? "" : `,${label}="${value}"`}} ${amount}`;
    const text = [sample(waiting[0]!, 3), sample(running[0]!, 5), sample(kvUsage[0]!, 0.25)].join("\n");
    expect(readLoad(text, engines[name as keyof typeof presets])).toMatchObject({
      queued: 3,
      running: 5,
      kvUsage: 0.25,
    });
    expect(engines[name as keyof typeof presets].probePath).toBe(preset.probe.path);
  });
});

it("refuses a start command with a value that no replica has", () => {
  const preset = { ...presets.vllm, start: { command: "x {secret}", port: 1 } };
  expect(() => startCommand(preset, values)).toThrow("secret");
});
