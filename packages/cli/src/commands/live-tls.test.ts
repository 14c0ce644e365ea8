/** A control plane with a certificate that no public issuer signed and that has no name of this machine. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startLive, type LiveControlPlane } from "../testing/live-control-plane.ts";

let folder = "";
let live: LiveControlPlane;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "headroom-live-tls-"));
  const files = { certificate: path.join(folder, "own.pem"), key: path.join(folder, "own.key") };
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", files.key];
  execFileSync("openssl", ["req", "-x509", ...key, "-subj", "/CN=elsewhere.example", "-out", files.certificate], {
    stdio: "ignore",
  });
  live = await startLive({ tls: files });
});
afterAll(async () => {
  await live.close();
  rmSync(folder, { recursive: true });
});

it("answers commands, streams and health checks on this machine", async () => {
  expect(live.plane.url).toMatch(/^https:/);
  const ran = await live.headroom(["run", "--follow", "--name", "over-tls", "--", "echo encrypted"]);
  expect(ran).toMatchObject({ code: 0 });
  expect(ran.stdout).toContain("encrypted");
  expect(await live.headroom(["health"])).toMatchObject({ code: 0, stdout: "ready\n" });
});

it("is refused when it shows another certificate than its state directory names", async () => {
  const file = path.join(live.folder, "home", "server.json");
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replace(/"certificateSha256":"[0-9a-f]{4}/, '"certificateSha256":"0000'));
  try {
    const refused = await live.headroom(["list"]);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain("another certificate");
    expect((await live.headroom(["health"])).code).toBe(1);
  } finally {
    writeFileSync(file, text);
  }
});

it("does not answer without TLS", async () => {
  await expect(fetch(live.plane.url.replace("https:", "http:"))).rejects.toThrow("fetch failed");
});
