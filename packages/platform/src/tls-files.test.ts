/** A real TLS server: certificates that change while it runs. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { connect, createServer } from "node:tls";
import type { TLSSocket } from "node:tls";
import { afterEach, beforeEach, expect, it } from "vitest";
import { readTlsFiles, renewTls } from "./tls-files.ts";
import type { TlsFiles } from "./tls-files.ts";

let folder = "";
const ends: (() => void)[] = [];
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "headroom-tls-"));
});
afterEach(() => {
  for (const end of ends.splice(0).toReversed()) end();
  rmSync(folder, { recursive: true });
});

function made(name: string): TlsFiles {
  const files = { certificate: path.join(folder, `${name}.pem`), key: path.join(folder, `${name}.key`) };
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", files.key];
  execFileSync("openssl", ["req", "-x509", ...key, "-subj", `/CN=${name}`, "-out", files.certificate], {
    stdio: "ignore",
  });
  return files;
}

async function connected(port: number): Promise<TLSSocket> {
  const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false });
  ends.push(() => socket.destroy());
  await once(socket, "secureConnect");
  return socket;
}

const nameOf = (socket: TLSSocket): unknown => socket.getPeerCertificate().subject.CN;

it("gives new connections a changed certificate and keeps open connections", async () => {
  const [first, second] = [made("first"), made("second")];
  const files = { certificate: path.join(folder, "live.pem"), key: path.join(folder, "live.key") };
  copyFileSync(first.certificate, files.certificate);
  copyFileSync(first.key, files.key);
  const { cert, key } = readTlsFiles(files);
  const server = createServer({ cert, key }, (socket) => socket.pipe(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  ends.push(() => server.close());
  const failures: string[] = [];
  const watch = { renewed: 0 };
  const changed = new EventTarget();
  ends.push(
    renewTls({
      server,
      files,
      renewed: () => {
        watch.renewed++;
        changed.dispatchEvent(new Event("renewed"));
      },
      failed: (message) => {
        failures.push(message);
        changed.dispatchEvent(new Event("failed"));
      },
    }),
  );
  const { port } = server.address() as AddressInfo;
  const open = await connected(port);

  copyFileSync(second.certificate, files.certificate);
  await once(changed, "failed");
  expect(failures[0]).toContain("cannot use the certificate");
  expect(nameOf(await connected(port))).toBe("first");

  copyFileSync(second.key, files.key);
  await once(changed, "renewed");
  expect(nameOf(await connected(port))).toBe("second");
  open.write("still here");
  expect(String((await once(open, "data"))[0])).toBe("still here");
  expect(nameOf(open)).toBe("first");
});

it("refuses files that are missing or do not belong together", () => {
  const [first, second] = [made("first"), made("second")];
  expect(readTlsFiles(first).fingerprint).toMatch(/^[0-9a-f]{64}$/);
  expect(() => readTlsFiles({ certificate: first.certificate, key: second.key })).toThrow(/TLS cannot use/);
  expect(() => readTlsFiles({ ...first, key: path.join(folder, "none") })).toThrow(/no such file/);
  writeFileSync(first.certificate, "no certificate");
  expect(() => readTlsFiles(first)).toThrow(/TLS cannot use/);
});
