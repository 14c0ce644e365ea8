// The loss of a model on a text.
import { encode } from "../quickstart/tokens.mjs";
import { logProbabilities } from "../serving/sampler.mjs";

/** Mean loss over the bytes of a text in nats, cut into pieces of the model's context. */
export async function lossOn(engine, bytes) {
  const tokens = Array.from(encode(bytes));
  let [sum, count] = [0, 0];
  for (let from = 0; from + 1 < tokens.length; from += engine.context - 1) {
    const piece = tokens.slice(from, from + engine.context);
    await engine.truncate(0, 0);
    for (let at = 0; at + 1 < piece.length; at++, count++)
      sum -= logProbabilities(await engine.evaluate(0, [piece[at]]))[piece[at + 1]];
  }
  return sum / count;
}
