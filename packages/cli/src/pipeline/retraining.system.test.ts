/**
 * The loop of retraining, unattended, with real processes: each new version of the text starts a run, which trains and evaluates,
 * and moves the alias if the model is good enough. The control plane is killed in the middle of the runs; every step runs once for
 * each version all the same. `HEADROOM_KILLS=100` kills it so often.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { headroom } from "../testing/recorded-terminal.ts";
import { startProgram, type RunningProgram } from "../testing/running-program.ts";

const KILLS = Number(process.env["HEADROOM_KILLS"] ?? 2);

let root = "";
let home = "";
let work = "";
const started: RunningProgram[] = [];
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), "headroom-retraining-"));
  [home, work] = [path.join(root, "home"), path.join(root, "work")];
  for (const directory of [home, work]) mkdirSync(directory);
});
afterEach(async () => {
  await kill();
  rmSync(root, { recursive: true });
});

async function up(): Promise<void> {
  const program = startProgram(["up", "--no-console", "--port", "0", "--slots", "2"], { home });
  started.push(program);
  await program.saying(/runs on http:\/\/127\.0\.0\.1:(\d+)[^]*Ctrl-C/);
}

async function kill(): Promise<void> {
  for (const { process: child, ended } of started.splice(0)) {
    child.kill("SIGKILL");
    await ended;
  }
}

async function said(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await headroom(args, { workingDirectory: work, env: { HEADROOM_HOME: home } });
  if (code !== 0) throw new Error(`headroom ${args.join(" ")}: ${stderr}`);
  return stdout;
}

const report = (name: string, location: string): string =>
  `printf '{"kind":"artifact","name":"${name}","path":"%s"}\\n' "${location}" >> "$HEADROOM_PROGRESS_FILE"`;

/** The model is a copy of the text, and its score the number of lines. */
const pipeline = (): object => ({
  kind: "pipeline",
  name: "retrain",
  triggers: [{ artifact: "dataset:text" }],
  steps: [
    {
      name: "train",
      workload: {
        kind: "train",
        dir: work,
        data: { inputs: ["dataset:text"] },
        produces: ["model:chat"],
        run: [
          'echo "train $HEADROOM_ARTIFACT_DATASET_TEXT_VERSION" >> log',
          "sleep 0.3",
          'cp "$HEADROOM_ARTIFACT_DATASET_TEXT" "model-$HEADROOM_PIPELINE_RUN"',
          report("model:chat", "$PWD/model-$HEADROOM_PIPELINE_RUN"),
        ].join("\n"),
      },
    },
    {
      name: "evaluate",
      after: ["train"],
      workload: {
        kind: "train",
        dir: work,
        produces: ["score"],
        run: [
          'echo "evaluate $HEADROOM_ARTIFACT_MODEL_CHAT_VERSION" >> log',
          report("score", 'data:,$(wc -l < "$HEADROOM_ARTIFACT_MODEL_CHAT")'),
        ].join("\n"),
      },
    },
    {
      name: "promote",
      after: ["train", "evaluate"],
      when: ["evaluate.score >= 2"],
      setAlias: "model:chat@production",
    },
  ],
});

interface Runs {
  readonly items: readonly { readonly id: string; readonly phase: string }[];
}

/** Waits until so many runs have ended, and returns their phases. */
async function ended(count: number): Promise<readonly string[]> {
  for (;;) {
    const { items } = JSON.parse(await said("pipeline", "runs", "--json")) as Runs;
    const over = items.filter(({ phase }) => phase !== "waiting" && phase !== "running");
    if (items.length >= count && over.length === items.length) return over.map(({ phase }) => phase);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Registers a text of so many lines as the next version. */
async function register(version: number, lines: number): Promise<void> {
  const file = path.join(work, `text-${version}`);
  writeFileSync(file, "line\n".repeat(lines));
  await said("dataset", "register", "dataset:text", file);
}

it("promotes better models, and runs each step once for each version while the control plane is killed", async () => {
  await up();
  writeFileSync(path.join(work, "retrain.json"), JSON.stringify(pipeline()));
  await said("apply", "-f", "retrain.json", "--yes");
  await register(1, 1);
  expect(await ended(1)).toEqual(["succeeded"]);
  await expect(said("model", "show", "chat@production")).rejects.toThrow(/no artifact/);
  const versions = KILLS + 1;
  for (let version = 2; version <= versions; version++) {
    await register(version, 2);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 800));
    await kill();
    await up();
  }
  expect(await ended(versions)).toEqual(Array.from({ length: versions }, () => "succeeded"));
  const log = readFileSync(path.join(work, "log"), "utf8").trimEnd().split("\n");
  const wanted = Array.from({ length: versions }, (_, at) => at + 1).flatMap((number) => [
    `train dataset:default/text@${number}`,
    `evaluate model:default/chat@${number}`,
  ]);
  expect(log.toSorted()).toEqual(wanted.toSorted());
  const promoted = await said("model", "show", "chat@production");
  expect(promoted).toMatch(/pipeline run p\d+, step promote/);
  expect(await said("lineage", "model:chat@production")).toMatch(/dataset:text@\d+/);
}, 240_000);
