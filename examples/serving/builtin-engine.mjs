// Runs the quickstart's model without any library: one forward pass per token and sequence, with cached keys and
// values. Tokens of several sequences are computed together (continuous batching). Long prompts are divided, and
// generating sequences go first (chunked prefill).
import { closeSync, openSync, readSync } from "node:fs";
import { normalise, rotateRow, rotations, softmax, swish } from "../quickstart/elementwise.mjs";
import { Arena, matrix } from "../quickstart/kernel.mjs";
import { readGguf } from "./gguf-file.mjs";
import { fromHalf } from "./half.mjs";
import { tokenizerOf } from "./tokenizer.mjs";
const ROWS = 64; // number of tokens computed together
const [F32, Q8_0] = [0, 8]; // ggml_type
const BLOCK = 32; // numbers that share a scale in Q8_0

export async function createBuiltinEngine(path, slotCount) {
  return new BuiltinEngine(readGguf(path), slotCount);
}

/** Weights by name in the kernel's layout: transposed, so that a row belongs to an input. */
function loadTensors(gguf, arena) {
  const file = openSync(gguf.path, "r");
  const read = ({ name, type, at, size, dimensions: [columns, rows = 1] }) => {
    if (type !== F32 && type !== Q8_0)
      throw new Error(`tensor ${name} has another type than F32 and Q8_0, which the built-in engine reads`);
    const bytes = Buffer.from(new ArrayBuffer(size));
    readSync(file, bytes, 0, size, at);
    const stored = type === F32 ? new Float32Array(bytes.buffer) : ofBlocks(bytes);
    const values = arena.floats(rows * columns);
    for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) values[j * rows + i] = stored[i * columns + j];
    return [name, { values, rows, columns }];
  };
  const tensors = new Map([...gguf.tensors.values()].map(read));
  closeSync(file);
  return tensors;
}

/** Numbers of blocks of Q8_0: a float16 scale and 32 int8 each. */
function ofBlocks(bytes) {
  const blockBytes = BLOCK + 2;
  return Float32Array.from({ length: (bytes.length / blockBytes) * BLOCK }, (_, i) => {
    const start = Math.floor(i / BLOCK) * blockBytes;
    return fromHalf(bytes.readUInt16LE(start)) * bytes.readInt8(start + 2 + (i % BLOCK));
  });
}

class BuiltinEngine {
  name = "builtin";
  #waiting = []; // { slot, tokens, done, resolve }
  #isScheduled = false;

  constructor(gguf, slotCount) {
    const { architecture, layers, hidden, heads, keyHeads, context, inner, vocabulary } = gguf.shape;
    if (architecture !== "llama")
      throw new Error(`the built-in engine runs "llama" models, and this is "${architecture}"`);
    const tokenizer = tokenizerOf(gguf);
    if (tokenizer.encode === undefined) throw new Error("the built-in engine needs a byte tokenizer");
    const head = hidden / heads;
    const keyWidth = keyHeads * head;
    Object.assign(this, { ...gguf.shape, ...tokenizer, head, keyWidth, slotCount });
    const size = [...gguf.tensors.values()].reduce(
      (sum, { dimensions: [columns, rows = 1] }) => sum + columns * rows + 16,
      0,
    );
    const cache = slotCount * layers * 2 * context * keyWidth;
    const arena = new Arena(size + cache + ROWS * (8 * hidden + 4 * inner + vocabulary) + context + 4_096);
    const take = (width) => arena.floats(ROWS * width);
    this.arena = arena;
    this.tensors = loadTensors(gguf, arena);
    const emptyCache = () => ({ k: arena.floats(context * keyWidth), v: arena.floats(context * keyWidth) });
    this.slots = Array.from({ length: slotCount }, () => ({
      length: 0,
      layers: Array.from({ length: layers }, emptyCache),
    }));
    this.x = take(hidden);
    this.norm = { out: take(hidden), scale: take(1) };
    [this.q, this.k, this.v, this.o] = [take(hidden), take(keyWidth), take(keyWidth), take(hidden)];
    this.swiglu = { gate: take(inner), up: take(inner), open: take(inner), act: take(inner) };
    this.logits = take(vocabulary);
    this.weights = arena.floats(Math.ceil(context / 4) * 4);
    this.angles = rotations(context, head);
  }

