/** UTF-8 without a platform: the pure packages have no `TextEncoder` in their types. Lone surrogates become U+FFFD. */
export function utf8Encode(text: string): Uint8Array {
  // Never more than three bytes for one UTF-16 unit.
  let bytes = new Uint8Array(text.length + 1024);
  let size = 0;
  for (let index = 0; index < text.length; index++) {
    if (size + 4 > bytes.length) {
      const larger = new Uint8Array(Math.min(bytes.length * 2, text.length * 3 + 4));
      larger.set(bytes);
      bytes = larger;
    }
    const unit = text.charCodeAt(index);
    if (unit < 0x80) {
      bytes[size++] = unit;
      continue;
    }
    const point = text.codePointAt(index) as number;
    if (point > 0xffff) index++;
    size = writeLong(bytes, size, point >= 0xd800 && point <= 0xdfff ? 0xfffd : point);
  }
  return bytes.slice(0, size);
}

function writeLong(bytes: Uint8Array, from: number, point: number): number {
  let size = from;
  if (point < 0x800) {
    bytes[size++] = 0xc0 | (point >> 6);
  } else {
    if (point < 0x10000) {
      bytes[size++] = 0xe0 | (point >> 12);
    } else {
      bytes[size++] = 0xf0 | (point >> 18);
      bytes[size++] = 0x80 | ((point >> 12) & 63);
    }
    bytes[size++] = 0x80 | ((point >> 6) & 63);
  }
  bytes[size++] = 0x80 | (point & 63);
  return size;
}

/** The inverse of `utf8Encode`. Malformed input gives some text and no error: whether bytes are whole is for a digest to say. */
export function utf8Decode(bytes: Uint8Array): string {
  const parts: string[] = [];
  let units: number[] = [];
  let index = 0;
  while (index < bytes.length) {
    const lead = bytes[index++] as number;
    let point = lead;
    if (lead >= 0x80) {
      const extra = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : -1;
      point = extra < 0 ? 0xfffd : lead & (0x3f >> extra);
      for (let step = 0; step < extra; step++) point = (point << 6) | ((bytes[index++] ?? 0) & 63);
    }
    if (point > 0xffff) units.push(0xd800 + ((point - 0x10000) >> 10), 0xdc00 + ((point - 0x10000) & 0x3ff));
    else units.push(point);
    // `String.fromCharCode` takes its units as arguments, so in slices.
    if (units.length >= 8192) {
      parts.push(String.fromCharCode(...units));
      units = [];
    }
  }
  parts.push(String.fromCharCode(...units));
  return parts.join("");
}
