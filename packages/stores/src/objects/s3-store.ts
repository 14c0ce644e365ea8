/** A bucket behind the S3 protocol. The SDK is loaded with the first store of this type. */
import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import type { Readable } from "node:stream";
import type { CompletedPart, S3Client } from "@aws-sdk/client-s3";
import { OperationalError } from "@headroom/platform";
import { bodyBatches } from "./body-batches.ts";
import { changedObject, forbiddenStore, missingObject, unreachableStore } from "./object-store.ts";
import type { ByteRange, ObjectStore, ObjectWriting, StoredObject } from "./object-store.ts";
import { RangeBody, RangeHandler } from "./range-handler.ts";
import { FileRefusal } from "./range-reader.ts";
import type { RangeReader } from "./range-reader.ts";
import { writtenPieces } from "./written-pieces.ts";
import type { PlaceDeclaration } from "./store-declaration.ts";

type S3Declaration = PlaceDeclaration & { readonly type: "s3" };
type Sdk = typeof import("@aws-sdk/client-s3");

/** S3 accepts 10,000 parts. */
const PARTS_MAX = 9_000;
const CONNECT_TIMEOUT_MS = 5_000;
/** Time without a byte after which a request counts as cut. */
const SOCKET_TIMEOUT_MS = 30_000;

export async function openS3Store(
  store: S3Declaration,
  readSecret: (reference: string) => string,
  { partBytes, reader }: { readonly partBytes: number; readonly reader: RangeReader },
): Promise<ObjectStore> {
  const sdk = await import("@aws-sdk/client-s3");
  const client = new sdk.S3Client({
    region: store.region,
    ...(store.endpoint === undefined ? {} : { endpoint: store.endpoint, forcePathStyle: true }),
    // Read with each signature, so that a replaced secret is used without a restart.
    credentials: async () => ({
      accessKeyId: readSecret(store.accessKey),
      secretAccessKey: readSecret(store.secretKey),
    }),
    // Transfers repeat single parts themselves, and check the bytes against the digest.
    maxAttempts: 1,
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: {
      connectionTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SOCKET_TIMEOUT_MS,
      httpAgent: { keepAlive: true, maxSockets: store.concurrency },
      httpsAgent: { keepAlive: true, maxSockets: store.concurrency },
    },
  });
  RangeHandler.install(client, { connectTimeoutMs: CONNECT_TIMEOUT_MS, silenceMs: SOCKET_TIMEOUT_MS }, reader);
  return new S3Store({ sdk, client }, store, partBytes);
}

class S3Store implements ObjectStore {
  readonly #sdk: Sdk;
  readonly #client: S3Client;
  readonly #store: S3Declaration;

  readonly partBytes: number;

  constructor(
    { sdk, client }: { readonly sdk: Sdk; readonly client: S3Client },
    store: S3Declaration,
    partBytes: number,
  ) {
    this.partBytes = partBytes;
    this.#sdk = sdk;
    this.#client = client;
    this.#store = store;
  }

  async head(key: string, signal: AbortSignal): Promise<StoredObject | null> {
    const command = new this.#sdk.HeadObjectCommand({ Bucket: this.#store.bucket, Key: key });
    try {
      const { ContentLength = 0, ETag = "" } = await this.#client.send(command, { abortSignal: signal });
      return { key, bytes: ContentLength, tag: ETag };
    } catch (error) {
      const problem = this.#problem(error, key, signal);
      if (problem instanceof OperationalError && problem.code === "objectMissing") return null;
      throw problem;
    }
  }

