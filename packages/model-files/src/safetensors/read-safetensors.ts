/**
 * The header of a safetensors file: 8 bytes with its length, then JSON. The checks are those of the reference implementation
 * (huggingface/safetensors, `SafeTensors::read_metadata` and `Metadata::validate`): tensors fill the data without gaps or overlaps.
 */
import { ByteReader, type ByteSource } from "../base/byte-reader.ts";
import {
  checkName,
  DIMENSIONS_MAX,
  elementCount,
  quoted,
  refuse,
  TENSORS_MAX,
  VALUE_KEPT_MAX,
} from "../base/bounds.ts";
import type { ModelDescription, TensorDescription } from "../base/description.ts";

/** Bytes of the header: 140,000 tensors of a large mixture of experts take 20 MB. The reference accepts 100 MB. */
const HEADER_BYTES_MAX = 32 << 20;
const LENGTH_BYTES = 8;

const BITS: ReadonlyMap<string, number> = new Map([
  ["F4", 4],
  ["F6_E2M3", 6],
  ["F6_E3M2", 6],
  ["F8_E4M3", 8],
  ["F8_E5M2", 8],
  ["F8_E8M0", 8],
  ["F8_E4M3FNUZ", 8],
  ["F8_E5M2FNUZ", 8],
  ["BOOL", 8],
  ["I8", 8],
  ["U8", 8],
  ["I16", 16],
  ["U16", 16],
  ["F16", 16],
  ["BF16", 16],
  ["I32", 32],
  ["U32", 32],
  ["F32", 32],
  ["I64", 64],
  ["U64", 64],
  ["F64", 64],
  ["C64", 64],
]);

interface ExtentTensor extends TensorDescription {
  readonly start: number;
  readonly end: number;
}

export function readSafetensors(source: ByteSource): ModelDescription {
  const reader = ByteReader.of(source);
  const length = reader.size("length of the header");
  if (length > HEADER_BYTES_MAX) refuse(`the header states ${length} bytes; at most ${HEADER_BYTES_MAX} are read`);
  if (length > reader.left) refuse(`the header states ${length} bytes, but ${reader.left} are left in the file`);
  const header = parsed(reader.text(length, "header"));
  const tensors: ExtentTensor[] = [];
  for (const [name, value] of Object.entries(header)) if (name !== "__metadata__") tensors.push(tensorOf(name, value));
  if (tensors.length > TENSORS_MAX) refuse(`${tensors.length} tensors; at most ${TENSORS_MAX} are read`);
  checkLayout(tensors, source.size - LENGTH_BYTES - length);
  const metadata = metadataOf(header["__metadata__"]);
  return {
    format: "safetensors",
    bytes: source.size,
    architecture: metadata["modelspec.architecture"] ?? null,
    name: metadata["modelspec.title"] ?? null,
    contextLength: null,
    parameters: elementCount([1, tensors.reduce((sum, { parameters }) => sum + parameters, 0)], "all tensors"),
    tensors: tensors.map(({ start: _start, end: _end, ...tensor }) => tensor),
    metadata,
    externalFiles: [],
  };
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  // The format requires it: other files with 8 arbitrary bytes first are told apart by it.
  if (!text.startsWith("{")) refuse("the header does not begin with {");
  const keyCount = keysWithin(text, 2);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    refuse("the header is not JSON");
  }
  const header = value as Readonly<Record<string, unknown>>;
  const unique = Object.values(header).reduce(
    (sum: number, each) => sum + (isObject(each) ? Object.keys(each).length : 0),
    Object.keys(header).length,
  );
  if (unique !== keyCount) refuse("the header has a key twice, or is nested too deeply");
  return header;
}

/** Keys of objects down to this depth. JSON.parse keeps the last of equal keys, so a count finds them. */
function keysWithin(text: string, depthMax: number): number {
  let depth = 0;
  let count = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (isInString) {
      if (character === "\\") at += 1;
      else if (character === '"') isInString = false;
    } else if (character === '"') isInString = true;
    else if (character === "{" || character === "[") {
      depth += 1;
      if (depth > depthMax + 1) refuse("the header is nested too deeply");
    } else if (character === "}" || character === "]") depth -= 1;
    else if (character === ":" && depth <= depthMax) count += 1;
  }
  return count;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const isSize = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

function tensorOf(name: string, value: unknown): ExtentTensor {
  checkName(name, "tensor");
  const where = `tensor ${quoted(name)}`;
  if (!isObject(value)) refuse(`${where}: expected an object with dtype, shape and data_offsets`);
  const { dtype, shape, data_offsets: offsets } = value;
  const bits = typeof dtype === "string" ? BITS.get(dtype) : undefined;
  if (bits === undefined) refuse(`${where}: the dtype ${quoted(String(dtype))} is not known`);
  if (!Array.isArray(shape) || !shape.every(isSize)) refuse(`${where}: shape: expected an array of sizes`);
  if (shape.length > DIMENSIONS_MAX) refuse(`${where}: ${shape.length} dimensions; at most ${DIMENSIONS_MAX} are read`);
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isSize))
    refuse(`${where}: data_offsets: expected start and end`);
  const [start = 0, end = 0] = offsets as readonly number[];
  const sizes = shape as readonly number[];
  const parameters = elementCount(sizes, name);
  const bytes = (parameters * bits) / 8;
  if (end < start) refuse(`${where}: data_offsets: the end ${end} is before the start ${start}`);
  if (!Number.isSafeInteger(bytes)) refuse(`${where}: ${parameters} elements of ${bits} bits are no whole bytes`);
  if (end - start !== bytes)
    refuse(`${where}: data_offsets span ${end - start} bytes, but its shape and dtype need ${bytes}`);
  return { name, type: String(dtype), shape: sizes, parameters, bytes, start, end };
}

function checkLayout(tensors: readonly ExtentTensor[], dataBytes: number): void {
  let next = 0;
  for (const { name, start, end } of tensors.toSorted(
    (left, right) => left.start - right.start || left.end - right.end,
  )) {
    if (start < next) refuse(`tensor ${quoted(name)}: overlaps another one at byte ${start} of the data`);
    if (start > next)
      refuse(`tensor ${quoted(name)}: starts at byte ${start}, and no tensor has the bytes from ${next}`);
    next = end;
  }
  if (next > dataBytes)
    refuse(`the tensors need ${next} bytes, but the file has ${dataBytes} after its header: it is cut`);
  if (next < dataBytes) refuse(`${dataBytes - next} bytes after the last tensor belong to none`);
}

function metadataOf(value: unknown): Readonly<Record<string, string>> {
  if (value === undefined) return {};
  if (!isObject(value)) refuse("__metadata__: expected an object");
  const entries = Object.entries(value).map(([key, text]) => {
    if (typeof text !== "string") refuse(`__metadata__: ${quoted(key)}: expected a string`);
    return [key, text.slice(0, VALUE_KEPT_MAX)] as const;
  });
  return Object.fromEntries(entries);
}
