/** The document of an endpoint, made from a model, an engine and a few choices. */
import type { EnginePreset } from "@headroom/gateway";
import { CliError, exitCode } from "../cli-error.ts";

export interface DeployOptions {
  readonly engine?: string;
  readonly name?: string;
  readonly team?: string;
  readonly gpus?: string;
  readonly type?: string;
  readonly replicas?: string;
  readonly concurrency?: string;
  readonly idleToZero?: string;
  readonly dir?: string;
}

export interface DeployDocument {
  readonly name: string;
  readonly text: string;
  /** Lines for `gateway.yaml`, so that requests reach the endpoint. */
  readonly gateway: readonly string[];
}

/** By the name of the engine in `gateway.yaml`. */
type Presets = Readonly<Record<string, EnginePreset>>;

/** Time that engines have to end their streams, and the grace period, which is a little longer. */
const DRAIN_SECONDS = 30;
const GRACE = "35s";
const CONCURRENCY = 16;

/** Triton serves models of a repository and has no single model to start with. */
const isEngine = (presets: Presets, name: string): boolean => Object.hasOwn(presets, name) && name !== "triton";

export function deployDocument(presets: Presets, model: string, options: DeployOptions): DeployDocument {
  const [engine, preset] = engineNamed(presets, options.engine ?? "vllm");
  const isArtifact = model.startsWith("model:");
  const served = servedName(model);
  const name = options.name ?? served;
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(name))
    throw new CliError(
      `--name takes at most 100 letters, digits, dots, dashes and underscores, and begins with a letter or digit; got ${name}`,
      exitCode.usage,
    );
  const gpus = options.gpus ?? "1";
  const range = rangeOf(options.replicas ?? "1");
  const { concurrency, idleToZero } = options;
  const isScaled = concurrency !== undefined || idleToZero !== undefined || range.min !== range.max;
  const command = commandOf(preset, {
    model: isArtifact ? '"$MODEL_DIR"' : shellWord(model),
    name: shellWord(served),
    gpus,
  });
  const lines = [
    "kind: serve",
    `name: ${yamlText(name)}`,
    ...(options.team === undefined ? [] : [`team: ${yamlText(options.team)}`]),
    `run: ${yamlText(`exec ${command}`)}`,
    ...(options.dir === undefined ? [] : [`dir: ${yamlText(options.dir)}`]),
    `gang: { accelerators: ${numberIn("--gpus", gpus)} }`,
    ...(options.type === undefined ? [] : [`accelerator: ${yamlText(options.type)}`]),
    range.min === range.max ? `replicas: ${range.max}` : `replicas: { min: ${range.min}, max: ${range.max} }`,
    `ready: { path: ${preset.probe.path} }`,
    `model: ${yamlText(isArtifact ? model : served)}`,
    `grace: ${GRACE}`,
  ];
  if (isScaled) {
    const target = numberIn("--concurrency", concurrency ?? String(CONCURRENCY));
    const zero = idleToZero === undefined ? "" : `, idleToZero: ${yamlText(idleToZero)}`;
    lines.push(`scale: { concurrency: ${target}${zero} }`);
  }
  const endpoint = `${options.team ?? "default"}/${name}`;
  return {
    name,
    text: `${lines.join("\n")}\n`,
    gateway: [
      `pools: [{ name: ${name}, engine: ${engine}, endpoint: ${endpoint} }]`,
      `models: [{ name: ${served}, pools: [${name}] }]`,
    ],
  };
}

function engineNamed(presets: Presets, name: string): readonly [string, EnginePreset] {
  const known = name === "llama.cpp" ? "llamacpp" : name;
  const preset = isEngine(presets, known) ? presets[known] : undefined;
  if (preset !== undefined) return [known, preset];
  const names = Object.keys(presets).filter((each) => isEngine(presets, each));
  throw new CliError(
    `--engine must be one of ${names.join(", ")}; got ${name}. For another server write the document yourself`,
    exitCode.usage,
  );
}

function commandOf(
  { start }: EnginePreset,
  { model, name, gpus }: { readonly model: string; readonly name: string; readonly gpus: string },
): string {
  const values: Readonly<Record<string, string>> = {
    model,
    name,
    host: "127.0.0.1",
    port: '"$PORT"',
    accelerators: String(Math.max(1, Number(gpus))),
    drainSeconds: String(DRAIN_SECONDS),
  };
  return start.command.replaceAll(/\{(\w+)\}/g, (_whole, key: string) => values[key] ?? "");
}

/** `model:chat@3`, `/models/chat.gguf` and `org/Chat` are served as `chat`, `chat` and `Chat`. */
function servedName(model: string): string {
  const last =
    model
      .replace(/^model:/, "")
      .replace(/@.*$/, "")
      .replace(/\.gguf$/i, "")
      .split("/")
      .at(-1) ?? "";
  const name = last
    .replaceAll(/[^A-Za-z0-9._-]/g, "-")
    .replace(/^[._-]+/, "")
    .slice(0, 63);
  if (name !== "") return name;
  throw new CliError(`no name can be made from ${model}: give one with --name`, exitCode.usage);
}

function rangeOf(text: string): { readonly min: number; readonly max: number } {
  const [, low = "", high = low] = /^(\d{1,4})(?:(?:-|\.\.)(\d{1,4}))?$/.exec(text) ?? [];
  if (low === "") throw new CliError(`--replicas must be a number or bounds such as 0-4, got ${text}`, exitCode.usage);
  return { min: Number(low), max: Number(high) };
}

function numberIn(flag: string, text: string): string {
  if (/^\d{1,6}(\.\d{1,3})?$/.test(text)) return text;
  throw new CliError(`${flag} must be a number, got ${text}`, exitCode.usage);
}

const shellWord = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** Plain where YAML reads it as this text, else quoted as in JSON. */
const yamlText = (text: string): string =>
  /^[A-Za-z/][\w./-]*$/.test(text) && !/^(?:true|false|null)$/i.test(text) ? text : JSON.stringify(text);
