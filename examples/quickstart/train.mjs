// Trains a small language model on this repository's text, as one worker of a data-parallel gang. See README.md.
import { appendFileSync, existsSync, lstatSync, mkdirSync, readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { newest, save, writeAtomically } from "./checkpoint.mjs";
import { assemble, rank, world } from "./gang.mjs";
import { Model, draw } from "./model.mjs";
import { adam, warmAndCool } from "./adam.mjs";
import { ggufBytes } from "./gguf.mjs";
import { FILE_SEPARATOR, VOCABULARY, decode, encode } from "./tokens.mjs";
const setting = (name, fallback) => Number(process.env[`QUICKSTART_${name}`] ?? fallback);
const [steps, batch, rate, seed] = [setting("STEPS", 900), setting("BATCH", 8), setting("RATE", 0.006), 1];
const [context, hidden, layers] = [setting("CONTEXT", 256), setting("HIDDEN", 64), setting("LAYERS", 2)];
const recipe = { steps, batch, rate, seed, context, hidden, layers };
const [saveEvery, reportEvery] = [setting("SAVE_EVERY", 50), setting("REPORT_EVERY", 10)];
const { HEADROOM_CHECKPOINT_DIR: directory = "checkpoints", HEADROOM_PROGRESS_FILE: progressFile } = process.env;
const { HEADROOM_CHECKPOINT_REQUEST_FILE: requestFile } = process.env;
const SAMPLE_LENGTH = 400;
let [stopWanted, hasAnswered] = [false, false];
const giveUp = (error) => process.exit(console.error(`rank ${rank} gives up: ${error.message}`) ?? 1);

/** The *.md, *.ts and *.js files below a folder in the order of their paths, with at most 64 KiB of each. */
function texts(folder) {
  const names = readdirSync(folder).filter((name) => !/^(\.|node_modules$|dist$)/.test(name));
  return names.sort().flatMap((name) => {
    const [path, kind] = [join(folder, name), lstatSync(join(folder, name))];
    if (kind.isDirectory()) return texts(path);
    if (!kind.isFile() || !/\.(md|[jt]s)$/.test(name)) return [];
    return [readFileSync(path).subarray(0, 2 ** 16), Buffer.of(FILE_SEPARATOR)];
  });
}

/** The training text, at most 1 MiB. The first attempt stores it, so that later edits do not change a resumed run. */
function corpus() {
  const frozen = join(directory, "corpus.txt");
  const root = process.env.QUICKSTART_CORPUS ?? join(import.meta.dirname, "../..");
  mkdirSync(directory, { recursive: true });
  if (!existsSync(frozen)) writeAtomically(frozen, Buffer.concat(texts(root)).subarray(0, 2 ** 20));
  return readFileSync(frozen);
}

/** Reports to the control plane: one JSON line for each report. */
function report(line) {
  console.log(JSON.stringify(line));
  if (progressFile) appendFileSync(progressFile, `${JSON.stringify(line)}\n`);
}

/**
 * Gradient of this rank for a step, followed by its loss and its stop flag. The step number determines the examples.
 */
function gradientOf(model, codes, step) {
  const [tokens, targets] = [new Uint16Array(model.rows), new Uint16Array(model.rows)];
  for (let i = 0; i < model.sequences; i++) {
    const start = Math.floor(draw(seed, step, i * world + rank) * (codes.length - context));
    tokens.set(codes.subarray(start, start + context), i * context);
    targets.set(codes.subarray(start + 1, start + context + 1), i * context);
  }
  const share = model.sequences / batch;
  const loss = model.backward(tokens, targets, share);
  model.gradient.set([loss * share, stopWanted ? 1 : 0], model.size);
  return model.gradient;
}

/** A new model, or the model in a checkpoint: the weights, then Adam's two vectors. */
function restore(checkpoint) {
  const model = new Model({ ...recipe, sequences: Math.ceil((batch - rank) / world) });
  const state = new Float32Array(3 * model.size);
  state.set(model.weights);
  if (checkpoint.length === 0) return { model, state, progress: { recipe, step: 0, losses: 0 } };
  const end = checkpoint.indexOf("\n") + 1;
  const progress = JSON.parse(checkpoint.subarray(0, end));
  if (JSON.stringify(progress.recipe) !== JSON.stringify(recipe)) throw new Error("the checkpoint has another recipe");
  new Uint8Array(state.buffer).set(checkpoint.subarray(end));
  model.weights.set(state.subarray(0, model.size));
  return { model, state, progress };
}

/** Continues a text by `length` tokens, each sampled from the model's distribution. */
function sample(weights, start, length) {
  const model = new Model({ ...recipe, sequences: 1 });
  model.weights.set(weights);
  const tokens = Array.from(start);
  for (let i = 0; i < length; i++) {
    const seen = tokens.slice(-context);
    const at = (seen.length - 1) * VOCABULARY;
    const chances = model
      .forward([...seen, ...Array(context - seen.length).fill(0)])
      .subarray(at, at + VOCABULARY)
      .map(Math.exp);
    let left = draw(seed, i, -2) * chances.reduce((sum, chance) => sum + chance, 0);
    tokens.push(
      Math.max(
        chances.findIndex((chance) => (left -= chance) < 0),
        0,
      ),
    ); // because of rounding, a remainder can be left
  }
  return decode(tokens);
}

/** Writes the trained model as GGUF, and a sample of its text. */
function publish({ weights }, codes) {
  const path = resolve(directory, "model.gguf");
  writeAtomically(path, ggufBytes("quickstart", recipe, weights));
  const parameters = Object.fromEntries(Object.entries(recipe).map(([name, value]) => [name, String(value)]));
  report({ kind: "artifact", name: "model:quickstart", path, parameters }); // registered when this attempt succeeds
  report({ kind: "artifact", name: "model", path }); // workloads that wait for this artifact can start
  const text = sample(weights, codes.subarray(0, context / 2), SAMPLE_LENGTH);
  writeAtomically(join(directory, "sample.txt"), text);
  console.log(`the model writes:\n${text}`);
}

async function main() {
  const gang = await assemble(giveUp);
  const codes = encode(await gang.share(rank === 0 ? corpus() : null));
  const { model, state, progress } = restore(await gang.share(rank === 0 ? newest(directory) : null));
  if (codes.length <= context) throw new Error("there is no text to learn from");
  console.log(`rank ${rank} of ${world} starts after step ${progress.step}`);
  process.on("SIGTERM", () => (stopWanted = true)); // a signal that comes earlier ends the process, because there is nothing to save
  for (let [stopping, since] = [false, performance.now()]; progress.step < steps && !stopping;) {
    const total = await gang.sum(gradientOf(model, codes, progress.step));
    adam(state, total, progress.step + 1, rate * warmAndCool(progress.step, steps));
    model.weights.set(state.subarray(0, model.size));
    progress.step += 1;
    progress.losses += total.at(-2);
    stopping = total.at(-1) > 0; // the stop flag of any rank reaches all ranks in the same step
    await turn(); // Signals arrive between two turns of the event loop. A single worker waits for no socket, so it must wait here.
    if (rank > 0) continue;
    if (progress.step % reportEvery === 0) {
      const tokensPerSecond = Math.round((1000 * reportEvery * batch * context) / (performance.now() - since));
      const metrics = { loss: progress.losses / reportEvery, tokensPerSecond };
      report({ kind: "progress", step: progress.step, totalSteps: steps, metrics });
      [progress.losses, since] = [0, performance.now()];
    }
    const isAsked = !hasAnswered && requestFile !== undefined && existsSync(requestFile);
    hasAnswered ||= isAsked;
    if (stopping || isAsked || progress.step === steps || progress.step % saveEvery === 0)
      report({ kind: "checkpoint", step: progress.step, path: save(directory, progress, state) });
  }
  if (rank === 0 && progress.step === steps) publish(model, codes);
  await gang.share(Buffer.alloc(0)); // the other workers wait until rank 0 has written everything
  gang.leave();
  process.exitCode = progress.step < steps ? 143 : 0; // 128 + SIGTERM is the shell's convention for a process that was stopped
}

main().catch(giveUp);
