/**
 * Text of lines. Lines are kept with one character for each byte, because Slurm pads columns by bytes; a cell is decoded when it is
 * read.
 */

/** Decodes UTF-8; bytes that are no UTF-8 become U+FFFD. */
export function utf8Text(bytes: string): string {
  // oxlint-disable-next-line no-control-regex -- ASCII needs no decoding.
  return /^[\u0000-\u007f]*$/.test(bytes) ? bytes : Buffer.from(bytes, "latin1").toString("utf8");
}
