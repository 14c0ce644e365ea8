/**
 * Reads a multipart form (RFC 7578) with a few fields, one of which may be a large file. Everything but the contents is
 * bounded: a form of a million empty parts would keep the event loop for seconds.
 */

export interface FormField {
  /** Undefined if the field is no file. */
  readonly filename: string | undefined;
  readonly content: Buffer;
}

const PARTS_MAX = 16;
/** Maximum size of the head of a part. */
const HEAD_BYTES_MAX = 2048;
const headEnd = Buffer.from("\r\n\r\n");

/** The fields by name, the first of each name. Undefined if the body is no such form, or is beyond the bounds. */
export function formIn(body: Buffer, contentType: string): ReadonlyMap<string, FormField> | undefined {
  const boundary = boundaryOf(contentType);
  if (boundary === undefined) return undefined;
  const delimiter = Buffer.from(`\r\n--${boundary}`, "latin1");
  const first = delimiter.subarray(2);
  // RFC 2046, 5.1.1: text before the first delimiter is ignored. No client sends any.
  if (!startsWith(body, 0, first)) return undefined;
  const fields = new Map<string, FormField>();
  let at = first.length;
  for (let count = 0; count <= PARTS_MAX; count++) {
    if (body[at] === 45 && body[at + 1] === 45) return fields;
    if (body[at] !== 13 || body[at + 1] !== 10) return undefined;
    // The first line of a head may be its end.
    const headStop = body.subarray(at, at + HEAD_BYTES_MAX).indexOf(headEnd);
    if (headStop < 0) return undefined;
    const head = body.toString("utf8", at + 2, at + headStop);
    const start = at + headStop + headEnd.length;
    const end = body.indexOf(delimiter, start - 2);
    if (end < 0) return undefined;
    const name = parameterOf(head, "name");
    if (name !== undefined && !fields.has(name))
      fields.set(name, {
        filename: parameterOf(head, "filename"),
        content: body.subarray(start, Math.max(start, end)),
      });
    at = end + delimiter.length;
  }
  return undefined;
}

function boundaryOf(contentType: string): string | undefined {
  if (!/^multipart\/form-data *;/i.test(contentType)) return undefined;
  const [, quoted, plain] = /; *boundary=(?:"([^"\\]{1,70})"|([^\s";,]{1,70}))(?=[\s;,]|$)/i.exec(contentType) ?? [];
  return quoted ?? plain;
}

/** A parameter of the part's `Content-Disposition`. Browsers write `%22` for a quotation mark. */
function parameterOf(head: string, name: string): string | undefined {
  const line = head.split("\r\n").find((each) => /^content-disposition *:/i.test(each)) ?? "";
  const match =
    new RegExp(`; *${name}="([^"]*)"`, "i").exec(line) ?? new RegExp(`; *${name}=([^\\s";]+)`, "i").exec(line);
  return match?.[1]?.replaceAll("%22", '"');
}

function startsWith(bytes: Buffer, at: number, start: Buffer): boolean {
  return bytes.length >= at + start.length && bytes.compare(start, 0, start.length, at, at + start.length) === 0;
}
