/** Bytes of an answer that are read before the connection is given up. */
const READ_MAX = 64 * 1024;

/** The first characters of an answer. A receiver that goes on sending is cut off. */
export async function shortText(response: Response, charsMax: number): Promise<string> {
  const reader = (response.body as ReadableStream<Uint8Array> | null)?.getReader();
  if (reader === undefined) return "";
  const pieces: Uint8Array[] = [];
  for (let bytes = 0; bytes < READ_MAX;) {
    const { done, value } = await reader.read();
    if (done) return textOf(pieces, charsMax);
    pieces.push(value);
    bytes += value.length;
  }
  await reader.cancel();
  return textOf(pieces, charsMax);
}

const textOf = (pieces: readonly Uint8Array[], charsMax: number): string =>
  Buffer.concat(pieces).toString("utf8").slice(0, charsMax);
