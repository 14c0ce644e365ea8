/**
 * The header of a GGUF file, versions 2 and 3, little-endian (ggml/docs/gguf.md). Arrays, such as the vocabulary, are skipped. Reading is
 * bounded by the file: a count is refused if the rest of the file cannot hold that many items.
 */
import { ByteReader, type ByteSource } from "../base/byte-reader.ts";
import {
  checkDisjoint,
  checkName,
  elementCount,
  NAME_BYTES_MAX,
  quoted,
  refuse,
  TENSORS_MAX,
  VALUE_KEPT_MAX,
  type Extent,
} from "../base/bounds.ts";
import type { ModelDescription, TensorDescription } from "../base/description.ts";
import { tensorTypes } from "./tensor-types.ts";

/** Bytes of all metadata and tensor descriptions: vocabularies of 256,000 tokens take 15 MB. */
const HEADER_BYTES_MAX = 256 << 20;
const KEYS_MAX = 65_536;
/** ggml has 4. */
const DIMENSIONS_MAX = 8;
const ARRAY_DEPTH_MAX = 4;
const DEFAULT_ALIGNMENT = 32;
const ALIGNMENT_MAX = 1 << 20;
/** Bytes of the shortest key with its value, and of the shortest description of a tensor. */
const KEY_BYTES_MIN = 14;
const TENSOR_BYTES_MIN = 25;

type Value = string | number | boolean;

export function readGguf(source: ByteSource): ModelDescription {
  const reader = ByteReader.of(source, Math.min(source.size, HEADER_BYTES_MAX));
  if (reader.text(4, "magic") !== "GGUF") refuse("the file does not begin with GGUF");
  const version = reader.u32("version");
  if (version >= 1 << 16) refuse("the file is big-endian, which is not read");
  if (version !== 2 && version !== 3) refuse(`version ${version} of GGUF is not read; expected 2 or 3`);
  const tensorCount = reader.count("number of tensors", TENSOR_BYTES_MIN);
  if (tensorCount > TENSORS_MAX) refuse(`${tensorCount} tensors; at most ${TENSORS_MAX} are read`);
  const keyCount = reader.count("number of metadata keys", KEY_BYTES_MIN);
  if (keyCount > KEYS_MAX) refuse(`${keyCount} metadata keys; at most ${KEYS_MAX} are read`);
  const metadata = readMetadata(reader, keyCount);
  const alignment = alignmentOf(metadata);
  const found = Array.from({ length: tensorCount }, (_, index) => readTensor(reader, index));
  const dataStart = Math.ceil(reader.at / alignment) * alignment;
  checkData(found, Math.max(0, source.size - dataStart), alignment);
  const architecture = textOf(metadata.get("general.architecture"));
  const contextLength = architecture === null ? null : metadata.get(`${architecture}.context_length`);
  const tensors = found.map(({ offset: _offset, ...tensor }) => tensor);
  return {
    format: "gguf",
    bytes: source.size,
    architecture,
    name: textOf(metadata.get("general.name")),
    contextLength: typeof contextLength === "number" ? contextLength : null,
    parameters: elementCount([1, tensors.reduce((sum, { parameters }) => sum + parameters, 0)], "all tensors"),
    tensors,
    metadata: Object.fromEntries(metadata),
    externalFiles: [],
  };
}

const textOf = (value: Value | undefined): string | null => (typeof value === "string" ? value : null);

function readMetadata(reader: ByteReader, count: number): ReadonlyMap<string, Value> {
  const metadata = new Map<string, Value>();
  const keys = new Set<string>();
  for (let index = 0; index < count; index += 1) {
    const key = readName(reader, `metadata key ${index}`);
    if (keys.has(key)) refuse(`the metadata key ${quoted(key)} exists twice`);
    keys.add(key);
    const value = readValue(reader, reader.u32(`type of ${quoted(key)}`), key, 0);
    if (value !== null) metadata.set(key, value);
  }
  return metadata;
}

function readName(reader: ByteReader, what: string): string {
  const length = reader.count(`length of ${what}`, 1);
  if (length > NAME_BYTES_MAX) refuse(`${what}: its name has ${length} bytes; at most ${NAME_BYTES_MAX} are read`);
  const name = reader.text(length, what);
  checkName(name, what);
  return name;
}

const ARRAY = 9;
const STRING = 8;
/** Bytes of a value by its type; strings and arrays have none. */
const VALUE_BYTES: readonly (number | null)[] = [1, 1, 2, 2, 4, 4, 4, 1, null, null, 8, 8, 8];

