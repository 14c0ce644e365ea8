/**
 * The Snappy block format, which remote write requires. The npm package `snappyjs` 0.7 loops for ever on a literal with a
 * length of 2^31 bytes, and the package `snappy` is native code for each platform; both directions are short.
 * https://github.com/google/snappy/blob/main/format_description.txt
 */

const HASH_BITS = 14;
const COPY_LENGTH_MAX = 64;
const OFFSET_MAX = 65_535;
const MATCH_LENGTH_MIN = 4;

/** `null`: the bytes are damaged, or their content has more than `bytesMax` bytes. */
export function uncompressed(input: Uint8Array, bytesMax: number): Uint8Array | null {
  let [length, at, shift] = [0, 0, 1];
  for (;;) {
    const byte = input[at++];
    if (byte === undefined || at > 5) return null;
    length += (byte & 127) * shift;
    if (byte < 128) break;
    shift *= 128;
  }
  if (length > bytesMax) return null;
  const output = new Uint8Array(length);
  let written = 0;
  while (at < input.length) {
    const tag = input[at++] ?? 0;
    if ((tag & 3) === 0) {
      const extra = Math.max(0, (tag >>> 2) - 59);
      const count = (extra === 0 ? tag >>> 2 : littleEndian(input, at, extra)) + 1;
      at += extra;
      if (at + count > input.length || written + count > length) return null;
      output.set(input.subarray(at, at + count), written);
      at += count;
      written += count;
      continue;
    }
    const bytes = (tag & 3) === 1 ? 1 : (tag & 3) === 2 ? 2 : 4;
    if (at + bytes > input.length) return null;
    const count = bytes === 1 ? ((tag >>> 2) & 7) + 4 : (tag >>> 2) + 1;
    const offset = littleEndian(input, at, bytes) + (bytes === 1 ? (tag >>> 5) * 256 : 0);
    at += bytes;
    if (offset === 0 || offset > written || written + count > length) return null;
    // The ranges can overlap, so that a short piece is repeated.
    for (const end = written + count; written < end; written++) output[written] = output[written - offset] ?? 0;
  }
  return written === length ? output : null;
}

function littleEndian(input: Uint8Array, at: number, bytes: number): number {
  let value = 0;
  for (let byte = bytes - 1; byte >= 0; byte--) value = value * 256 + (input[at + byte] ?? 0);
  return value;
}

/** Compresses with one hash table over the whole input. */
export function compressed(input: Uint8Array): Uint8Array {
  const output = new Uint8Array(32 + input.length + Math.ceil(input.length / 6));
  let written = 0;
  for (let rest = input.length; ; rest = Math.floor(rest / 128)) {
    output[written++] = rest < 128 ? rest : (rest % 128) + 128;
    if (rest < 128) break;
  }
  const table = new Int32Array(1 << HASH_BITS).fill(-1);
  let literal = 0;
  let at = 0;
  while (at + MATCH_LENGTH_MIN <= input.length) {
    const word = wordAt(input, at);
    const hash = Math.imul(word, 0x1e35a7bd) >>> (32 - HASH_BITS);
    const candidate = table[hash] ?? -1;
    table[hash] = at;
    if (candidate === -1 || at - candidate > OFFSET_MAX || wordAt(input, candidate) !== word) {
      at++;
      continue;
    }
    written = putLiteral(output, written, input.subarray(literal, at));
    let end = at + MATCH_LENGTH_MIN;
    while (end < input.length && input[end] === input[candidate + end - at]) end++;
    const offset = at - candidate;
    for (let left = end - at; left > 0;) {
      const count = Math.min(left, COPY_LENGTH_MAX);
      output[written++] = 2 | ((count - 1) << 2);
      output[written++] = offset & 255;
      output[written++] = offset >>> 8;
      left -= count;
    }
    at = literal = end;
  }
  written = putLiteral(output, written, input.subarray(literal));
  return output.subarray(0, written);
}

const wordAt = (input: Uint8Array, at: number): number =>
  (input[at] ?? 0) | ((input[at + 1] ?? 0) << 8) | ((input[at + 2] ?? 0) << 16) | ((input[at + 3] ?? 0) << 24);

function putLiteral(output: Uint8Array, from: number, bytes: Uint8Array): number {
  if (bytes.length === 0) return from;
  let at = from;
  const last = bytes.length - 1;
  if (last < 60) output[at++] = last << 2;
  else {
    const extra = last < 1 << 8 ? 1 : last < 1 << 16 ? 2 : last < 1 << 24 ? 3 : 4;
    output[at++] = (59 + extra) << 2;
    for (let byte = 0; byte < extra; byte++) output[at++] = Math.floor(last / 256 ** byte) & 255;
  }
  output.set(bytes, at);
  return at + bytes.length;
}