  /** Appends tokens to a slot's sequence; returns the logits after the last one. */
  async evaluate(slot, tokens) {
    return (await this.#append(slot, tokens)).logits;
  }

  /** Truncates the cache of a slot's sequence to its first `length` tokens. */
  async truncate(slot, length) {
    this.slots[slot].length = length;
  }

  /** The last token's normalised output: an embedding of the text. */
  async embed(slot, tokens) {
    return Array.from((await this.#append(slot, tokens)).hidden);
  }

  #append(slot, tokens) {
    return new Promise((resolve) => {
      this.#waiting.push({ slot, tokens, done: 0, resolve });
      this.#schedule();
    });
  }

  #schedule() {
    if (this.#isScheduled || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    setImmediate(() => this.#turn());
  }

  /** One batch: the next tokens of generating sequences, then as many prompt tokens as fit. */
  #turn() {
    this.#isScheduled = false;
    const rows = [];
    const finished = [];
    for (const work of this.#waiting.toSorted((a, b) => a.tokens.length - a.done - (b.tokens.length - b.done))) {
      const count = Math.min(work.tokens.length - work.done, ROWS - rows.length);
      for (let i = 0; i < count; i++)
        rows.push({ slot: work.slot, token: work.tokens[work.done++], position: this.slots[work.slot].length++ });
      if (count > 0 && work.done === work.tokens.length) finished.push([work, rows.length - 1]);
    }
    this.#waiting = this.#waiting.filter((work) => work.done < work.tokens.length);
    this.#forward(rows);
    const { hidden, vocabulary, logits, norm } = this;
    const row = (vector, width, i) => vector.slice(i * width, (i + 1) * width);
    for (const [{ resolve }, i] of finished)
      resolve({ logits: row(logits, vocabulary, i), hidden: row(norm.out, hidden, i) });
    this.#schedule();
  }

  /** Appends each row's token to its sequence; afterwards `logits` has the scores of the token after each. */
  #forward(rows) {
    const { hidden, vocabulary, norm, x } = this;
    const embeddings = this.tensors.get("token_embd.weight");
    this.count = Math.ceil(rows.length / 4) * 4; // the kernel's steps
    for (const [row, { token }] of rows.entries())
      for (let i = 0; i < hidden; i++) x[row * hidden + i] = embeddings.values[i * vocabulary + token];
    for (let index = 0; index < this.layers; index++) this.#layer(index, rows);
    normalise(norm, x, this.tensors.get("output_norm.weight").values);
    this.#linear(this.logits, norm.out, this.tensors.get("output.weight") ?? embeddings); // tied weights
  }

  #layer(index, rows) {
    const { norm, x, swiglu } = this;
    const tensor = (name) => this.tensors.get(`blk.${index}.${name}.weight`);
    normalise(norm, x, tensor("attn_norm").values);
    this.#linear(this.q, norm.out, tensor("attn_q"));
    this.#linear(this.k, norm.out, tensor("attn_k"));
    this.#linear(this.v, norm.out, tensor("attn_v"));
    for (const [row, { slot, position }] of rows.entries()) this.#attend(row, this.slots[slot].layers[index], position);
    this.#linear(x, this.o, tensor("attn_output"), 1);
    normalise(norm, x, tensor("ffn_norm").values);
    this.#linear(swiglu.gate, norm.out, tensor("ffn_gate"));
    this.#linear(swiglu.up, norm.out, tensor("ffn_up"));
    swish(this.arena, swiglu);
    this.#linear(x, swiglu.act, tensor("ffn_down"), 1);
  }

  /** Y = X·Wᵀ (+ Y). */
  #linear(y, from, { values, rows, columns }, keep = 0) {
    this.arena.product(matrix(y, rows), matrix(from, columns), matrix(values, rows), this.count, rows, columns, keep);
  }

  /** Caches a token's key and value, and attends to all cached tokens of its sequence. */
  #attend(row, cached, position) {
    const { hidden, keyWidth, heads, keyHeads, head } = this;
    const query = this.q.subarray(row * hidden, (row + 1) * hidden);
    const key = this.k.subarray(row * keyWidth, (row + 1) * keyWidth);
    rotateRow(query, this.angles[position], 1);
    rotateRow(key, this.angles[position], 1);
    cached.k.set(key, position * keyWidth);
    cached.v.set(this.v.subarray(row * keyWidth, (row + 1) * keyWidth), position * keyWidth);
    for (let h = 0; h < heads; h++) {
      const from = Math.floor((h * keyHeads) / heads) * head;
      const out = this.o.subarray(row * hidden + h * head, row * hidden + (h + 1) * head);
      this.#attendHead(out, query.subarray(h * head, (h + 1) * head), cached, from, position + 1);
    }
  }

  #attendHead(out, query, { k, v }, from, length) {
    const { arena, keyWidth, head, weights } = this;
    for (let j = 0; j < length; j++) {
      let score = 0;
      for (let i = 0; i < head; i++) score += query[i] * k[j * keyWidth + from + i];
      weights[j] = score;
    }
    softmax(arena, weights.subarray(0, Math.ceil(length / 4) * 4), length, 1 / Math.sqrt(head));
    out.fill(0);
    for (let j = 0; j < length; j++) for (let i = 0; i < head; i++) out[i] += weights[j] * v[j * keyWidth + from + i];
  }
}
