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
const COLON = 58;
const BACKSLASH = 92;

export function hasRemoteMedia(bytes: Buffer, operation: Operation): boolean {
  if (hasEscapedLetter(bytes)) return true;
  if (operation === "messages") return hasAddress(bytes, sourceKey);
  return bytes.indexOf(mediaEnd) >= 0 && mediaKeys.some((key) => hasAddress(bytes, key));
}

/** Whether the key occurs with an address that is no `data:` URL. In a text its quotes would have backslashes. */
function hasAddress(bytes: Buffer, key: Buffer): boolean {
  for (let at = bytes.indexOf(key); at >= 0; at = bytes.indexOf(key, at + key.length)) {
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
  }
  return false;
}

function isData(bytes: Buffer, quote: number): boolean {
  return bytes.toString("latin1", quote + 1, quote + 6).toLowerCase() === "data:";
}

/** An escaped ASCII letter could hide a key. No encoder writes one: JSON needs escapes only for control characters. */
function hasEscapedLetter(bytes: Buffer): boolean {
  for (let at = bytes.indexOf(escape); at >= 0; at = bytes.indexOf(escape, at + escape.length)) {
    let slashes = 0;
    while (bytes[at - 1 - slashes] === BACKSLASH) slashes++;
    const code = Number.parseInt(bytes.toString("latin1", at + 4, at + 6), 16);
    const isLetter = (code >= 0x41 && code <= 0x5a) || code === 0x5f || (code >= 0x61 && code <= 0x7a);
    if (slashes % 2 === 0 && isLetter) return true;
  }
  return false;
}

function skipBlanks(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === 32 || bytes[at] === 10 || bytes[at] === 13 || bytes[at] === 9) at++;
  return at;
}
