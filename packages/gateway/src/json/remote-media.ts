/**
 * Finds media that a replica would fetch from an address in the request: images, audio and video. A client could reach
 * machines in the replica's network by it, so only data in the request itself (`data:`) passes unless the model allows
 * addresses (`allowRemoteMedia`).
 */
import type { Operation } from "../protocols/endpoints.ts";
import { KeySet, scanObject, textOf } from "./scan.ts";

/** Keys whose value is an address, or an object with the address as its `url`. */
const mediaKeys = ['"image_url"', '"audio_url"', '"video_url"', '"file_url"'].map((key) => Buffer.from(key));
const mediaEnd = Buffer.from('_url"');
/** The same in Anthropic's protocol: `"source": {"type": "url", "url": …}`. */
const sourceKey = Buffer.from('"source"');
const urlKeys = new KeySet(["url"], "refuse");
const escape = Buffer.from("\\u00");
/** Maximum number of media keys that are examined. Each takes about 0.2 µs. */
const KEYS_MAX = 100_000;
/** Number of bytes that are checked one by one before the native search. */
const NEAR_BYTES = 32;
const COLON = 58;
const BACKSLASH = 92;

export function hasRemoteMedia(bytes: Buffer, operation: Operation): boolean {
  if (hasEscapedLetter(bytes)) return true;
  if (operation === "messages" || operation === "count_tokens") return hasAddress(bytes, sourceKey);
  return bytes.indexOf(mediaEnd) >= 0 && mediaKeys.some((key) => hasAddress(bytes, key));
}

/**
 * Whether the key occurs with an address that is no `data:` URL. In a text its quotes would have backslashes. Objects of
 * such a key inside each other are each read whole: where that is more than the body twice, or where there are too many
 * keys, it counts as an address.
 */
function hasAddress(bytes: Buffer, key: Buffer): boolean {
  let left = 2 * bytes.length;
  let count = 0;
  for (let at = bytes.indexOf(key); at >= 0; at = bytes.indexOf(key, at + key.length)) {
    if (++count > KEYS_MAX) return true;
    const colon = skipBlanks(bytes, at + key.length);
    if (bytes[colon] !== COLON) continue;
    const start = skipBlanks(bytes, colon + 1);
    if (bytes[start] === 34) {
      if (key !== sourceKey && !isData(bytes, start)) return true;
      continue;
    }
    let isRemote = false;
    const end = scanObject(bytes, start, urlKeys, (_, from, to) => {
      if (bytes[from] !== 34 || !isData(bytes, from)) isRemote ||= textOf(bytes, from, to) !== undefined;
    });
    if (isRemote || (end < 0 && bytes[start] === 123)) return true;
    left -= Math.max(0, end - start);
    if (left < 0) return true;
  }
  return false;
}

function isData(bytes: Buffer, quote: number): boolean {
  return bytes.toString("latin1", quote + 1, quote + 6).toLowerCase() === "data:";
}

/** An escaped ASCII letter could hide a key. No encoder writes one: JSON needs escapes only for control characters. */
function hasEscapedLetter(bytes: Buffer): boolean {
  for (let at = bytes.indexOf(escape); at >= 0; at = nextEscape(bytes, at)) {
    if (!isLetterCode(bytes[at + 4], bytes[at + 5])) continue;
    let slashes = 0;
    while (bytes[at - 1 - slashes] === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return true;
  }
  return false;
}

/** Whether two hex digits are the code of a letter or `_`: 41 to 5a, 5f, 61 to 7a. */
function isLetterCode(high: number | undefined, low: number | undefined): boolean {
  if (high === undefined || low === undefined || high < 52 || high > 55) return false;
  // The letters a to f follow the digits in this order, and have bit 6.
  const digit = low < 64 ? low - 48 : (low & 31) + 9;
  return high % 2 === 0 ? digit > 0 : digit <= 10 || (high === 53 && digit === 15);
}

/**
 * The next escape after the one at `at`. In many languages escapes follow each other closely, and a native search costs
 * as much as about thirty bytes.
 */
function nextEscape(bytes: Buffer, at: number): number {
  const from = at + escape.length;
  const near = Math.min(bytes.length, from + NEAR_BYTES);
  for (let next = from; next < near; next++) {
    if (bytes[next] === BACKSLASH && isEscapeAt(bytes, next)) return next;
  }
  return bytes.indexOf(escape, near);
}

function isEscapeAt(bytes: Buffer, at: number): boolean {
  for (let index = 1; index < escape.length; index++) if (bytes[at + index] !== escape[index]) return false;
  return true;
}

function skipBlanks(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === 32 || bytes[at] === 10 || bytes[at] === 13 || bytes[at] === 9) at++;
  return at;
}
