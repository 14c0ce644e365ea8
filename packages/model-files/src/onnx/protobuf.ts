/** Fields of a Protocol Buffers message (https://protobuf.dev/programming-guides/encoding), read one after the other. */
import type { ByteReader } from "../base/byte-reader.ts";
import { refuse } from "../base/bounds.ts";

export type ProtobufField =
  | { readonly kind: "number"; readonly number: number; readonly value: bigint }
  | { readonly kind: "fixed"; readonly number: number }
  | { readonly kind: "bytes"; readonly number: number; readonly content: ByteReader };

const VARINT_BYTES_MAX = 10;

export function varint(reader: ByteReader, what: string): bigint {
  let value = 0n;
  for (let index = 0; index < VARINT_BYTES_MAX; index += 1) {
    const byte = reader.u8(what);
    value |= BigInt(byte & 0x7f) << BigInt(7 * index);
    if (byte < 0x80) return BigInt.asUintN(64, value);
  }
  return refuse(`${what} at byte ${reader.at}: a number has more than ${VARINT_BYTES_MAX} bytes`);
}

/** A message is skipped over unless its content is read. */
export function* fieldsOf(reader: ByteReader, what: string): Generator<ProtobufField> {
  while (reader.left > 0) {
    const key = varint(reader, what);
    const number = Number(key >> 3n);
    const wireType = Number(key & 7n);
    if (number === 0 || number > 0x1fff_ffff) refuse(`${what} at byte ${reader.at}: ${number} is no field number`);
    if (wireType === 0) yield { kind: "number", number, value: varint(reader, what) };
    else if (wireType === 2) yield { kind: "bytes", number, content: content(reader, what) };
    else if (wireType === 1 || wireType === 5) {
      reader.skip(wireType === 1 ? 8 : 4, what);
      yield { kind: "fixed", number };
    } else refuse(`${what} at byte ${reader.at}: the wire type ${wireType} is not known`);
  }
}

function content(reader: ByteReader, what: string): ByteReader {
  const length = varint(reader, what);
  if (length > BigInt(reader.left))
    refuse(`${what} at byte ${reader.at}: a field states ${length} bytes, but ${reader.left} are left`);
  return reader.part(Number(length), what);
}
