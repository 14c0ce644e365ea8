/** Backups of a control plane that runs, and what a restore accepts. */
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startControlPlane } from "@headroom/server";
import { headroom } from "../testing/recorded-terminal.ts";
import { startLive, type LiveControlPlane } from "../testing/live-control-plane.ts";

let live: LiveControlPlane;
let folder = "";
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "headroom-backup-"));
  live = await startLive();
  await live.headroom(["run", "--follow", "--name", "kept", "--", "echo a line of the past"]);
});
afterAll(async () => {
  await live.close();
  rmSync(folder, { recursive: true });
});

const command = (...args: readonly string[]) => headroom(args, { workingDirectory: folder });

it("a backup of a running control plane restores in another directory, with history and logs", async () => {
  const made = await live.headroom(["backup", path.join(folder, "online.tar.gz")]);
  expect(made).toMatchObject({ code: 0 });
  await live.headroom(["run", "--follow", "--name", "later", "--", "true"]);
  const home = path.join(folder, "elsewhere");
  expect((await command("--home", home, "restore", "online.tar.gz")).stdout).toContain("Every digest is right.");
  const local = { accelerators: "declared", slotCount: 4, nodeName: "here" } as const;
  const plane = await startControlPlane({ home, port: 0, local });
  try {
    expect(plane.token).toBe(live.plane.token);
    const list = await command("--home", home, "list", "--json");
    expect(list.stdout).toContain('"kept"');
    expect(list.stdout).not.toContain('"later"');
    expect((await command("--home", home, "logs", "kept")).stdout).toContain("a line of the past");
    const refused = await command("--home", home, "restore", "online.tar.gz", "--force");
    expect(refused.stderr).toContain("already running");
  } finally {
    await plane.close();
  }
  const refused = await command("--home", home, "restore", "online.tar.gz");
  expect(refused).toMatchObject({ code: 1 });
  expect(refused.stderr).toContain("is not empty");
  const forced = await command("--home", home, "restore", "online.tar.gz", "--force");
  expect(forced.stdout).toMatch(/The earlier state is in .*before-restore-/);
});

it("a damaged, changed or foreign backup changes nothing", async () => {
  const backup = path.join(folder, "plain");
  expect(await live.headroom(["backup", backup])).toMatchObject({ code: 0 });
  expect((await live.headroom(["backup", backup])).stderr).toContain("exists already");
  const home = path.join(folder, "untouched");
  const refusal = async (): Promise<string> => {
    const { code, stderr } = await command("--home", home, "restore", "plain");
    expect(code).toBe(1);
    expect(existsSync(home) ? readdirSync(home) : []).toEqual([]);
    return stderr;
  };
  const [token, manifest] = [path.join(backup, "state", "token"), path.join(backup, "manifest.json")];
  const [tokenText, manifestText] = [readFileSync(token), readFileSync(manifest, "utf8")];
  appendFileSync(token, "x");
  expect(await refusal()).toContain("token is missing or differs from the digest");
  rmSync(token);
  expect(await refusal()).toContain("token is missing");
  writeFileSync(token, tokenText);
  writeFileSync(path.join(backup, "state", "planted"), "");
  expect(await refusal()).toContain("planted is not in its manifest");
  rmSync(path.join(backup, "state", "planted"));
  writeFileSync(manifest, manifestText.replace(/"format": \d+/, '"format": 99'));
  expect(await refusal()).toContain("restore with the newer version");
  rmSync(manifest);
  expect(await refusal()).toContain("This is no backup");
  expect((await command("restore", "plain")).stderr).toContain("--home DIR");
});

it("an upgrade keeps a backup, and is refused while a control plane runs", async () => {
  expect((await live.headroom(["upgrade"])).stderr).toContain("already running");
  const home = path.join(folder, "upgraded");
  await live.headroom(["backup", path.join(folder, "second")]);
  await command("--home", home, "restore", "second");
  const upgraded = await command("--home", home, "upgrade");
  expect(upgraded.stdout).toMatch(/journal format \d+, unchanged/);
  const [backup = ""] = readdirSync(path.join(home, "backups"));
  expect(backup).toMatch(/^before-upgrade-/);
  const wayBack = /To go back: headroom (.*), then start/.exec(upgraded.stdout)?.[1] ?? "";
  expect(wayBack).toContain(backup);
  expect(await command(...wayBack.split(" "))).toMatchObject({ code: 0, stderr: "" });
});

it("states the formats that a backup and a client depend on", async () => {
  const { stdout } = await command("version", "--json");
  expect(JSON.parse(stdout)).toMatchObject({ journal: { writes: expect.any(Number) as number }, api: "v1" });
});
