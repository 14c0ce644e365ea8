// Exports a checkpoint as GGUF v3, the model format of llama.cpp: a header of typed keys, then the tensors, aligned to
// 32 bytes. `node gguf.mjs CHECKPOINT FILE` converts any checkpoint; training does so at its end.
import { readFileSync } from "node:fs";
import { writeAtomically } from "./checkpoint.mjs";
import { EPSILON, ROPE_BASE } from "./elementwise.mjs";
import { shapeOf, tensorsOf } from "./model.mjs";
import { BEGIN, END, VOCABULARY } from "./tokens.mjs";
const [UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY] = [4, 5, 6, 7, 8, 9]; // gguf_metadata_value_type
const F32 = 0; // ggml_type
const ALIGNMENT = 32;

/**
 * GPT-2's byte alphabet (Radford et al., 2019), which represents every byte by one visible character. With these as
 * tokens 0 to 255 and no merges, the "gpt2" tokenizer of llama.cpp is a byte tokenizer.
 */
export function byteAlphabet() {
  const isVisible = (byte) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  let invisible = 0;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isVisible(byte) ? byte : 256 + invisible++));
}

/** Chat template. Messages are simply joined, because the model was not trained on conversations. */
const CHAT_TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}";

function keysOf(name, { context, hidden, layers, heads, keyHeads, inner }) {
  const special = Array.from({ length: VOCABULARY - 256 }, (_, i) => ["<s>", "</s>"][i] ?? `<unused${i}>`);
  return [
    ["general.architecture", STRING, "llama"],
    ["general.name", STRING, name],
    ["general.file_type", UINT32, 0], // all F32
    ["llama.block_count", UINT32, layers],
    ["llama.context_length", UINT32, context],
    ["llama.embedding_length", UINT32, hidden],
    ["llama.feed_forward_length", UINT32, inner],
    ["llama.attention.head_count", UINT32, heads],
    ["llama.attention.head_count_kv", UINT32, keyHeads],
    ["llama.attention.layer_norm_rms_epsilon", FLOAT32, EPSILON],
    ["llama.rope.freq_base", FLOAT32, ROPE_BASE],
    ["llama.vocab_size", UINT32, VOCABULARY],
    ["tokenizer.ggml.model", STRING, "gpt2"],
    ["tokenizer.ggml.pre", STRING, "gpt-2"],
    ["tokenizer.ggml.tokens", ARRAY, [STRING, [...byteAlphabet(), ...special]]],
    ["tokenizer.ggml.token_type", ARRAY, [INT32, Array.from({ length: VOCABULARY }, (_, i) => (i < 256 ? 1 : 3))]], // normal, control
    ["tokenizer.ggml.merges", ARRAY, [STRING, []]],
    ["tokenizer.ggml.bos_token_id", UINT32, BEGIN],
    ["tokenizer.ggml.eos_token_id", UINT32, END],
    ["tokenizer.ggml.add_bos_token", BOOL, false], // training texts begin at any place
    ["tokenizer.chat_template", STRING, CHAT_TEMPLATE],
  ];
}

const number = (size, write) => (value) => {
  const bytes = Buffer.alloc(size);
  bytes[write](value);
  return bytes;
};
const [u32, i32, f32] = [number(4, "writeUInt32LE"), number(4, "writeInt32LE"), number(4, "writeFloatLE")];
const u64 = (value) => number(8, "writeBigUInt64LE")(BigInt(value));
const text = (value) => Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)]);
const list = ([type, values]) => Buffer.concat([u32(type), u64(values.length), ...values.map(encoders[type])]);
const encoders = {
  [UINT32]: u32,
  [INT32]: i32,
  [FLOAT32]: f32,
  [STRING]: text,
  [ARRAY]: list,
  [BOOL]: (flag) => Buffer.of(+flag),
};
const padded = (length) => Math.ceil(length / ALIGNMENT) * ALIGNMENT;

/**
 * Returns the bytes of a GGUF file. `recipe`: the model's sizes. `weights`: all weights in one vector, in the order of
 * model.mjs.
 */
export function ggufBytes(name, recipe, weights) {
  const shape = shapeOf(recipe);
  const [keys, tensors] = [keysOf(name, shape), tensorsOf(shape)];
  let [start, offset] = [0, 0];
  const [infos, data] = [[], []];
  for (const [tensor, rows, columns] of tensors) {
    // The fastest-varying dimension comes first. Without `output.weight` the embeddings are used for the output.
    const dimensions = rows === 1 ? [columns] : [columns, rows];
    infos.push(text(tensor), u32(dimensions.length), ...dimensions.map(u64), u32(F32), u64(offset));
    const bytes = Buffer.alloc(padded(4 * rows * columns));
    weights.subarray(start, (start += rows * columns)).forEach((value, i) => bytes.writeFloatLE(value, 4 * i));
    data.push(bytes);
    offset += bytes.length;
  }
  const head = [Buffer.from("GGUF"), u32(3), u64(tensors.length), u64(keys.length)];
  const header = Buffer.concat([
    ...head,
    ...keys.flatMap(([key, type, value]) => [text(key), u32(type), encoders[type](value)]),
    ...infos,
  ]);
  return Buffer.concat([header, Buffer.alloc(padded(header.length) - header.length), ...data]);
}

if (import.meta.filename === process.argv[1]) {
  const [source, target] = process.argv.slice(2);
  if (target === undefined) throw new Error("usage: node gguf.mjs CHECKPOINT FILE");
  const bytes = readFileSync(source);
  const end = bytes.indexOf("\n") + 1;
  const { recipe } = JSON.parse(bytes.subarray(0, end));
  writeAtomically(
    target,
    ggufBytes("quickstart", recipe, new Float32Array(new Uint8Array(bytes.subarray(end)).buffer)),
  );
}
