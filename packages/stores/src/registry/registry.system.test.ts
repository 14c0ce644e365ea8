/** A real registry (Debian `docker-registry`) and `skopeo`: pushes, copies, pulls, cuts, changed bytes, passwords. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pullModel } from "../transfers/pull-model.ts";
import { parseOciReference } from "./oci-reference.ts";
import type { OciReference } from "./oci-reference.ts";
import { pushModel } from "./push-model.ts";
import { RegistryClient } from "./registry-client.ts";

const BIG_BYTES = 40 * 1024 * 1024;
const missing =
  ["docker-registry", "skopeo"].find((name) => spawnSync(name, ["--version"]).error !== undefined) ?? null;
if (missing !== null) process.stderr.write(`*** OCI registries were not tested: ${missing} is not installed\n`);
const dir = mkdtempSync(path.join(tmpdir(), "headroom-registry-"));
const model = path.join(dir, "model");
const processes: ChildProcess[] = [];
let open = "";
let closed = "";

async function startRegistry(name: string, auth: string): Promise<string> {
  const port = await freePort();
  const config = path.join(dir, `${name}.yml`);
  writeFileSync(
    config,
    `version: 0.1\nlog: { level: error }\nstorage: { filesystem: { rootdirectory: ${dir}/${name} } }\nhttp: { addr: "127.0.0.1:${port}" }\n${auth}`,
  );
  processes.push(spawn("docker-registry", ["serve", config], { stdio: "ignore" }));
  const host = `127.0.0.1:${port}`;
  while (!(await fetch(`http://${host}/v2/`).catch(() => null))) await sleep(50);
  return host;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** bcrypt of `geheim`. */
const PASSWORD = "reader:$2y$04$Flk0gbhIusTPWxf6CVlF7u3RfH/rkPDQ4/jF5A9mJ6pgY/BBnw9ae\n";

beforeAll(async () => {
  if (missing !== null) return;
  mkdirSync(path.join(model, "sub"), { recursive: true });
  const noise = createHash("sha256").update("seed").digest();
  writeFileSync(path.join(model, "model.bin"), Buffer.alloc(BIG_BYTES, noise));
  writeFileSync(path.join(model, "config.json"), "{}");
  writeFileSync(path.join(model, "sub", "README.md"), "how");
  writeFileSync(path.join(dir, "htpasswd"), PASSWORD);
  open = await startRegistry("open", "");
  closed = await startRegistry("closed", `auth: { htpasswd: { realm: here, path: ${dir}/htpasswd } }\n`);
});
afterAll(() => {
  for (const each of processes) each.kill();
  rmSync(dir, { recursive: true, force: true });
});

const clientOf = (registry: string, password?: string): RegistryClient =>
  new RegistryClient({
    registry,
    plainHttp: true,
    credentials: password === undefined ? null : () => ({ username: "reader", password }),
  });
const ref = (text: string): OciReference => parseOciReference(text) as OciReference;
const watch = { signal: AbortSignal.timeout(60_000), onProgress: () => {} };
const toPush = { at: model, version: "model:default/chat@3", digest: null, parameters: {} };

function expectModel(at: string): void {
  for (const name of ["model.bin", "config.json", "sub/README.md"])
    expect(readFileSync(path.join(at, name)).equals(readFileSync(path.join(model, name)))).toBe(true);
}

/** Cuts the first connection that sends more than `bytes`. */
async function cutting(registry: string, bytes: number): Promise<{ readonly host: string; readonly server: Server }> {
  let isCut = false;
  const server = createServer((socket) => {
    const [host = "", port = ""] = registry.split(":");
    const onward = connect(Number(port), host);
    let sent = 0;
    socket.on("data", (piece) => {
      sent += piece.length;
      if (!isCut && sent > bytes) {
        isCut = true;
        socket.destroy();
        onward.destroy();
      }
    });
    socket.pipe(onward).pipe(socket);
    for (const each of [socket, onward]) each.on("error", () => each.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

describe.skipIf(missing !== null)("a real registry", () => {
  it("takes a model once, lets skopeo copy it, and gives the copy back byte for byte", async () => {
    const pushed = await pushModel(clientOf(open), ref(`${open}/team/chat:3`), toPush, watch);
    expect(pushed).toMatchObject({ files: 3, bytes: BIG_BYTES + 5, sentBytes: BIG_BYTES + 5 });
    const again = await pushModel(clientOf(open), ref(`${open}/team/chat:4`), toPush, watch);
    expect(again).toMatchObject({ digest: pushed.digest, sentBytes: 0 });
    const flags = ["--src-tls-verify=false", "--dest-tls-verify=false"];
    execFileSync("skopeo", ["copy", "-q", ...flags, `docker://${open}/team/chat:3`, `docker://${open}/copy/chat:3`]);
    const pulled = await pullModel(clientOf(open), ref(`${open}/copy/chat:3`), path.join(dir, "pulled"), watch);
    expect(pulled).toMatchObject({ manifestDigest: pushed.digest, version: "model:default/chat@3", files: 3 });
    expectModel(path.join(dir, "pulled"));
  });

  it("gets the rest of an upload whose connection was cut", async () => {
    const { host, server } = await cutting(open, 20 * 1024 * 1024);
    const pushed = await pushModel(clientOf(host), ref(`${host}/cut/chat:1`), toPush, watch);
    server.close();
    expect(pushed.sentBytes).toBe(BIG_BYTES + 5);
    await pullModel(clientOf(open), ref(`${open}/cut/chat:1`), path.join(dir, "uncut"), watch);
    expectModel(path.join(dir, "uncut"));
  });

  it("that changes bytes is found out, and nothing lies at the path", async () => {
    const small = path.join(dir, "small");
    writeFileSync(small, "weights");
    await pushModel(clientOf(open), ref(`${open}/small:1`), { ...toPush, at: small }, watch);
    const hex = createHash("sha256").update("weights").digest("hex");
    const blob = path.join(dir, "open/docker/registry/v2/blobs/sha256", hex.slice(0, 2), hex, "data");
    writeFileSync(blob, "WEIGHTS");
    const target = path.join(dir, "changed");
    await expect(pullModel(clientOf(open), ref(`${open}/small:1`), target, watch)).rejects.toMatchObject({
      code: "wrongDigest",
    });
    expect(existsSync(target)).toBe(false);
    await expect(
      pushModel(clientOf(open), ref(`${open}/other:1`), { ...toPush, digest: `sha256:${"0".repeat(64)}` }, watch),
    ).rejects.toMatchObject({ code: "wrongDigest" });
  });

  it("with a password refuses others, and none is sent over plain HTTP to another machine", async () => {
    const name = ref(`${closed}/chat:1`);
    await pushModel(clientOf(closed, "geheim"), name, toPush, watch);
    for (const client of [clientOf(closed), clientOf(closed, "wrong")])
      await expect(pullModel(client, name, path.join(dir, "never"), watch)).rejects.toMatchObject({
        code: "storeForbidden",
      });
    expect(() => clientOf("registry.example", "geheim")).toThrow("not sent over plain HTTP");
  });
});
