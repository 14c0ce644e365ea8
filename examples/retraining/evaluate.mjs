// Measures a model on text that it was not trained on, in nats a byte, and reports the result `loss`. See README.md.
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { encode } from "../quickstart/tokens.mjs";
import { createBuiltinEngine } from "../serving/builtin-engine.mjs";
import { logProbabilities } from "../serving/sampler.mjs";

const { HEADROOM_ARTIFACT_MODEL_QUICKSTART: model, HEADROOM_PROGRESS_FILE: progressFile } = process.env;
const { EVALUATION_TEXT: file = join(import.meta.dirname, "evaluation.txt") } = process.env;

/** Mean loss over the text, cut into pieces of the model's context. */
async function lossOn(engine, tokens) {
  let [sum, count] = [0, 0];
  for (let from = 0; from + 1 < tokens.length; from += engine.context - 1) {
    const piece = tokens.slice(from, from + engine.context);
    await engine.truncate(0, 0);
    for (let at = 0; at + 1 < piece.length; at++, count++)
      sum -= logProbabilities(await engine.evaluate(0, [piece[at]]))[piece[at + 1]];
  }
  return sum / count;
}

const engine = await createBuiltinEngine(model, 1);
const loss = await lossOn(engine, Array.from(encode(readFileSync(file))));
console.log(`${loss.toFixed(3)} nats a byte`);
const report = { kind: "artifact", name: "loss", path: `data:,${loss.toFixed(3)}` };
if (progressFile) appendFileSync(progressFile, `${JSON.stringify(report)}\n`);
