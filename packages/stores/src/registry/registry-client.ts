/**
 * A registry behind the OCI distribution API (v1.1): manifests and blobs, with Basic or Bearer authentication
 * (https://distribution.github.io/distribution/spec/auth/token/). It never sends a password over plain HTTP to another
 * machine, nor to another host than the registry and its token service.
 */
import { createHash } from "node:crypto";
import { OperationalError } from "@headroom/platform";

export interface RegistryAccess {
  /** Host with port. */
  readonly registry: string;
  /** HTTP in place of HTTPS; without a password, or on this machine only. */
  readonly plainHttp: boolean;
  /** Read with each authentication, so that a replaced secret is used without a restart. `null`: anonymous. */
  readonly credentials: (() => { readonly username: string; readonly password: string }) | null;
}

export interface RegistryManifest {
  readonly digest: string;
  readonly mediaType: string;
  readonly bytes: Buffer;
}

export const MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json";
/** Like the limit of registries. */
const MANIFEST_BYTES_MAX = 4 * 1024 * 1024;
const ANSWER_BYTES_MAX = 64 * 1024;
const ANSWER_TIMEOUT_MS = 60_000;
/** Bearer tokens by scope; a client of one store has few. */
const TOKENS_MAX = 64;

interface Call {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  /** The answer has the bytes of a blob, so it has no time limit. */
  readonly isLong?: boolean;
  readonly signal: AbortSignal;
  readonly scope: string;
}

export class RegistryClient {
  readonly #access: RegistryAccess;
  readonly #tokens = new Map<string, string>();

  constructor(access: RegistryAccess) {
    this.#access = access;
    const host = new URL(this.#base).hostname;
    // `127.example.org` is a name like any other.
    const isHere = /^(?:localhost|\[::1\]|127(?:\.[0-9]{1,3}){3})$/.test(host);
    if (access.plainHttp && access.credentials !== null && !isHere)
      throw problem(access, "a password is not sent over plain HTTP to another machine. Use HTTPS");
  }

  /** `null`: the registry has no such manifest. The bytes have the digest that the reference names. */
  async manifest(name: string, at: string, signal: AbortSignal): Promise<RegistryManifest | null> {
    const response = await this.#send(this.#url(name, `manifests/${at}`), {
      headers: { accept: MANIFEST_TYPE },
      signal,
      scope: `repository:${name}:pull`,
    });
    if (response.status === 404) return discard(response, null);
    this.#expect(response, [200], `the manifest ${name} ${at}`);
    const bytes = await this.#bodyOf(response, MANIFEST_BYTES_MAX, signal);
    const digest = sha256(bytes);
    if (at.startsWith("sha256:") && at !== digest)
      throw problem(this.#access, `the manifest of ${name} has another digest than ${at}`);
    return { digest, mediaType: response.headers.get("content-type") ?? "", bytes };
  }

