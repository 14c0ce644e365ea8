/** A model of 20,000 parameters that writes letters, trained in a fraction of a second. */
import { writeFileSync } from "node:fs";
import { adam } from "../../quickstart/adam.mjs";
import { ggufBytes } from "../../quickstart/gguf.mjs";
import { Model } from "../../quickstart/model.mjs";

const TRAINED_CONTEXT = 64;
const STEPS = 60;

/** Writes the model as GGUF, to be served with a context of this many tokens. */
export function writeTinyModel(path: string, context: number): void {
  const recipe = { context, hidden: 32, layers: 1, seed: 2 };
  const model = new Model({ ...recipe, context: TRAINED_CONTEXT, sequences: 1 });
  const state = new Float32Array(3 * model.size);
  state.set(model.weights);
  const text = Buffer.from("the quick brown fox jumps over the lazy dog, and imports it. ".repeat(9));
  for (let step = 1; step <= STEPS; step++) {
    const start = (step * 17) % 400;
    const end = start + TRAINED_CONTEXT;
    model.backward(text.subarray(start, end), text.subarray(start + 1, end + 1), 1);
    adam(state, model.gradient, step, 0.02);
    model.weights.set(state.subarray(0, model.size));
  }
  writeFileSync(path, ggufBytes("tiny", recipe, model.weights));
}