  async *list(prefix: string, signal: AbortSignal): AsyncGenerator<readonly StoredObject[]> {
    let after: string | undefined;
    do {
      const command = new this.#sdk.ListObjectsV2Command({
        Bucket: this.#store.bucket,
        Prefix: prefix,
        ...(after === undefined ? {} : { ContinuationToken: after }),
      });
      const page = await this.#client.send(command, { abortSignal: signal }).catch((error: unknown) => {
        throw this.#problem(error, prefix, signal);
      });
      yield (page.Contents ?? []).map(({ Key = "", Size = 0, ETag = "" }) => ({ key: Key, bytes: Size, tag: ETag }));
      // A token that does not change would be read for ever.
      const next = page.IsTruncated === true ? page.NextContinuationToken : undefined;
      if (next !== undefined && next === after) throw unreachableStore(this.#store.name, "its list does not end");
      after = next;
    } while (after !== undefined);
  }

  async *copy(
    object: StoredObject,
    { from, to }: ByteRange,
    file: FileHandle,
    signal: AbortSignal,
  ): AsyncGenerator<number> {
    const command = new this.#sdk.GetObjectCommand({
      Bucket: this.#store.bucket,
      Key: object.key,
      Range: `bytes=${from}-${to - 1}`,
      IfMatch: object.tag,
    });
    try {
      const answer = await this.#client.send(command, { abortSignal: signal });
      const { Body, ContentLength, ContentRange = "" } = answer;
      const body = Body as Readable;
      const isWhole = answer.$metadata.httpStatusCode === 200 && from === 0 && to === object.bytes;
      if (!isWhole && !ContentRange.startsWith(`bytes ${from}-${to - 1}/`)) {
        body.destroy();
        throw unreachableStore(this.#store.name, `it did not send the range ${from}-${to - 1} that was asked for`);
      }
      if (ContentLength !== undefined && ContentLength !== to - from) {
        body.destroy();
        throw unreachableStore(this.#store.name, `it sent ${ContentLength} bytes of a range of ${to - from}`);
      }
      const uri = `s3://${this.#store.bucket}/${object.key}`;
      yield* body instanceof RangeBody
        ? body.copyTo(file.fd, from)
        : writtenPieces(bodyBatches(body), { uri, from, to }, file);
    } catch (error) {
      throw this.#problem(error, object.key, signal);
    }
  }

  async write(key: string, bytes: number, signal: AbortSignal): Promise<ObjectWriting> {
    const partBytes = Math.max(this.partBytes, Math.ceil(bytes / PARTS_MAX));
    if (bytes <= partBytes) return this.#wholeWriting(key, partBytes);
    const { CreateMultipartUploadCommand, CompleteMultipartUploadCommand, UploadPartCommand } = this.#sdk;
    const object = { Bucket: this.#store.bucket, Key: key };
    const send = async <Result>(sent: Promise<Result>): Promise<Result> =>
      sent.catch((error: unknown) => {
        throw this.#problem(error, key, signal);
      });
    const { UploadId = "" } = await send(
      this.#client.send(new CreateMultipartUploadCommand(object), { abortSignal: signal }),
    );
    // By number: a part that is repeated after a cut answer counts once.
    const parts = new Map<number, CompletedPart>();
    return {
      id: UploadId,
      partBytes,
      part: async (number, data, abortSignal) => {
        const body = { PartNumber: number + 1, Body: data, ContentMD5: md5(data) };
        const command = new UploadPartCommand({ ...object, UploadId, ...body });
        const { ETag } = await send(this.#client.send(command, { abortSignal }));
        parts.set(number, { PartNumber: number + 1, ETag });
      },
      complete: async (abortSignal) => {
        const Parts = [...parts.values()].toSorted((left, right) => (left.PartNumber ?? 0) - (right.PartNumber ?? 0));
        const command = new CompleteMultipartUploadCommand({ ...object, UploadId, MultipartUpload: { Parts } });
        await send(this.#client.send(command, { abortSignal }));
      },
      abort: () => this.abandon(key, UploadId),
    };
  }

  #wholeWriting(key: string, partBytes: number): ObjectWriting {
    let whole: Buffer = Buffer.alloc(0);
    return {
      id: null,
      partBytes,
      part: async (_, data) => {
        whole = data;
      },
      complete: async (signal) => {
        const body = { Body: whole, ContentMD5: md5(whole) };
        const command = new this.#sdk.PutObjectCommand({ Bucket: this.#store.bucket, Key: key, ...body });
        await this.#client.send(command, { abortSignal: signal }).catch((error: unknown) => {
          throw this.#problem(error, key, signal);
        });
      },
      abort: async () => {},
    };
  }

  async remove(key: string, signal: AbortSignal): Promise<void> {
    const command = new this.#sdk.DeleteObjectCommand({ Bucket: this.#store.bucket, Key: key });
    await this.#client.send(command, { abortSignal: signal }).catch((error: unknown) => {
      const problem = this.#problem(error, key, signal);
      if (!(problem instanceof OperationalError && problem.code === "objectMissing")) throw problem;
    });
  }

  async abandon(key: string, writing: string): Promise<void> {
    const upload = { Bucket: this.#store.bucket, Key: key, UploadId: writing };
    const signal = AbortSignal.timeout(SOCKET_TIMEOUT_MS);
    await this.#client
      .send(new this.#sdk.AbortMultipartUploadCommand(upload), { abortSignal: signal })
      .catch((error: unknown) => {
        const problem = this.#problem(error, key, signal);
        if (!(problem instanceof OperationalError && problem.code === "objectMissing")) throw problem;
      });
  }

  close(): void {
    this.#client.destroy();
  }

  /** The answer of the service as a problem for people. It never contains the credentials. */
  #problem(error: unknown, key: string, signal: AbortSignal): unknown {
    if (signal.aborted) return signal.reason;
    if (error instanceof OperationalError) return error;
    if (error instanceof FileRefusal) return error.cause;
    const { name: sent = "error", $metadata } = error as {
      readonly name?: string;
      readonly $metadata?: { readonly httpStatusCode?: number };
    };
    // The service chooses it, and it is kept in the history.
    const name = /^[\w.-]{1,64}$/.test(sent) ? sent : "an unknown code";
    const status = $metadata?.httpStatusCode;
    if (name === "NoSuchBucket" || name === "InvalidBucketName")
      return new OperationalError(
        "storeMissing",
        `The store ${this.#store.name} has no bucket ${this.#store.bucket}. Create it, or correct the store.`,
        { cause: error },
      );
    if (status === 404) return missingObject(`s3://${this.#store.bucket}/${key}`);
    if (status === 412) return changedObject(`s3://${this.#store.bucket}/${key}`);
    if (status === 401 || status === 403) return forbiddenStore(this.#store.name, name, error);
    const { code } = error as { readonly code?: unknown };
    const reason = typeof code === "string" ? code : status === undefined ? name : `${name}, ${status}`;
    return unreachableStore(this.#store.name, reason, error);
  }
}

/** S3 refuses a body that does not match: the header is a checksum, no signature. */
const md5 = (data: Buffer): string => createHash("md5").update(data).digest("base64");
