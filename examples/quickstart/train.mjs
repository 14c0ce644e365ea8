// Trains a tiny language model on this repository's text, as one worker of a data-parallel gang. See README.md.
import { appendFileSync, existsSync, lstatSync, mkdirSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { newest, save, writeAtomically } from "./checkpoint.mjs";
import { assemble, rank, world } from "./gang.mjs";
import { Model, adam, draw, encode } from "./model.mjs";
const setting = (name, fallback) => Number(process.env[`QUICKSTART_${name}`] ?? fallback);
const [steps, batch, rate, seed] = [setting("STEPS", 5000), setting("BATCH", 128), setting("RATE", 0.004), 1];
const recipe = { steps, batch, rate, seed, context: setting("CONTEXT", 8), hidden: setting("HIDDEN", 128) };
const [saveEvery, reportEvery] = [setting("SAVE_EVERY", 100), setting("REPORT_EVERY", 20)];
const { HEADROOM_CHECKPOINT_DIR: directory = "checkpoints", HEADROOM_PROGRESS_FILE: progressFile } = process.env;
const { HEADROOM_CHECKPOINT_REQUEST_FILE: requestFile } = process.env;
let [stopWanted, hasAnswered] = [false, false];
const giveUp = (error) => process.exit(console.error(`rank ${rank} gives up: ${error.message}`) ?? 1);

/** The *.md and *.ts files below a folder in the order of their paths, at most 64 KiB of each. */
function texts(folder) {
  const names = readdirSync(folder).filter((name) => !/^(\.|node_modules$|dist$)/.test(name));
  return names.sort().flatMap((name) => {
    const [path, kind] = [join(folder, name), lstatSync(join(folder, name))];
    if (kind.isDirectory()) return texts(path);
    return kind.isFile() && /\.(md|ts)$/.test(name) ? [readFileSync(path).subarray(0, 2 ** 16)] : [];
  });
}

/** What to learn, at most 1 MiB. The first attempt freezes it: edits must not change what a resumed run computes. */
function corpus() {
  const frozen = join(directory, "corpus.txt");
  const root = process.env.QUICKSTART_CORPUS ?? join(import.meta.dirname, "../..");
  mkdirSync(directory, { recursive: true });
  if (!existsSync(frozen)) writeAtomically(frozen, Buffer.concat(texts(root)).subarray(0, 2 ** 20));
  return readFileSync(frozen);
}

/** The control plane reads one line of JSON a report. */
function report(line) {
  console.log(JSON.stringify(line));
  if (progressFile) appendFileSync(progressFile, `${JSON.stringify(line)}\n`);
}

/** This rank's part of a step, its examples drawn by the step's number; its loss and its wish to stop travel along. */
function gradientOf(model, codes, step) {
  const gradient = new Float32Array(model.weights.length + 2);
  let loss = 0;
  for (let i = rank; i < batch; i += world) {
    const end = model.context + Math.floor(draw(seed, step, i) * (codes.length - model.context));
    loss += model.backward(codes.subarray(end - model.context, end), codes[end], 1 / batch, gradient);
  }
  gradient.set([loss / batch, stopWanted ? 1 : 0], model.weights.length);
  return gradient;
}

/** A new model, or the one in a checkpoint's bytes: the weights, then Adam's two vectors. */
function restore(checkpoint) {
  const model = new Model(recipe);
  const state = Float32Array.from({ length: 3 * model.weights.length }, (_, i) => model.weights[i] ?? 0);
  model.weights = state.subarray(0, model.weights.length);
  if (checkpoint.length === 0) return { model, state, progress: { recipe, step: 0, losses: 0 } };
  const end = checkpoint.indexOf("\n") + 1;
  const progress = JSON.parse(checkpoint.subarray(0, end));
  if (JSON.stringify(progress.recipe) !== JSON.stringify(recipe)) throw new Error("the checkpoint has another recipe");
  new Uint8Array(state.buffer).set(checkpoint.subarray(end));
  return { model, state, progress };
}

async function main() {
  const gang = await assemble(giveUp);
  const codes = encode(await gang.share(rank === 0 ? corpus() : null));
  const { model, state, progress } = restore(await gang.share(rank === 0 ? newest(directory) : null));
  if (codes.length <= model.context) throw new Error("there is no text to learn from");
  console.log(`rank ${rank} of ${world} starts after step ${progress.step}`);
  process.on("SIGTERM", () => (stopWanted = true)); // until here there was nothing to save
  for (let [stopping, since] = [false, performance.now()]; progress.step < steps && !stopping;) {
    const total = await gang.sum(gradientOf(model, codes, progress.step));
    adam(state, total, ++progress.step, rate * (1 - (0.9 * progress.step) / steps));
    progress.losses += total.at(-2);
    stopping = total.at(-1) > 0; // one rank's wish, heard by all in the same step
    if (rank > 0) continue;
    if (progress.step % reportEvery === 0) {
      const tokensPerSecond = Math.round((1000 * reportEvery * batch) / (performance.now() - since));
      const metrics = { loss: progress.losses / reportEvery, tokensPerSecond };
      report({ kind: "progress", step: progress.step, totalSteps: steps, metrics });
      [progress.losses, since] = [0, performance.now()];
    }
    const isAsked = !hasAnswered && requestFile !== undefined && existsSync(requestFile);
    hasAnswered ||= isAsked;
    if (stopping || isAsked || progress.step === steps || progress.step % saveEvery === 0)
      report({ kind: "checkpoint", step: progress.step, path: save(directory, progress, state) });
  }
  if (rank === 0 && progress.step === steps) {
    writeAtomically(join(directory, "sample.txt"), model.sample(codes.subarray(0, model.context), 400, seed));
    console.log(`the model writes:\n${readFileSync(join(directory, "sample.txt"))}`);
  }
  await gang.share(Buffer.alloc(0)); // the others stay until rank 0 has everything on disk
  gang.leave();
  process.exitCode = progress.step < steps ? 143 : 0; // 128 + SIGTERM, as a shell says it: stopped, not done
}

main().catch(giveUp);
