// Quantises the matrices of a GGUF model to Q8_0, and reports size and quality before and after. See README.md.
import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  renameSync,
  statSync,
  writeSync,
} from "node:fs";
import { createBuiltinEngine } from "../serving/builtin-engine.mjs";
import { readGguf } from "../serving/gguf-file.mjs";
import { lossOn } from "../retraining/loss.mjs";
import { fromHalf, toHalf } from "../serving/half.mjs";
import { optionsOf, reportArtifact, reportResult, runStep } from "./step.mjs";
const [F32, F16, Q8_0, BF16] = [0, 1, 8, 30]; // ggml_type
const FILE_TYPE = 7; // general.file_type: mostly Q8_0
const BLOCK = 32;
const BLOCK_BYTES = 34; // a float16 scale and 32 int8
const ROWS_BYTES = 16 * 2 ** 20; // read at one time

/** Numbers of a piece of a tensor. */
function floatsOf(bytes, type) {
  if (type === F32) return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  const halves = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2);
  if (type === F16) return Float32Array.from(halves, fromHalf);
  const words = new Uint32Array(halves.length);
  halves.forEach((half, at) => (words[at] = half << 16));
  return new Float32Array(words.buffer);
}

/** C's `roundf`: halves away from zero, also below it. */
const rounded = (value) => Math.sign(value) * Math.round(Math.abs(value));

/** Blocks of Q8_0 as in ggml's `quantize_row_q8_0_ref`, and the squares of values and errors, summed. */
export function quantised(values, sums) {
  const bytes = Buffer.alloc((values.length / BLOCK) * BLOCK_BYTES);
  for (let block = 0; block < values.length / BLOCK; block++) {
    const part = values.subarray(block * BLOCK, (block + 1) * BLOCK);
    const largest = part.reduce((max, value) => Math.max(max, Math.abs(value)), 0);
    const scale = Math.fround(largest / 127);
    const half = toHalf(scale);
    const stored = fromHalf(half);
    // Weights that the stored scale cannot hold are zeros; the inverse of their scale could be infinite.
    const inverse = stored === 0 ? 0 : Math.fround(1 / scale);
    bytes.writeUInt16LE(half, block * BLOCK_BYTES);
    part.forEach((value, at) => {
      const level = rounded(Math.fround(value * inverse));
      bytes.writeInt8(level, block * BLOCK_BYTES + 2 + at);
      sums.values += value ** 2;
      sums.errors += (value - level * stored) ** 2;
    });
  }
  return bytes;
}

/** Vectors such as norms stay: they are small, and llama.cpp keeps them too. */
const isQuantised = ({ type, dimensions }) =>
  [F32, F16, BF16].includes(type) && dimensions.length === 2 && dimensions[0] % BLOCK === 0;

const padded = (size, alignment) => Math.ceil(size / alignment) * alignment;

/** The header with the new types and offsets, and the new place of each tensor. */
function plan({ tensors, keys, headerSize, header, keyAt }) {
  const alignment = keys.get("general.alignment") ?? 32;
  const bytes = Buffer.from(header);
  if (keyAt.has("general.file_type")) bytes.writeUInt32LE(FILE_TYPE, keyAt.get("general.file_type"));
  let offset = 0;
  const placed = [...tensors.values()].map((tensor) => {
    const count = tensor.dimensions.reduce((product, dimension) => product * dimension, 1);
    const size = isQuantised(tensor) ? (count / BLOCK) * BLOCK_BYTES : tensor.size;
    if (isQuantised(tensor)) bytes.writeUInt32LE(Q8_0, tensor.typeAt);
    bytes.writeBigUInt64LE(BigInt(offset), tensor.typeAt + 4);
    const place = { tensor, at: padded(headerSize, alignment) + offset, size };
    offset += padded(size, alignment);
    return place;
  });
  return { bytes, placed, fileSize: padded(headerSize, alignment) + offset };
}

/** Writes the quantised file. Returns the relative error of its weights, and how many tensors were quantised. */
function write(gguf, to) {
  const { bytes, placed, fileSize } = plan(gguf);
  const [source, target] = [openSync(gguf.path, "r"), openSync(to, "w")];
  const sums = { values: 0, errors: 0 };
  try {
    writeSync(target, bytes, 0, bytes.length, 0);
    for (const { tensor, at } of placed) {
      const step = isQuantised(tensor) ? padded(ROWS_BYTES, 4 * BLOCK) : ROWS_BYTES;
      for (let done = 0, written = 0; done < tensor.size; done += step) {
        const piece = Buffer.from(new ArrayBuffer(Math.min(step, tensor.size - done)));
        readSync(source, piece, 0, piece.length, tensor.at + done);
        const out = isQuantised(tensor) ? quantised(floatsOf(piece, tensor.type), sums) : piece;
        writeSync(target, out, 0, out.length, at + written);
        written += out.length;
      }
    }
    const last = Buffer.alloc(1);
    // The last tensor is padded too, as llama.cpp writes it.
    if (placed.length > 0 && placed.at(-1).at + placed.at(-1).size < fileSize)
      writeSync(target, last, 0, 1, fileSize - 1);
  } finally {
    closeSync(source);
    closeSync(target);
  }
  const count = placed.filter(({ tensor }) => isQuantised(tensor)).length;
  return { count, error: sums.values === 0 ? 0 : Math.sqrt(sums.errors / sums.values) };
}

async function main() {
  const { model, to, text, name } = optionsOf(["model", "to"], { text: undefined, name: "model:quantised" });
  const gguf = readGguf(model);
  if (existsSync(to) && realpathSync(to) === realpathSync(model)) throw new Error("--to is the model itself");
  // A cut file never has the name of the model: an attempt that is tried again writes it from the start.
  const partial = `${to}.partial`;
  const { count, error } = write(gguf, partial);
  if (count === 0) throw new Error(`${model} has no matrix of F32, F16 or BF16: it is quantised already`);
  readGguf(partial); // what was written must be readable
  renameSync(partial, to);
  const metrics = {
    bytesBefore: statSync(model).size,
    bytesAfter: statSync(to).size,
    weightError: Number(error.toPrecision(4)),
  };
  if (text !== undefined) {
    const loss = async (file) => lossOn(await createBuiltinEngine(file, 1), readFileSync(text));
    metrics.lossBefore = Number((await loss(model)).toFixed(4));
    metrics.lossAfter = Number((await loss(to)).toFixed(4));
  }
  console.log(`${count} matrices, ${metrics.bytesBefore} bytes before and ${metrics.bytesAfter} after`);
  reportArtifact({ name, path: to, metrics, parameters: { quantisation: "Q8_0" } });
  for (const [result, value] of Object.entries(metrics)) reportResult(result, value);
}

if (import.meta.filename === process.argv[1]) await runStep(main);
