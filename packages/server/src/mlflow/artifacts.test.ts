import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exchange, removeHome, startLive, temporaryHome } from "../api/testing/live-control-plane.ts";
import type { LiveControlPlane } from "../api/testing/live-control-plane.ts";

const PREFIX = "/api/2.0/mlflow-artifacts/artifacts";
let live: LiveControlPlane;
beforeAll(async () => {
  live = await startLive(temporaryHome());
});
afterAll(async () => {
  expect(live.complaints).toEqual([]);
  await live.close();
  removeHome(live.home);
});

const put = async (name: string, body: string | Uint8Array<ArrayBuffer>): Promise<number> =>
  (await live.request(`${PREFIX}/${name}`, { method: "PUT", body })).status;
const json = async (url: string, init: object = {}): Promise<Record<string, unknown>> =>
  (await (await live.request(url, init)).json()) as Record<string, unknown>;
const uploads = (): string[] => readdirSync(path.join(live.home, "mlflow-artifacts", ".uploads"));

describe("the artifact proxy", () => {
  it("stores, sends, lists and deletes files of any type", async () => {
    const bytes = Uint8Array.from({ length: 300_000 }, (_, index) => index % 251);
    expect(await put("0/r1/artifacts/model/weights.bin", bytes)).toBe(200);
    expect(await put("0/r1/artifacts/empty.txt", "")).toBe(200);
    expect(await put("0/r1/artifacts/notes.json", '{"not": "parsed"')).toBe(200);
    const response = await live.request(`${PREFIX}/0/r1/artifacts/model/weights.bin`);
    expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true);
    expect(response.headers.get("content-disposition")).toBe("attachment; filename*=UTF-8''weights.bin");
    expect(await json(`${PREFIX}?path=0/r1/artifacts`)).toEqual({
      files: [
        { path: "empty.txt", is_dir: false, file_size: 0 },
        { path: "model", is_dir: true },
        { path: "notes.json", is_dir: false, file_size: 16 },
      ],
    });
    expect(await json(`${PREFIX}/0/r1/artifacts/model`, { method: "DELETE" })).toEqual({});
    expect(await json(`${PREFIX}/0/r1/artifacts/model/weights.bin`)).toMatchObject({
      error_code: "RESOURCE_DOES_NOT_EXIST",
    });
    expect(uploads()).toEqual([]);
  });

  it("lists a run's artifacts by their paths in the run", async () => {
    const headers = { "content-type": "application/json" };
    const { run } = (await json("/api/2.0/mlflow/runs/create", { method: "POST", headers, body: "{}" })) as {
      run: { info: { run_id: string; artifact_uri: string } };
    };
    const { run_id, artifact_uri } = run.info;
    await put(`${artifact_uri.replace("mlflow-artifacts:/", "")}/plots/loss.png`, "png");
    expect(await json(`/api/2.0/mlflow/artifacts/list?run_id=${run_id}&path=plots`)).toEqual({
      root_uri: artifact_uri,
      files: [{ path: "plots/loss.png", is_dir: false, file_size: 3 }],
    });
  });

  it.each([
    "../token",
    "0/../../token",
    "0/..%2f..%2ftoken",
    "0/%2e%2e/%2e%2e/token",
    "0/%252e%252e/token",
    "0/a%00b",
    "0//b",
    "0/a%5c..%5cb",
    ".uploads/x",
    `0/${"n".repeat(300)}`,
    Array.from({ length: 40 }, () => "d").join("/"),
  ])("refuses the path %s", async (name) => {
    // fetch would resolve the dots itself.
    for (const [method, body] of [
      ["PUT", "x"],
      ["GET", ""],
      ["DELETE", ""],
    ] as const) {
      const head = `${method} ${PREFIX}/${name} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${live.token}\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
      expect(await exchange(live.url, head)).toMatch(/^HTTP\/1\.1 4\d\d /);
    }
    expect(uploads()).toEqual([]);
  });

  it("follows no links", async () => {
    const root = path.join(live.home, "mlflow-artifacts");
    const outside = path.join(live.home, "outside");
    mkdirSync(outside);
    writeFileSync(path.join(outside, "secret"), "secret");
    mkdirSync(path.join(root, "links"));
    symlinkSync(outside, path.join(root, "links", "folder"));
    symlinkSync(path.join(outside, "secret"), path.join(root, "links", "file"));
    expect(await json(`${PREFIX}?path=links`)).toEqual({ files: [] });
    for (const name of ["links/folder/secret", "links/file"])
      expect((await live.request(`${PREFIX}/${name}`)).status).toBe(404);
    expect(await put("links/folder/new", "x")).toBe(400);
    expect(await put("links/file", "own")).toBe(200);
    await live.request(`${PREFIX}/links`, { method: "DELETE" });
    expect([existsSync(path.join(outside, "secret")), existsSync(path.join(outside, "new"))]).toEqual([true, false]);
  });

  it("registers nothing of an upload that is cut, too large, or in the place of a folder", async () => {
    await put("cut/a/b", "b");
    expect(await put("cut/a", "x")).toBe(400);
    expect(await put("cut/a/b/c", "x")).toBe(400);
    const head = (bytes: number): string =>
      `PUT ${PREFIX}/cut/file HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${live.token}\r\nContent-Length: ${bytes}\r\n\r\n`;
    expect(await exchange(live.url, head(5 * 1024 ** 3), (text) => text.includes("\r\n\r\n"))).toMatch(
      /^HTTP\/1\.1 413 /,
    );
    const { hostname, port } = new URL(live.url);
    const socket = connect(Number(port), hostname);
    socket.write(`${head(1_000)}begun`);
    await expect.poll(uploads).toHaveLength(1);
    socket.destroy();
    await expect.poll(uploads).toEqual([]);
    expect(await json(`${PREFIX}?path=cut`)).toEqual({ files: [{ path: "a", is_dir: true }] });
  });

  it("is closed to clients without a token", async () => {
    expect((await fetch(`${live.url}${PREFIX}/0/x`, { method: "PUT", body: "x" })).status).toBe(401);
  });
});
