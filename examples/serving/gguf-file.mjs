// Reads a GGUF v3 file and validates it. llama.cpp aborts its process on some malformed files, so the server checks the file
// first and refuses to start with a reason.
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
const HEADER_MAX = 64 * 2 ** 20; // real vocabularies take about 10 MiB
const COUNT_MAX = 2_000_000; // entries of one array, tensors, keys
const SCALARS = ["UInt8", "Int8", "UInt16LE", "Int16LE", "UInt32LE", "Int32LE", "FloatLE"]; // gguf_metadata_value_type 0 to 6
const SCALAR_SIZES = [1, 1, 2, 2, 4, 4, 4];
/** Numbers in a block and bytes of a block, by ggml_type: F32, F16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, K-quants, BF16. */
const BLOCKS = new Map(
  Object.entries({ 0: [1, 4], 1: [1, 2], 2: [32, 18], 3: [32, 20], 6: [32, 22], 7: [32, 24], 8: [32, 34], 30: [1, 2] })
    .concat(Object.entries({ 10: [256, 84], 11: [256, 110], 12: [256, 144], 13: [256, 176], 14: [256, 210] }))
    .map(([type, block]) => [Number(type), block]),
);

class Reader {
  #at = 0;
  constructor(bytes) {
    this.bytes = bytes;
  }
  get at() {
    return this.#at;
  }
  take(size) {
    if (this.#at + size > this.bytes.length) throw new Error("the header is cut off");
    this.#at += size;
    return this.#at - size;
  }
  u32 = () => this.bytes.readUInt32LE(this.take(4));
  count = () => {
    const value = this.bytes.readBigUInt64LE(this.take(8));
    if (value > BigInt(COUNT_MAX)) throw new Error(`a count of ${value} is out of range`);
    return Number(value);
  };
  offset = () => Number(this.bytes.readBigUInt64LE(this.take(8)));
  text = () => {
    const size = this.count();
    return this.bytes.toString("utf8", this.take(size), this.at);
  };
  value = (type) => {
    if (type < SCALARS.length) return this.bytes[`read${SCALARS[type]}`](this.take(SCALAR_SIZES[type]));
    if (type === 7) return this.bytes[this.take(1)] !== 0;
    if (type === 8) return this.text();
    if (type === 10) return this.offset();
    if (type === 11) return Number(this.bytes.readBigInt64LE(this.take(8)));
    if (type === 12) return this.bytes.readDoubleLE(this.take(8));
    if (type !== 9) throw new Error(`value type ${type} is unknown`);
    const [inner, count] = [this.u32(), this.count()];
    if (inner === 9) throw new Error("arrays of arrays are not supported");
    return Array.from({ length: count }, () => this.value(inner));
  };
}

function headerOf(bytes) {
  const reader = new Reader(bytes);
  if (bytes.toString("latin1", 0, reader.take(4) + 4) !== "GGUF") throw new Error("it does not begin with GGUF");
  const version = reader.u32();
  if (version !== 3) throw new Error(`GGUF version ${version} is not supported: version 3 is`);
  const [tensorCount, keyCount] = [reader.count(), reader.count()];
  const [keys, keyAt] = [new Map(), new Map()];
  for (let i = 0; i < keyCount; i++) {
    const [name, type] = [reader.text(), reader.u32()];
    keyAt.set(name, reader.at);
    keys.set(name, reader.value(type));
  }
  const tensors = new Map();
  for (let i = 0; i < tensorCount; i++) {
    const [name, rank] = [reader.text(), reader.u32()];
    if (rank < 1 || rank > 4) throw new Error(`tensor ${name} has ${rank} dimensions`);
    const dimensions = Array.from({ length: rank }, reader.offset);
    const typeAt = reader.at;
    tensors.set(name, { name, dimensions, type: reader.u32(), offset: reader.offset(), typeAt });
  }
  return { keys, keyAt, tensors, headerSize: reader.at, header: bytes.subarray(0, reader.at) };
}

/** A tensor's size in bytes. Throws if its rows do not consist of whole blocks. */
function sizeOf({ name, dimensions, type }) {
  const block = BLOCKS.get(type);
  if (block === undefined) throw new Error(`tensor ${name} has type ${type}, which this reader does not know`);
  const count = dimensions.reduce((product, dimension) => product * dimension, 1);
  if (dimensions[0] % block[0] !== 0)
    throw new Error(`rows of tensor ${name} are not a multiple of ${block[0]} numbers`);
  if (!Number.isSafeInteger(count) || count <= 0) throw new Error(`tensor ${name} has impossible dimensions`);
  return (count / block[0]) * block[1];
}

function whole(keys, name) {
  const value = keys.get(name);
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`the key ${name} is missing or not a positive number`);
  return value;
}

