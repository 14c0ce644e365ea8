/** Builds model files in memory, valid ones and damaged ones. */
import type { ByteSource } from "../base/byte-reader.ts";

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Counts the bytes that were read. */
export function memorySource(bytes: Buffer, size = bytes.length): ByteSource & { read: number } {
  return {
    read: 0,
    size,
    bytes(offset, length) {
      if (offset + length > size) throw new RangeError("read beyond the end");
      this.read += length;
      const part = Buffer.alloc(length);
      bytes.copy(part, 0, offset, Math.min(offset + length, bytes.length));
      return part;
    },
    text(part) {
      try {
        return utf8.decode(part);
      } catch {
        return null;
      }
    },
  };
}

export const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
export const u64 = (value: number | bigint): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
};
const text = (value: string): Buffer => Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)]);

export function safetensors(header: unknown, dataBytes: number): Buffer {
  const json = typeof header === "string" ? header : JSON.stringify(header);
  return Buffer.concat([u64(Buffer.byteLength(json)), Buffer.from(json), Buffer.alloc(dataBytes)]);
}

export type GgufValue = string | number | boolean | readonly string[] | Buffer;

export interface GgufTensor {
  readonly name: string;
  readonly shape: readonly (number | bigint)[];
  readonly type: number;
  readonly offset: number;
}

function ggufValue(value: GgufValue): Buffer {
  if (Buffer.isBuffer(value)) return value;
  if (typeof value === "string") return Buffer.concat([u32(8), text(value)]);
  if (typeof value === "number") return Buffer.concat([u32(4), u32(value)]);
  if (typeof value === "boolean") return Buffer.from([7, 0, 0, 0, value ? 1 : 0]);
  return Buffer.concat([u32(9), u32(8), u64(value.length), ...value.map(text)]);
}

export interface GgufParts {
  readonly version?: number;
  readonly keys?: readonly (readonly [key: string, value: GgufValue])[];
  readonly tensors?: readonly GgufTensor[];
  readonly dataBytes?: number;
  readonly keyCount?: number | bigint;
  readonly tensorCount?: number | bigint;
}

export function gguf({ version = 3, keys = [], tensors = [], dataBytes = 0, ...counts }: GgufParts): Buffer {
  const header = Buffer.concat([
    Buffer.from("GGUF"),
    u32(version),
    u64(counts.tensorCount ?? tensors.length),
    u64(counts.keyCount ?? keys.length),
    ...keys.flatMap(([key, value]) => [text(key), ggufValue(value)]),
    ...tensors.flatMap(({ name, shape, type, offset }) => [
      text(name),
      u32(shape.length),
      ...shape.map(u64),
      u32(type),
      u64(offset),
    ]),
  ]);
  return Buffer.concat([header, Buffer.alloc((32 - (header.length % 32)) % 32), Buffer.alloc(dataBytes)]);
}

/** A field of a message: a number, or bytes with their length. */
export function field(number: number, value: number | bigint | string | Buffer): Buffer {
  if (typeof value === "number" || typeof value === "bigint")
    return Buffer.concat([varint(BigInt(number << 3)), varint(BigInt(value))]);
  const bytes = typeof value === "string" ? Buffer.from(value) : value;
  return Buffer.concat([varint(BigInt((number << 3) | 2)), varint(BigInt(bytes.length)), bytes]);
}

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, value);
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

export const tensorProto = (name: string, type: number, shape: readonly number[], more: Buffer): Buffer =>
  Buffer.concat([...shape.map((size) => field(1, size)), field(2, type), field(8, name), more]);

export const nodeProto = (
  inputs: readonly string[],
  outputs: readonly string[],
  more: Buffer = Buffer.alloc(0),
): Buffer => Buffer.concat([...inputs.map((name) => field(1, name)), ...outputs.map((name) => field(2, name)), more]);

export const onnx = (...graph: readonly Buffer[]): Buffer =>
  Buffer.concat([
    field(1, 9),
    field(2, "pytorch"),
    field(7, Buffer.concat([...graph, field(2, "main")])),
    field(8, field(2, 17)),
  ]);
