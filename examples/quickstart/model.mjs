// A small language model with the architecture of Llama (Touvron et al., 2023): RMSNorm, rotary positions, attention
// with fewer key heads than query heads (Ainslie et al., 2023), SwiGLU, and one matrix for the embeddings and the
// output. `forward` and `backward` work on whole sequences. Matrix products run in kernel.mjs, everything between them
// in elementwise.mjs.
import { Arena, matrix, turned } from "./kernel.mjs";
import {
  normalise,
  normaliseBack,
  rotate,
  rotations,
  softmax,
  softmaxBack,
  swish,
  swishBack,
  transposeInto,
} from "./elementwise.mjs";
import { VOCABULARY } from "./tokens.mjs";
export const HEAD = 16;
const BLOCK = 32; // Number of rows of attention that are computed together. Columns after such a block are never computed.

/**
 * A number in [0, 1) that depends only on its arguments: a resumed run draws the same numbers as an uninterrupted one.
 */
export function draw(seed, a, b) {
  let h = seed;
  for (const word of [a, b, 1, 2]) h = Math.imul(h ^ word ^ (h >>> 15), 0x2c1b3c6d);
  return ((h ^ (h >>> 16)) >>> 0) / 2 ** 32;
}

/** Sizes derived from the settings. */
export function shapeOf({ context, hidden, layers }) {
  const heads = hidden / HEAD;
  const keyHeads = Math.max(1, heads >> 1);
  if (context % 8 !== 0 || hidden % HEAD !== 0 || heads % keyHeads !== 0)
    throw new Error("CONTEXT must be a multiple of 8 and HIDDEN one of 32 (or 16)");
  return { context, hidden, layers, heads, keyHeads, keyWidth: keyHeads * HEAD, inner: 3 * hidden };
}

/**
 * Every tensor by its GGUF name: `[rows, columns]`, one row for each output, and the standard deviation of its initial
 * values (0: all ones).
 */
export function tensorsOf({ hidden, layers, keyWidth, inner }) {
  const [spread, small] = [1 / Math.sqrt(hidden), 1 / Math.sqrt(2 * layers * hidden)];
  const layer = (i) => [
    [`blk.${i}.attn_norm.weight`, 1, hidden, 0],
    [`blk.${i}.attn_q.weight`, hidden, hidden, spread],
    [`blk.${i}.attn_k.weight`, keyWidth, hidden, spread],
    [`blk.${i}.attn_v.weight`, keyWidth, hidden, spread],
    [`blk.${i}.attn_output.weight`, hidden, hidden, small],
    [`blk.${i}.ffn_norm.weight`, 1, hidden, 0],
    [`blk.${i}.ffn_gate.weight`, inner, hidden, spread],
    [`blk.${i}.ffn_up.weight`, inner, hidden, spread],
    [`blk.${i}.ffn_down.weight`, hidden, inner, small],
  ];
  const all = Array.from({ length: layers }, (_, i) => layer(i)).flat();
  return [["token_embd.weight", VOCABULARY, hidden, 0.05], ...all, ["output_norm.weight", 1, hidden, 0]];
}

/** A view of each tensor in one flat vector. */
function viewsOf(tensors, vector) {
  let start = 0;
  return new Map(tensors.map(([name, rows, columns]) => [name, vector.subarray(start, (start += rows * columns))]));
}

export class Model {
  /** Computes `sequences` sequences of `context` tokens at the same time. */
  constructor({ context, hidden, layers, seed, sequences }) {
    Object.assign(this, shapeOf({ context, hidden, layers }));
    this.sequences = sequences;
    this.rows = sequences * context;
    const { rows, keyWidth, inner, heads } = this;
    this.tensors = tensorsOf(this);
    this.size = this.tensors.reduce((sum, [, m, n]) => sum + m * n, 0);
    const perLayer = 7 * hidden + 3 * keyWidth + 8 * inner + heads * context + 8;
    this.arena = new Arena(3 * this.size + rows * ((layers + 2) * perLayer + 2 * VOCABULARY) + 64 * hidden * context);
    this.weights = this.arena.floats(this.size);
    this.gradient = this.arena.floats(this.size + 2); // the trainer stores its loss and stop flag here
    const spread = this.tensors.flatMap(([, m, n, value]) => Array.from({ length: m * n }, () => value));
    spread.forEach((value, i) => {
      this.weights[i] = value === 0 ? 1 : 2 * Math.sqrt(3) * (draw(seed, i, -1) - 0.5) * value;
    });
    const [weights, gradients] = [this.weights, this.gradient].map((vector) => viewsOf(this.tensors, vector));
    /** A tensor by name: its values, its gradient, and memory for its transpose. */
    this.tensor = new Map(
      this.tensors.map(([name, m, n]) => {
        const [value, gradient, transpose] = [weights.get(name), gradients.get(name), this.arena.floats(m * n)];
        return [name, { value, gradient, transpose, rows: m, columns: n }];
      }),
    );
    const take = (width) => this.arena.floats(rows * width);
    const norm = () => ({ out: take(hidden), scale: take(1) });
    this.layer = Array.from({ length: layers }, (_, i) => ({
      ...Object.fromEntries(
        ["attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate", "ffn_up", "ffn_down"].map(
          (name) => [name, this.tensor.get(`blk.${i}.${name}.weight`)],
        ),
      ),
      x: take(hidden),
      norm1: norm(),
      q: take(hidden),
      k: take(keyWidth),
      v: take(keyWidth),
      p: take(heads * context), // the weights of attention
      o: take(hidden),
      middle: take(hidden),
      norm2: norm(),
      gate: take(inner),
      up: take(inner),
      open: take(inner), // the sigmoid of the gate
      act: take(inner), // silu(gate) · up
    }));
    this.last = { x: take(hidden), norm: norm(), logits: take(VOCABULARY) };
    this.work = {
      dx: take(hidden),
      dn: take(hidden),
      d: take(hidden),
      dq: take(hidden),
      dk: take(keyWidth),
      dv: take(keyWidth),
    };
    Object.assign(this.work, { dact: take(inner), dgate: take(inner), dp: this.arena.floats(context * context) });
    Object.assign(this.work, { keys: this.arena.floats(context * HEAD), dlogits: take(VOCABULARY) });
    this.angles = rotations(context, HEAD);
  }

