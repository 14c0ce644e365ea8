/** Bodies of OTLP/HTTP. They are unzipped one at a time, in the telemetry thread: those that wait take no more memory than was sent. */
import { gunzipSync } from "node:zlib";

const CONTENT_BYTES_MAX = 32 * 1024 * 1024;

export interface OtlpBody {
  readonly bytes: Uint8Array;
  /** False: protobuf. */
  readonly isJson: boolean;
  /** Whether the bytes are compressed with gzip. */
  readonly isGzip: boolean;
}

/** Text of JSON, or bytes of protobuf. `null`: the bytes are no gzip, or larger than 32 MiB uncompressed. */
export function otlpContent({ bytes, isJson, isGzip }: OtlpBody): Uint8Array | string | null {
  let content = bytes;
  if (isGzip)
    try {
      content = gunzipSync(bytes, { maxOutputLength: CONTENT_BYTES_MAX });
    } catch {
      return null;
    }
  return isJson ? Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString("utf8") : content;
}