/** Throws if a tensor of a layer is missing or has other dimensions than the keys state. */
function checkLayers(tensors, { layers, hidden, heads, keyHeads, inner }) {
  const keyWidth = (keyHeads * hidden) / heads;
  const wanted = {
    attn_norm: [hidden],
    attn_q: [hidden, hidden],
    attn_k: [hidden, keyWidth],
    attn_v: [hidden, keyWidth],
    attn_output: [hidden, hidden],
    ffn_norm: [hidden],
    ffn_gate: [hidden, inner],
    ffn_up: [hidden, inner],
    ffn_down: [inner, hidden],
  };
  const check = (name, dimensions) => {
    const found = tensors.get(name)?.dimensions.join(" × ") ?? "missing";
    if (found !== dimensions.join(" × ")) throw new Error(`tensor ${name} is ${found}, not ${dimensions.join(" × ")}`);
  };
  for (let i = 0; i < layers; i++)
    for (const [name, dimensions] of Object.entries(wanted)) check(`blk.${i}.${name}.weight`, dimensions);
  check("output_norm.weight", [hidden]);
}

/** The sizes of the architecture and the tokenizer's keys, each validated to llama.cpp's requirements. */
function shapeOf({ keys, tensors }) {
  const architecture = keys.get("general.architecture");
  if (typeof architecture !== "string") throw new Error("the key general.architecture is missing");
  const size = (name) => whole(keys, `${architecture}.${name}`);
  const [layers, hidden, heads] = [size("block_count"), size("embedding_length"), size("attention.head_count")];
  const [context, inner] = [size("context_length"), size("feed_forward_length")];
  const keyHeads = keys.has(`${architecture}.attention.head_count_kv`) ? size("attention.head_count_kv") : heads;
  if (!(keys.get(`${architecture}.attention.layer_norm_rms_epsilon`) > 0))
    throw new Error(`the key ${architecture}.attention.layer_norm_rms_epsilon is missing or not positive`);
  const head = hidden / heads;
  if (!Number.isInteger(head) || head % 2 !== 0) throw new Error(`a head of ${head} numbers has no pairs to rotate`);
  if (heads % keyHeads !== 0) throw new Error(`${heads} heads do not share ${keyHeads} key heads evenly`);
  const tokens = keys.get("tokenizer.ggml.tokens");
  if (!Array.isArray(tokens) || tokens.length === 0)
    throw new Error("the key tokenizer.ggml.tokens is missing or empty");
  if (typeof keys.get("tokenizer.ggml.model") !== "string") throw new Error("the key tokenizer.ggml.model is missing");
  const end = keys.get("tokenizer.ggml.eos_token_id");
  if (!(end >= 0 && end < tokens.length)) throw new Error("tokenizer.ggml.eos_token_id is not one of the tokens");
  const embeddings = tensors.get("token_embd.weight")?.dimensions ?? [];
  if (embeddings[0] !== hidden || embeddings[1] !== tokens.length)
    throw new Error(`token_embd.weight is not ${tokens.length} rows of ${hidden}`);
  if (keys.get("tokenizer.ggml.model") === "gpt2" && !Array.isArray(keys.get("tokenizer.ggml.merges")))
    throw new Error("the key tokenizer.ggml.merges is missing; it may be empty");
  const shape = { architecture, layers, hidden, heads, keyHeads, context, inner, vocabulary: tokens.length };
  if (architecture === "llama") checkLayers(tensors, shape);
  return shape;
}

/**
 * Reads the keys of a file, its tensors (absolute offsets and sizes in bytes), the sizes of the model, and the bytes of the
 * header with the positions of values (`keyAt`) and types (`typeAt`) in it. Throws with the reason if the file is invalid.
 */
export function readGguf(path) {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const bytes = Buffer.alloc(Math.min(size, HEADER_MAX));
    readSync(file, bytes, 0, bytes.length, 0);
    const header = headerOf(bytes);
    const alignment = header.keys.get("general.alignment") ?? 32;
    const start = Math.ceil(header.headerSize / alignment) * alignment;
    for (const tensor of header.tensors.values()) {
      Object.assign(tensor, { at: start + tensor.offset, size: sizeOf(tensor) });
      if (tensor.offset % alignment !== 0 || tensor.at + tensor.size > size)
        throw new Error(`tensor ${tensor.name} lies outside of the file, which may be cut off`);
    }
    return { path, ...header, shape: shapeOf(header) };
  } catch (error) {
    throw new Error(`${path} is not a usable GGUF file: ${error.message}`, { cause: error });
  } finally {
    closeSync(file);
  }
}
