import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startLive, type LiveControlPlane } from "./testing/live-control-plane.ts";
import { headroom } from "./testing/recorded-terminal.ts";
import { announceServer, forgetServer } from "./user-config.ts";

let live: LiveControlPlane;
let elsewhere = "";
let env: { readonly HOME: string };
beforeAll(async () => {
  live = await startLive();
  elsewhere = mkdtempSync(path.join(tmpdir(), "headroom-elsewhere-"));
  env = { HOME: elsewhere };
});
afterAll(async () => {
  await live.close();
  rmSync(elsewhere, { recursive: true });
});

const home = (): string => path.join(live.folder, "home");
const status = (workingDirectory: string, environment: Readonly<Record<string, string>> = env) =>
  headroom(["status"], { workingDirectory, env: environment });

it("finds the user's running control plane from any directory, until it ends", async () => {
  expect(await status(elsewhere)).toMatchObject({ code: 1, stderr: expect.stringContaining("no control plane") });
  await announceServer(env, home());
  expect(statSync(path.join(elsewhere, ".config", "headroom", "server.json")).mode & 0o077).toBe(0);
  expect(await status(elsewhere)).toMatchObject({ code: 0, stderr: "" });
  await forgetServer(env, "/another/home");
  expect((await status(elsewhere)).code).toBe(0);
  await forgetServer(env, home());
  expect((await status(elsewhere)).code).toBe(1);
});

it("takes an address and a token that the user wrote down", async () => {
  const folder = path.join(elsewhere, "config", "headroom");
  mkdirSync(folder, { recursive: true });
  const written = { XDG_CONFIG_HOME: path.join(elsewhere, "config") };
  const file = path.join(folder, "server.json");
  writeFileSync(file, JSON.stringify({ url: live.plane.url, token: live.plane.token }));
  expect((await status(elsewhere, written)).code).toBe(0);
  writeFileSync(file, "{");
  expect(await status(elsewhere, written)).toMatchObject({ code: 1, stderr: expect.stringContaining(file) });
});

it("finds the state directory of a directory above, and no other where one is named", async () => {
  const below = path.join(elsewhere, "project", "src");
  mkdirSync(path.join(elsewhere, "project", ".headroom"), { recursive: true });
  mkdirSync(below);
  for (const [name, text] of [
    ["server.json", JSON.stringify({ url: live.plane.url, pid: process.pid })],
    ["token", live.plane.token ?? ""],
  ] as const)
    writeFileSync(path.join(elsewhere, "project", ".headroom", name), text);
  expect((await status(below)).code).toBe(0);
  expect((await status(below, { ...env, HEADROOM_HOME: path.join(elsewhere, "nothing") })).code).toBe(1);
});
