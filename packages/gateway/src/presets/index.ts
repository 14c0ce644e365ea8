/** Presets by the engine name in gateway.yaml. A new engine needs one file and one line here. */
import { headroom } from "./headroom.ts";
import { llamacpp } from "./llamacpp.ts";
import type { EnginePreset } from "./preset.ts";
import { sglang } from "./sglang.ts";
import { triton } from "./triton.ts";
import { trtllm } from "./trtllm.ts";
import { vllm } from "./vllm.ts";

export const presets = { vllm, sglang, llamacpp, trtllm, triton, headroom } as const satisfies Readonly<
  Record<string, EnginePreset>
>;
export type PresetName = keyof typeof presets;

/** Values that fill in a replica's start command. */
export interface ReplicaValues {
  /** A path, or a name that the engine finds by itself. */
  readonly model: string;
  /** The model's name in requests. */
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly accelerators: number;
  readonly drainSeconds: number;
}

/** The command that starts a replica, as a list of arguments. It does not pass through a shell. */
export function startCommand({ start }: EnginePreset, values: ReplicaValues): readonly string[] {
  return start.command.split(" ").map((part) =>
    part.replace(/\{(\w+)\}/g, (_whole, key: string) => {
      if (!Object.hasOwn(values, key)) throw new Error(`the preset names an unknown value: ${key}`);
      return String(values[key as keyof ReplicaValues]);
    }),
  );
}
