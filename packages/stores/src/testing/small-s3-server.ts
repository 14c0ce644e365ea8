/** A small S3 server in memory, with faults that a test chooses. It checks no signatures. */
import { createHash, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
}

export interface ServedRequest {
  readonly method: string;
  readonly key: string;
  readonly query: URLSearchParams;
}

/**
 * `otherRange`: other bytes of the same length, named as those of another range. `cut`: half of the body, then the connection ends. `wrong`: other bytes of the same length. `hang`: no answer. A number:
 * this status.
 */
export type Fault = "cut" | "wrong" | "hang" | "otherRange" | number | null;

/** Time of every object: clients want one. */
const MODIFIED = "Mon, 01 Jan 2024 00:00:00 GMT";

export class SmallS3Server {
  readonly objects = new Map<string, Buffer>();
  readonly requests: ServedRequest[] = [];
  readonly uploads = new Map<string, Map<number, Buffer>>();
  /** Called for each request. */
  faultOf: (request: ServedRequest) => Fault = () => null;
  /** Most GET requests that were in progress at the same time. */
  mostAtOnce = 0;
  #atOnce = 0;
  readonly #server: Server = createServer((request, response) => void this.#serve(request, response));

  /** Default port: a free one. After `close` it can listen again, with the objects that it had. */
  async listen(port = 0): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(port, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  readsOf(key: string): number {
    return this.requests.filter((each) => each.method === "GET" && each.key === key).length;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    const served = {
      method: request.method ?? "",
      key: decodeURIComponent(pathname.split("/").slice(2).join("/")),
      query: searchParams,
    };
    this.requests.push(served);
    const body = await bodyOf(request).catch(() => null);
    if (body === null) return;
    const fault = this.faultOf(served);
    if (fault === "hang") return;
    const answer = typeof fault === "number" ? problem(fault, "Fault") : this.#answer(served, body, request);
    const { body: content = "" } = answer;
    const data = typeof content === "string" ? Buffer.from(content) : content;
    const sent = fault === "wrong" || fault === "otherRange" ? Buffer.alloc(data.length, 7) : data;
    this.#atOnce += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#atOnce);
    response.on("close", () => (this.#atOnce -= 1));
    const other = fault === "otherRange" ? { "content-range": `bytes 7-${data.length + 6}/${data.length + 7}` } : {};
    response.writeHead(answer.status, { "content-length": data.length, ...answer.headers, ...other });
    if (fault === "cut") response.write(sent.subarray(0, sent.length / 2), () => response.destroy());
    else if (served.method === "HEAD") response.end();
    else response.end(sent);
  }

  #answer({ method, key, query }: ServedRequest, body: Buffer, { headers }: IncomingMessage): Answer {
    const md5 = headers["content-md5"];
    if (md5 !== undefined && md5 !== createHash("md5").update(body).digest("base64")) return problem(400, "BadDigest");
    if (method === "GET" && key === "") return this.#list(query);
    const upload = query.get("uploadId");
    if (upload !== null) return this.#part({ method, key, query }, upload, body);
    if (method === "POST") {
      const id = randomUUID();
      this.uploads.set(id, new Map());
      return xml(`<InitiateMultipartUploadResult><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`);
    }
    if (method === "PUT") {
      this.objects.set(key, body);
      return { status: 200, headers: { etag: etagOf(body) } };
    }
    if (method === "DELETE") {
      this.objects.delete(key);
      return { status: 204 };
    }
    const object = this.objects.get(key);
    if (object === undefined) return problem(404, "NoSuchKey");
    const etag = etagOf(object);
    const about = { etag, "last-modified": MODIFIED, "accept-ranges": "bytes" };
    if (method === "HEAD") return { status: 200, headers: { ...about, "content-length": String(object.length) } };
    if (headers["if-match"] !== undefined && headers["if-match"] !== etag) return problem(412, "PreconditionFailed");
    const [, from = "0", to = ""] = /bytes=(\d+)-(\d*)/.exec(headers.range ?? "") ?? [];
    if (headers.range === undefined) return { status: 200, headers: about, body: object };
    const end = to === "" ? object.length : Math.min(object.length, Number(to) + 1);
    const range = `bytes ${from}-${end - 1}/${object.length}`;
    return { status: 206, headers: { ...about, "content-range": range }, body: object.subarray(Number(from), end) };
  }

  #part({ method, key, query }: ServedRequest, id: string, body: Buffer): Answer {
    const parts = this.uploads.get(id);
    if (parts === undefined) return problem(404, "NoSuchUpload");
    if (method === "PUT") {
      parts.set(Number(query.get("partNumber")), body);
      return { status: 200, headers: { etag: etagOf(body) } };
    }
    this.uploads.delete(id);
    if (method === "DELETE") return { status: 204 };
    const order = [...parts.keys()].toSorted((left, right) => left - right);
    this.objects.set(key, Buffer.concat(order.map((number) => parts.get(number) ?? Buffer.alloc(0))));
    return xml(`<CompleteMultipartUploadResult><Key>${key}</Key></CompleteMultipartUploadResult>`);
  }

  #list(query: URLSearchParams): Answer {
    const prefix = query.get("prefix") ?? "";
    const items = [...this.objects]
      .filter(([key]) => key.startsWith(prefix))
      .map(([key, { length }]) => [
        "<Contents>",
        `<Key>${key.replaceAll("&", "&amp;").replaceAll("<", "&lt;")}</Key>`,
        `<Size>${length}</Size><ETag>${etagOf(this.objects.get(key) ?? Buffer.alloc(0)).replaceAll('"', "&quot;")}</ETag>`,
        "</Contents>",
      ]);
    return xml(`<ListBucketResult><IsTruncated>false</IsTruncated>${items.flat().join("")}</ListBucketResult>`);
  }
}

/** Objects are replaced, never changed, so that a large one is hashed once. */
const etags = new WeakMap<Buffer, string>();
/** A hash takes less than 2 GiB at once. */
const HASHED_BYTES = 64 * 1024 * 1024;

function etagOf(bytes: Buffer): string {
  const known = etags.get(bytes);
  if (known !== undefined) return known;
  const hash = createHash("md5");
  for (let at = 0; at < bytes.length; at += HASHED_BYTES) hash.update(bytes.subarray(at, at + HASHED_BYTES));
  const etag = `"${hash.digest("hex")}"`;
  etags.set(bytes, etag);
  return etag;
}

const xml = (body: string): Answer => ({
  status: 200,
  headers: { "content-type": "application/xml" },
  body: `<?xml version="1.0"?>${body}`,
});

const problem = (status: number, code: string): Answer => ({
  ...xml(`<Error><Code>${code}</Code><Message>${code}</Message></Error>`),
  status,
});

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}
