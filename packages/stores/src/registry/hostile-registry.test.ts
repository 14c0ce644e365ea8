/** Registries that redirect, cut, exchange bytes, and answer with anything. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:http";
import type { RequestListener, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, afterEach, expect, it } from "vitest";
import { NodeCache } from "../cache/node-cache.ts";
import { OciStore } from "../objects/oci-store.ts";
import { PART_BYTES } from "../objects/object-store.ts";
import { FairTurns } from "../transfers/fair-turns.ts";
import { pullModel } from "../transfers/pull-model.ts";
import { packModel } from "./model-pack.ts";
import { parseOciReference } from "./oci-reference.ts";
import type { OciReference } from "./oci-reference.ts";
import { RegistryClient } from "./registry-client.ts";

const dir = mkdtempSync(path.join(tmpdir(), "headroom-hostile-registry-"));
const servers: Server[] = [];
afterEach(() => {
  for (const each of servers.splice(0)) each.close();
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const weights = Buffer.from("weights");
const packed = packModel(
  {
    files: [
      {
        name: "model.bin",
        digest: `sha256:${createHash("sha256").update(weights).digest("hex")}`,
        bytes: weights.length,
      },
    ],
    isOneFile: false,
    contentDigest: null,
    version: null,
  },
  { name: "chat", version: "1", parameters: {} },
).manifest;

/** A registry with one model, whose blob the listener answers. */
const withBlob = (blob: RequestListener): Promise<string> =>
  serve((request, response) => {
    if (request.url?.includes("/blobs/") === true) blob(request, response);
    else response.writeHead(200, { "content-type": packed.mediaType }).end(packed.bytes);
  });

const clientOf = (registry: string): RegistryClient =>
  new RegistryClient({ registry, plainHttp: true, credentials: null });
const ref = (text: string): OciReference => parseOciReference(text) as OciReference;
const watch = () => ({ signal: AbortSignal.timeout(30_000), onProgress: () => {} });

it("a host behind a redirect cannot name the service that gets the password", async () => {
  const asked: string[] = [];
  const other = await serve((request, response) => {
    asked.push(request.url ?? "");
    const challenge = `Bearer realm="http://${request.headers.host ?? ""}/token"`;
    if (request.url === "/token") response.end(JSON.stringify({ token: "x" }));
    else response.writeHead(401, { "www-authenticate": challenge }).end();
  });
  const host = await withBlob((_, response) => response.writeHead(307, { location: `http://${other}/blob` }).end());
  await expect(pullModel(clientOf(host), ref(`${host}/chat:1`), path.join(dir, "a"), watch())).rejects.toMatchObject({
    code: "storeForbidden",
  });
  expect(new Set(asked)).toEqual(new Set(["/blob"]));
});

it("a host whose name begins like a loopback address gets no password over plain HTTP", () => {
  const credentials = () => ({ username: "reader", password: "geheim" });
  const open = (registry: string) => new RegistryClient({ registry, plainHttp: true, credentials });
  expect(() => open("127.0.0.1.example.org")).toThrow("not sent over plain HTTP");
  expect(() => open("127.example.org:5000")).toThrow("not sent over plain HTTP");
  open("127.0.0.1:5000");
});

it("a blob that is cut in the middle is read on from there", async () => {
  const ranges: (string | undefined)[] = [];
  const host = await withBlob((request, response) => {
    ranges.push(request.headers.range);
    const from = Number(/bytes=([0-9]+)-/.exec(request.headers.range ?? "")?.[1]);
    response.writeHead(206, { "content-length": weights.length - from });
    if (ranges.length > 1) response.end(weights.subarray(from));
    else response.write(weights.subarray(0, 3), () => setTimeout(() => response.destroy(), 50));
  });
  const target = path.join(dir, "cut");
  await pullModel(clientOf(host), ref(`${host}/chat:1`), target, watch());
  expect(readFileSync(path.join(target, "model.bin"))).toEqual(weights);
  expect(ranges).toEqual(["bytes=0-6", "bytes=3-6"]);
});

it("exchanged bytes do not come into a cache, also if no version says which ones they are", async () => {
  let bytes = Buffer.from("WEIGHTS");
  const host = await withBlob((_, response) => response.writeHead(206).end(bytes));
  const cache = new NodeCache({ dir: path.join(dir, "cache"), bootId: "boot" });
  const uri = `oci://${host}/chat:1`;
  const wanted = {
    store: new OciStore(clientOf(host), host, PART_BYTES),
    key: "chat:1",
    uri,
    digest: null,
    turns: new FairTurns(8),
    parallel: 2,
  };
  const obtain = () => cache.obtain(wanted, "w1.1", { signal: AbortSignal.timeout(30_000), onStaged: () => {} });
  await expect(obtain()).rejects.toMatchObject({ code: "wrongDigest" });
  bytes = weights;
  expect(readFileSync(path.join(await obtain(), "model.bin"))).toEqual(weights);
  await cache.close();
});

it.each([["no JSON"], ["null"], ['{"token":"two words"}']])(
  "a token service that answers %s is an error",
  async (text) => {
    const host = await serve((request, response) => {
      if (request.url?.startsWith("/token") === true) response.end(text);
      else
        response
          .writeHead(401, { "www-authenticate": `Bearer realm="http://${request.headers.host ?? ""}/token"` })
          .end();
    });
    const target = path.join(dir, "token");
    await expect(pullModel(clientOf(host), ref(`${host}/chat:1`), target, watch())).rejects.toMatchObject({
      code: "storeForbidden",
    });
    expect(existsSync(target)).toBe(false);
  },
);

it("a pull does not go on in a draft that is a link", async () => {
  const host = await withBlob((_, response) => response.writeHead(206).end(weights));
  const target = path.join(dir, "linked");
  const elsewhere = path.join(dir, "elsewhere");
  mkdirSync(elsewhere);
  symlinkSync(elsewhere, `${target}.${packed.digest.slice("sha256:".length, "sha256:".length + 12)}.partial`);
  await expect(pullModel(clientOf(host), ref(`${host}/chat:1`), target, watch())).rejects.toMatchObject({
    code: "unusableDirectory",
  });
  expect(readdirSync(elsewhere)).toEqual([]);
});
