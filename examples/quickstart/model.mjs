// The model, after Bengio's neural language model (JMLR 3, 2003): each character at each place of the context has an
// embedding, and their sum goes through tanh into a softmax over the next character. One flat vector holds all weights.
// Printable ASCII and newline; all else becomes "?". A model that knows nothing is at ln(96) = 4.56 nats a character.
const SYMBOLS = 96;
export const encode = (bytes) => Uint8Array.from(bytes, (b) => (b === 10 ? 95 : b >= 32 && b < 127 ? b - 32 : 31));

/** A number in [0, 1) that depends on its arguments alone: a resumed run draws what an uninterrupted one would have. */
export function draw(seed, a, b) {
  let h = seed;
  for (const word of [a, b, 1, 2]) h = Math.imul(h ^ word ^ (h >>> 15), 0x2c1b3c6d);
  return ((h ^ (h >>> 16)) >>> 0) / 2 ** 32;
}

export class Model {
  constructor({ context, hidden, seed }) {
    Object.assign(this, { context, hidden, split: context * SYMBOLS * hidden });
    this.weights = new Float32Array(this.split + hidden * SYMBOLS);
    for (let i = 0; i < this.weights.length; i++) this.weights[i] = (draw(seed, i, -1) - 0.5) / Math.sqrt(context);
  }

  /** The chances of what follows `context` codes, and the hidden layer that they came from. */
  forward(codes) {
    const { weights, hidden, split } = this;
    const [h, p] = [new Float32Array(hidden), new Float32Array(SYMBOLS)];
    for (let c = 0; c < codes.length; c++)
      for (let k = 0, w = (c * SYMBOLS + codes[c]) * hidden; k < hidden; k++) h[k] += weights[w + k];
    for (let k = 0, w = split; k < hidden; k++, w += SYMBOLS) {
      const value = (h[k] = Math.tanh(h[k]));
      for (let j = 0; j < SYMBOLS; j++) p[j] += value * weights[w + j];
    }
    const top = p.reduce((a, b) => Math.max(a, b));
    const sum = p.reduce((total, score, j) => total + (p[j] = Math.exp(score - top)), 0);
    for (let j = 0; j < SYMBOLS; j++) p[j] /= sum;
    return { h, p };
  }

  /** Adds the gradient of one example's loss, times `scale`, to `gradient`; returns the loss in nats. */
  backward(codes, target, scale, gradient) {
    const { weights, hidden, split } = this;
    const { h, p } = this.forward(codes);
    const loss = -Math.log(p[target]);
    p[target] -= 1;
    for (let k = 0, w = split; k < hidden; k++, w += SYMBOLS) {
      const value = h[k] * scale;
      let slope = 0;
      for (let j = 0; j < SYMBOLS; j++) {
        slope += p[j] * weights[w + j];
        gradient[w + j] += value * p[j];
      }
      h[k] = slope * (1 - h[k] * h[k]) * scale;
    }
    for (let c = 0; c < codes.length; c++)
      for (let k = 0, w = (c * SYMBOLS + codes[c]) * hidden; k < hidden; k++) gradient[w + k] += h[k];
    return loss;
  }

  /** Continues a text by `length` characters, each drawn by the chances that the model gives it. */
  sample(start, length, seed) {
    const codes = Array.from(start);
    for (let i = 0; i < length; i++) {
      let left = draw(seed, i, -2);
      const next = this.forward(codes.slice(-this.context)).p.findIndex((chance) => (left -= chance) < 0);
      codes.push(Math.max(next, 0)); // rounding may leave a crumb that no chance covers
    }
    return String.fromCharCode(...codes.map((code) => (code === 95 ? 10 : code + 32)));
  }
}

/** A step of Adam (Kingma and Ba, 2015), in place. The state is weights, mean, mean square; `step` counts from 1. */
export function adam(state, gradient, step, rate) {
  const size = state.length / 3;
  const [weights, mean, square] = [0, 1, 2].map((part) => state.subarray(part * size, (part + 1) * size));
  const [meanShare, squareShare] = [1 - 0.9 ** step, 1 - 0.999 ** step];
  for (let i = 0; i < size; i++) {
    mean[i] += 0.1 * (gradient[i] - mean[i]);
    square[i] += 0.001 * (gradient[i] * gradient[i] - square[i]);
    weights[i] -= (rate * mean[i]) / meanShare / (Math.sqrt(square[i] / squareShare) + 1e-8);
  }
}