  /** Writes the manifest under a tag or its digest. Its blobs must be there. */
  async putManifest(
    name: string,
    at: string,
    { bytes, mediaType }: RegistryManifest,
    signal: AbortSignal,
  ): Promise<void> {
    const response = await this.#send(this.#url(name, `manifests/${at}`), {
      method: "PUT",
      headers: { "content-type": mediaType },
      body: bytes,
      signal,
      scope: `repository:${name}:pull,push`,
    });
    this.#expect(response, [200, 201], `the manifest ${name} ${at}`);
    await discard(response, null);
  }

  async hasBlob(name: string, digest: string, signal: AbortSignal): Promise<boolean> {
    const url = this.#url(name, `blobs/${digest}`);
    const response = await this.#send(url, { method: "HEAD", signal, scope: `repository:${name}:pull,push` });
    if (response.status !== 404) this.#expect(response, [200], `the blob ${digest}`);
    return discard(response, response.status === 200);
  }

  /** The bytes of a part of a blob, in pieces. `to` is exclusive. */
  async *readBlob(
    name: string,
    digest: string,
    { from, to, signal }: { readonly from: number; readonly to: number; readonly signal: AbortSignal },
  ): AsyncGenerator<Uint8Array> {
    const response = await this.#send(this.#url(name, `blobs/${digest}`), {
      headers: { range: `bytes=${from}-${to - 1}` },
      isLong: true,
      signal,
      scope: `repository:${name}:pull`,
    });
    this.#expect(response, [200, 206], `the blob ${digest}`);
    // A registry that ignores the range sends everything.
    let skip = response.status === 206 ? 0 : from;
    let left = to - from;
    for await (const piece of this.#pieces(response, signal)) {
      const wanted = piece.subarray(Math.min(skip, piece.length)).subarray(0, left);
      skip -= Math.min(skip, piece.length);
      left -= wanted.length;
      if (wanted.length > 0) yield wanted;
      if (left === 0) return;
    }
    if (left > 0) throw unreachable(this.#access, `it sent ${left} bytes too few of ${digest}`);
  }

  /** Begins the upload of a blob. Returns where its parts are sent. */
  async beginUpload(name: string, signal: AbortSignal): Promise<string> {
    const url = this.#url(name, "blobs/uploads/");
    const response = await this.#send(url, { method: "POST", signal, scope: `repository:${name}:pull,push` });
    this.#expect(response, [202], `an upload to ${name}`);
    return discard(response, this.#location(response, url));
  }

  /** Sends bytes that begin at `from`. Returns where the next ones are sent. */
  async uploadPart(
    name: string,
    at: string,
    part: { readonly from: number; readonly data: Buffer },
    signal: AbortSignal,
  ): Promise<string> {
    const { from, data } = part;
    const response = await this.#send(at, {
      method: "PATCH",
      headers: { "content-type": "application/octet-stream", "content-range": `${from}-${from + data.length - 1}` },
      body: data,
      signal,
      scope: `repository:${name}:pull,push`,
    });
    this.#expect(response, [202], `an upload to ${name}`);
    return discard(response, this.#location(response, at));
  }

  /** Number of bytes that the registry has of an upload, and where the next ones are sent; `null`: it has forgotten it. */
  async uploadState(
    name: string,
    at: string,
    signal: AbortSignal,
  ): Promise<{ readonly bytes: number; readonly at: string } | null> {
    const response = await this.#send(at, { signal, scope: `repository:${name}:pull,push` });
    if (response.status === 404) return discard(response, null);
    this.#expect(response, [204], `an upload to ${name}`);
    const [, last] = /^(?:bytes=)?0-([0-9]{1,16})$/.exec(response.headers.get("range") ?? "") ?? [];
    // Registries report `0-0` also if they have nothing, so one byte counts as none.
    const bytes = last === undefined || last === "0" ? 0 : Number(last) + 1;
    return discard(response, { bytes, at: this.#location(response, at) });
  }

  /** Completes an upload. The registry compares the bytes with the digest. */
  async finishUpload(name: string, at: string, digest: string, signal: AbortSignal): Promise<void> {
    const url = new URL(at);
    url.searchParams.set("digest", digest);
    const response = await this.#send(url.href, { method: "PUT", signal, scope: `repository:${name}:pull,push` });
    this.#expect(response, [201], `the blob ${digest}`);
    await discard(response, null);
  }

  get #base(): string {
    return `${this.#access.plainHttp ? "http" : "https"}://${this.#access.registry}`;
  }

  #url(name: string, rest: string): string {
    return `${this.#base}/v2/${name}/${rest}`;
  }

  /** A location of the registry itself: bytes and tokens go nowhere else. */
  #location(response: Response, base: string): string {
    const location = response.headers.get("location") ?? "";
    if (!URL.canParse(location, base)) throw problem(this.#access, "it sends uploads to a location that is no URL");
    const url = new URL(location, base);
    if (url.origin !== new URL(this.#base).origin)
      throw problem(this.#access, `it sends uploads to another host (${url.host.slice(0, 100)})`);
    return url.href;
  }

  async #send(url: string, call: Call): Promise<Response> {
    const known = this.#tokens.get(call.scope);
    const first = await this.#fetch(url, call, known);
    if (first.status !== 401) return first;
    const { host, origin } = new URL(first.url);
    // A host behind a redirect must not choose the service that gets the password.
    if (origin !== new URL(this.#base).origin)
      return discard(first, Promise.reject(forbidden(this.#access, `401 of ${host}, to which it redirects`)));
    const challenge = first.headers.get("www-authenticate") ?? "";
    await discard(first, null);
    const authorization = await this.#authorize(challenge, call);
    if (this.#tokens.size >= TOKENS_MAX) this.#tokens.clear();
    this.#tokens.set(call.scope, authorization);
    return this.#fetch(url, call, authorization);
  }

  async #authorize(challenge: string, { scope, signal }: Call): Promise<string> {
    const credentials = this.#access.credentials?.() ?? null;
    const basic =
      credentials === null
        ? null
        : `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString("base64")}`;
    if (/^basic/i.test(challenge)) {
      if (basic === null) throw forbidden(this.#access, "it wants a user name and a password");
      return basic;
    }
    const [, realm = ""] = /realm="([^"]{1,2000})"/.exec(challenge) ?? [];
    if (!/^bearer/i.test(challenge) || !URL.canParse(realm)) throw forbidden(this.#access, "401");
    const url = new URL(realm);
    if (url.protocol !== "https:" && url.origin !== this.#base && basic !== null)
      throw problem(this.#access, "its token service has no HTTPS, and a password is not sent there");
    const [, service] = /service="([^"]{1,500})"/.exec(challenge) ?? [];
    if (service !== undefined) url.searchParams.set("service", service);
    url.searchParams.set("scope", scope);
    const headers = basic === null ? {} : { authorization: basic };
    const response = await this.#fetch(url.href, { headers, signal, scope });
    if (response.status !== 200)
      return discard(response, Promise.reject(forbidden(this.#access, `${response.status} of its token service`)));
    const token = tokenIn(await this.#bodyOf(response, ANSWER_BYTES_MAX, signal));
    if (token === null) throw forbidden(this.#access, "its token service sent no token");
    return `Bearer ${token}`;
  }

  async #fetch(
    url: string,
    { method = "GET", headers = {}, body, isLong = false, signal }: Call,
    authorization?: string,
  ): Promise<Response> {
    try {
      return await fetch(url, {
        method,
        headers: { ...headers, ...(authorization === undefined ? {} : { authorization }) },
        ...(body === undefined ? {} : { body: new Uint8Array(body) }),
        signal: isLong ? signal : AbortSignal.any([signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]),
        // A blob can be behind a redirect; `fetch` drops the authorization for another host.
        redirect: method === "GET" || method === "HEAD" ? "follow" : "error",
      });
    } catch (error) {
      throw this.#cut(error, signal);
    }
  }

  async *#pieces(response: Response, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    try {
      for await (const piece of response.body ?? []) yield piece;
    } catch (error) {
      throw this.#cut(error, signal);
    }
  }

  async #bodyOf(response: Response, most: number, signal: AbortSignal): Promise<Buffer> {
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    for await (const piece of this.#pieces(response, signal)) {
      bytes += piece.length;
      if (bytes > most) throw problem(this.#access, `its answer has more than ${most} bytes`);
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  }

  #cut(error: unknown, signal: AbortSignal): unknown {
    if (signal.aborted) return signal.reason;
    const { cause } = error as { readonly cause?: { readonly code?: unknown } };
    return unreachable(this.#access, typeof cause?.code === "string" ? cause.code : "the connection was cut", error);
  }

  #expect({ status }: Response, wanted: readonly number[], what: string): void {
    if (wanted.includes(status)) return;
    if (status === 401 || status === 403) throw forbidden(this.#access, `${status} for ${what}`);
    if (status === 429 || status >= 500) throw unreachable(this.#access, `${status} for ${what}`);
    throw problem(this.#access, `it answers ${status} for ${what}`);
  }
}

export const sha256 = (bytes: Uint8Array): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

async function discard<Result>(response: Response, result: Result | Promise<Result>): Promise<Result> {
  await response.body?.cancel();
  return result;
}

/** The token in the answer of a token service; `null`: it has none. */
function tokenIn(answer: Buffer): string | null {
  try {
    const { token, access_token: other } = JSON.parse(answer.toString("utf8")) as Readonly<Record<string, unknown>>;
    const found = token ?? other;
    return typeof found === "string" && /^[\x21-\x7e]{1,16384}$/.test(found) ? found : null;
  } catch {
    return null;
  }
}

const problem = ({ registry }: RegistryAccess, text: string): OperationalError =>
  new OperationalError("badRegistry", `The registry ${registry}: ${text}.`);
const unreachable = ({ registry }: RegistryAccess, reason: string, cause?: unknown): OperationalError =>
  new OperationalError("storeUnreachable", `The registry ${registry} does not answer: ${reason}.`, {
    retryable: true,
    cause,
  });
const forbidden = ({ registry }: RegistryAccess, reason: string): OperationalError =>
  new OperationalError(
    "storeForbidden",
    `The registry ${registry} refuses the access (${reason}). Check the user name and the password, and the rights of that user.`,
  );