/** `null`: an array, which is skipped. */
function readValue(reader: ByteReader, type: number, key: string, depth: number): Value | null {
  const what = `value of ${quoted(key)}`;
  switch (type) {
    case 0:
      return reader.u8(what);
    case 1:
      return reader.i8(what);
    case 2:
      return reader.u16(what);
    case 3:
      return reader.i16(what);
    case 4:
      return reader.u32(what);
    case 5:
      return reader.i32(what);
    case 6:
      return reader.f32(what);
    case 7: {
      const value = reader.u8(what);
      if (value > 1) refuse(`${what}: ${value} is neither true nor false`);
      return value === 1;
    }
    case STRING:
      return readText(reader, what);
    case ARRAY:
      skipArray(reader, key, depth);
      return null;
    case 10:
      return reader.size(what);
    case 11:
      return Number(reader.i64(what));
    case 12:
      return reader.f64(what);
    default:
      return refuse(`${what}: the type ${type} is not known`);
  }
}

function readText(reader: ByteReader, what: string): string {
  const length = reader.count(`length of ${what}`, 1);
  const kept = Math.min(length, VALUE_KEPT_MAX);
  const start = reader.at;
  // A text that is cut may end in the middle of a character.
  const text = length === kept ? reader.text(length, what) : cutText(reader, kept, what);
  reader.at = start + length;
  return text;
}

function cutText(reader: ByteReader, length: number, what: string): string {
  const start = reader.at;
  for (let bytes = length; bytes > length - 4; bytes -= 1) {
    reader.at = start;
    try {
      return `${reader.text(bytes, what)}…`;
    } catch {
      // One byte less.
    }
  }
  return refuse(`${what} at byte ${start}: is not UTF-8`);
}

function skipArray(reader: ByteReader, key: string, depth: number): void {
  const what = `array ${quoted(key)}`;
  if (depth >= ARRAY_DEPTH_MAX) refuse(`${what}: arrays are nested more than ${ARRAY_DEPTH_MAX} deep`);
  const type = reader.u32(`type of ${what}`);
  if (type >= VALUE_BYTES.length) refuse(`${what}: the type ${type} is not known`);
  const bytes = VALUE_BYTES[type] ?? null;
  // A string has at least its length, an array its type and its length.
  const count = reader.count(`length of ${what}`, bytes ?? (type === STRING ? 8 : 12));
  if (bytes !== null) {
    reader.skip(count * bytes, what);
    return;
  }
  for (let index = 0; index < count; index += 1) {
    if (type === ARRAY) skipArray(reader, key, depth + 1);
    else reader.skip(reader.count(`length of a string in ${what}`, 1), what);
  }
}

function alignmentOf(metadata: ReadonlyMap<string, Value>): number {
  const alignment = metadata.get("general.alignment") ?? DEFAULT_ALIGNMENT;
  const isPowerOfTwo = typeof alignment === "number" && alignment > 0 && Number.isInteger(Math.log2(alignment));
  if (!isPowerOfTwo || alignment > ALIGNMENT_MAX)
    return refuse(`general.alignment: expected a power of two up to ${ALIGNMENT_MAX}, got ${String(alignment)}`);
  return alignment;
}

interface PlacedTensor extends TensorDescription {
  readonly offset: number;
}

function readTensor(reader: ByteReader, index: number): PlacedTensor {
  const name = readName(reader, `tensor ${index}`);
  const where = `tensor ${quoted(name)}`;
  const dimensions = reader.u32(`${where}: number of dimensions`);
  if (dimensions > DIMENSIONS_MAX) refuse(`${where}: ${dimensions} dimensions; at most ${DIMENSIONS_MAX} are read`);
  const shape = Array.from({ length: dimensions }, () => reader.size(`${where}: dimension`));
  const typeId = reader.u32(`${where}: type`);
  const offset = reader.size(`${where}: offset`);
  const parameters = elementCount(shape, name);
  const type = tensorTypes.get(typeId);
  if (type === undefined) return { name, type: `type ${typeId}`, shape, parameters, bytes: null, offset };
  // Blocks lie within rows.
  if ((shape[0] ?? 1) % type.block !== 0)
    refuse(`${where}: rows of ${shape[0] ?? 1} elements are no whole blocks of ${type.block} (${type.name})`);
  return { name, type: type.name, shape, parameters, bytes: (parameters / type.block) * type.blockBytes, offset };
}

function checkData(tensors: readonly PlacedTensor[], dataBytes: number, alignment: number): void {
  const names = new Set<string>();
  const extents: Extent[] = [];
  for (const { name, offset, bytes } of tensors) {
    if (names.has(name)) refuse(`tensor ${quoted(name)}: exists twice`);
    names.add(name);
    const end = offset + (bytes ?? 0);
    if (offset % alignment !== 0) refuse(`tensor ${quoted(name)}: its offset ${offset} is no multiple of ${alignment}`);
    if (!Number.isSafeInteger(end) || end > dataBytes)
      refuse(`tensor ${quoted(name)}: ends at byte ${end} of the data, but the file has ${dataBytes}: it is cut`);
    extents.push({ name, start: offset, end });
  }
  checkDisjoint(extents);
}
