// Samples the next token from the scores. The draw depends only on the seed and the position in the sequence: a request
// that repeats a prompt followed by the tokens generated so far continues with the same tokens, so a gateway can resume
// a stream on another replica.
import { draw } from "../quickstart/model.mjs";

/** `logits` are the scores of all tokens. `temperature` 0 picks the highest; `topK` 0 and `topP` 1 leave nothing out. */
export function pick(logits, { temperature, topP, topK, seed }, position) {
  if (temperature === 0) return logits.reduce((best, score, token) => (score > logits[best] ? token : best), 0);
  const order = Array.from(logits.keys()).sort((a, b) => logits[b] - logits[a] || a - b);
  const top = logits[order[0]];
  const kept = topK > 0 ? order.slice(0, topK) : order;
  const chances = kept.map((token) => Math.exp((logits[token] - top) / temperature));
  const total = chances.reduce((sum, chance) => sum + chance, 0);
  let [count, covered] = [0, 0];
  while (count < kept.length && (count === 0 || covered < topP * total)) covered += chances[count++];
  let left = draw(seed, position, -3) * covered;
  for (let i = 0; i < count; i++) if ((left -= chances[i]) < 0) return kept[i];
  return kept[count - 1];
}

/** The natural logarithm of the probability of each token. */
export function logProbabilities(logits) {
  const top = logits.reduce((best, score) => Math.max(best, score), -Infinity);
  const sum = logits.reduce((total, score) => total + Math.exp(score - top), 0);
  return logits.map((score) => score - top - Math.log(sum));
}