  /** Computes Y = X·Wᵀ for every row of X, or adds it to Y if requested. */
  #linear(y, x, { value, transpose, rows: m, columns: n }, keep = 0) {
    transposeInto(transpose, value, m, n);
    this.arena.product(matrix(y, m), matrix(x, n), matrix(transpose, m), this.rows, m, n, keep);
  }

  /** The backward pass of Y = X·Wᵀ: dX = dY·W (+ dX), and dW += dYᵀ·X, in pieces that stay in the cache. */
  #linearBack(dx, dy, x, { value, gradient, rows: m, columns: n }, keep = 0) {
    this.arena.product(matrix(dx, n), matrix(dy, m), matrix(value, n), this.rows, n, m, keep);
    for (let row = 0; row < this.rows; row += 128) {
      const count = Math.min(128, this.rows - row);
      this.arena.product(matrix(gradient, n), turned(matrix(dy, m, row * m)), matrix(x, n, row * n), m, n, count, 1);
    }
  }

  /**
   * Computes the logits of the next token after each token of `sequences` × `context`: one row of VOCABULARY numbers
   * for each token.
   */
  forward(tokens) {
    const { hidden, layers, last } = this;
    const embeddings = this.tensor.get("token_embd.weight");
    const first = layers > 0 ? this.layer[0].x : last.x;
    for (let i = 0; i < this.rows; i++)
      first.set(embeddings.value.subarray(tokens[i] * hidden, (tokens[i] + 1) * hidden), i * hidden);
    for (let i = 0; i < layers; i++) this.#layerForward(this.layer[i], (this.layer[i + 1] ?? last).x);
    normalise(last.norm, last.x, this.tensor.get("output_norm.weight").value);
    this.#linear(last.logits, last.norm.out, embeddings);
    return last.logits;
  }

  #layerForward(l, next) {
    normalise(l.norm1, l.x, l.attn_norm.value);
    this.#linear(l.q, l.norm1.out, l.attn_q);
    this.#linear(l.k, l.norm1.out, l.attn_k);
    this.#linear(l.v, l.norm1.out, l.attn_v);
    for (const vector of [l.q, l.k]) rotate(vector, this.angles, this.rows, 1);
    for (let s = 0; s < this.sequences; s++) for (let h = 0; h < this.heads; h++) this.#attend(l, s, h);
    l.middle.set(l.x);
    this.#linear(l.middle, l.o, l.attn_output, 1);
    normalise(l.norm2, l.middle, l.ffn_norm.value);
    this.#linear(l.gate, l.norm2.out, l.ffn_gate);
    this.#linear(l.up, l.norm2.out, l.ffn_up);
    swish(this.arena, l);
    next.set(l.middle);
    this.#linear(next, l.act, l.ffn_down, 1);
  }

  /**
   * Offsets of one head of one sequence in the vectors of its layer: queries and outputs `q`, keys and values `k`,
   * attention weights `p`.
   */
  #places(s, h) {
    const { context, hidden, keyWidth, heads, keyHeads } = this;
    const key = Math.floor((h * keyHeads) / heads);
    return {
      q: s * context * hidden + h * HEAD,
      k: s * context * keyWidth + key * HEAD,
      p: (s * heads + h) * context ** 2,
    };
  }

  /** Attention of one head in one sequence, with the causal mask. */
  #attend(l, s, h) {
    const { arena, context, hidden, keyWidth } = this;
    const [at, keys, scale] = [this.#places(s, h), this.work.keys, 1 / Math.sqrt(HEAD)];
    transposeInto(keys, l.k.subarray(at.k), context, HEAD, keyWidth);
    for (let row = 0; row < context; row += BLOCK) {
      const [count, end] = [Math.min(BLOCK, context - row), Math.min(row + BLOCK, context)];
      const weights = matrix(l.p, context, at.p + row * context);
      arena.product(weights, matrix(l.q, hidden, at.q + row * hidden), matrix(keys, context), count, end, HEAD);
      for (let i = row; i < end; i++)
        softmax(arena, l.p.subarray(at.p + i * context, at.p + i * context + end), i + 1, scale);
      arena.product(matrix(l.o, hidden, at.q + row * hidden), weights, matrix(l.v, keyWidth, at.k), count, HEAD, end);
    }
  }

  /** Sets `gradient` to the gradient of the mean loss times `scale`; returns the mean loss in nats per token. */
  backward(tokens, targets, scale) {
    const { rows, hidden, last, work } = this;
    this.forward(tokens);
    this.gradient.fill(0);
    const embeddings = this.tensor.get("token_embd.weight");
    work.dlogits.set(last.logits);
    let loss = 0;
    for (let i = 0; i < rows; i++) {
      const row = work.dlogits.subarray(i * VOCABULARY, (i + 1) * VOCABULARY);
      softmax(this.arena, row, VOCABULARY, 1);
      loss -= Math.log(Math.max(row[targets[i]], 1e-30)) / rows;
      row[targets[i]] -= 1;
      for (let j = 0; j < VOCABULARY; j++) row[j] *= scale / rows;
    }
    this.#linearBack(work.dn, work.dlogits, last.norm.out, embeddings);
    work.dx.fill(0);
    normaliseBack(work.dx, work.dn, last.norm, last.x, this.tensor.get("output_norm.weight"));
    for (let i = this.layers - 1; i >= 0; i--) this.#layerBackward(this.layer[i]);
    for (let i = 0; i < rows; i++)
      for (let k = 0, from = i * hidden, to = tokens[i] * hidden; k < hidden; k++)
        embeddings.gradient[to + k] += work.dx[from + k];
    return loss;
  }

  /** Replaces the gradient of the layer's output, `work.dx`, by that of its input. */
  #layerBackward(l) {
    const { dx, dn, d, dq, dk, dv, dact, dgate } = this.work;
    this.#linearBack(dact, dx, l.act, l.ffn_down);
    swishBack(l, dact, dgate);
    this.#linearBack(dn, dgate, l.norm2.out, l.ffn_gate);
    this.#linearBack(dn, dact, l.norm2.out, l.ffn_up, 1);
    normaliseBack(dx, dn, l.norm2, l.middle, l.ffn_norm);
    this.#linearBack(d, dx, l.o, l.attn_output);
    for (const vector of [dk, dv]) vector.fill(0);
    for (let s = 0; s < this.sequences; s++) for (let h = 0; h < this.heads; h++) this.#attendBack(l, s, h);
    for (const vector of [dq, dk]) rotate(vector, this.angles, this.rows, -1);
    this.#linearBack(dn, dq, l.norm1.out, l.attn_q);
    this.#linearBack(dn, dk, l.norm1.out, l.attn_k, 1);
    this.#linearBack(dn, dv, l.norm1.out, l.attn_v, 1);
    normaliseBack(dx, dn, l.norm1, l.x, l.attn_norm);
  }

  #attendBack(l, s, h) {
    const { arena, context, hidden, keyWidth, work } = this;
    const [at, scale] = [this.#places(s, h), 1 / Math.sqrt(HEAD)];
    transposeInto(work.keys, l.v.subarray(at.k), context, HEAD, keyWidth);
    for (let row = 0; row < context; row += BLOCK) {
      const [count, end] = [Math.min(BLOCK, context - row), Math.min(row + BLOCK, context)];
      const [q, p] = [at.q + row * hidden, at.p + row * context];
      const [slopes, weights] = [matrix(work.dp, context, row * context), matrix(l.p, context, p)];
      arena.product(slopes, matrix(work.d, hidden, q), matrix(work.keys, context), count, end, HEAD);
      for (let i = row; i < end; i++) {
        const from = at.p + i * context;
        softmaxBack(work.dp.subarray(i * context, i * context + end), l.p.subarray(from, from + end), scale);
      }
      arena.product(matrix(work.dq, hidden, q), slopes, matrix(l.k, keyWidth, at.k), count, HEAD, end);
      const back = (to, turnedWeights, from) => arena.product(to, turned(turnedWeights), from, end, HEAD, count, 1);
      back(matrix(work.dk, keyWidth, at.k), slopes, matrix(l.q, hidden, q));
      back(matrix(work.dv, keyWidth, at.k), weights, matrix(work.d, hidden, q));
    }
  }
}
