/**
 * The package as its users have it: installed from its file in an empty folder, without the checkout. An upgrade of an
 * earlier version's state and the way back run each time. The quickstart to its end, the gateway in front of its model, and
 * a backup that is restored elsewhere take turns: in the folder, and in a container. Budget: 240 s on two quiet cores.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { linkModules, repositoryRoot } from "../testing/repository-copy.ts";
import { isTurnOf } from "../testing/rotating.ts";
import { Container, Image, removeVolume, Unsupported } from "./container.ts";
import { install, Installation, PACKAGE_FOLDER } from "./installation.ts";
import { canMakeNetworks, Network } from "../testing/network.ts";

/** The last version without a package. `earlier-state/` has a state directory of it. */
const EARLIER = "32f4626c";
const NO_NETWORKS = "this user may not make namespaces, or `ip` or `nsenter` is missing";

/** Sandboxes hide the directory for temporary files: work in it would be visible in part only. */
const BUILD = path.join(repositoryRoot, ".build");
let folder = "";
let app = "";
let network: Network | undefined;
beforeAll(async () => {
  mkdirSync(BUILD, { recursive: true });
  folder = mkdtempSync(path.join(BUILD, "install-"));
  app = install(path.join(folder, "app"));
  if (canMakeNetworks) network = await Network.make();
});
afterAll(async () => {
  await network?.close();
  rmSync(folder, { recursive: true, maxRetries: 5 });
});

function installation(home: string, program?: string): Installation {
  if (network === undefined) throw new Error(NO_NETWORKS);
  return new Installation(app, path.join(folder, home, ".headroom"), network, program);
}

function skip(reason: string): void {
  console.warn(`skipped: ${reason}`);
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version: string }>>;
}
const librariesOf = (file: string): readonly string[] =>
  Object.entries((JSON.parse(readFileSync(file, "utf8")) as Lock).packages)
    .filter(([place]) => /node_modules\/(?!headroom)/.test(place))
    .map(([place, { version }]) => `${place.split("node_modules/").at(-1) ?? ""} ${version}`);

it("has one package of Headroom, the libraries of the lock, and starts under the pinned Node", () => {
  const names = readdirSync(path.join(app, "node_modules"));
  expect(names.filter((name) => !/^(?:\.|node-)/.test(name))).toEqual(["headroom-control-plane"]);
  const pinned = new Set(librariesOf(path.join(repositoryRoot, "package-lock.json")));
  const own = librariesOf(path.join(app, "package-lock.json"));
  expect(own.length).toBeGreaterThan(10);
  expect(own.filter((library) => !pinned.has(library))).toEqual([]);
  const { stdout } = spawnSync(path.join(app, "node_modules/.bin/headroom"), ["version", "--json"], {
    encoding: "utf8",
  });
  expect(JSON.parse(stdout)).toMatchObject({ node: "26.10.0", api: "v1" });
});

/** The recorded groups of a state directory's journal. */
function groupsOf(home: string): readonly unknown[] {
  const database = new DatabaseSync(path.join(home, "journal/journal.db"), { readOnly: true });
  const groups = database.prepare("SELECT first_sequence, count, chain, text FROM groups ORDER BY 1").all();
  database.close();
  return groups;
}

if (!canMakeNetworks) skip(NO_NETWORKS);
it.skipIf(!canMakeNetworks)("takes over a state of an earlier version, and goes back to it", async () => {
  const archive = path.join(import.meta.dirname, "earlier-state", `${EARLIER}.tar.gz`);
  const present = installation("taken-over");
  mkdirSync(path.dirname(present.home));
  execFileSync("tar", ["xzf", archive, "-C", path.dirname(present.home)]);
  const recorded = groupsOf(present.home);

  const upgraded = present.headroom("upgrade");
  expect(upgraded.output).toMatch(/can be used by Headroom [\d.]+: journal format 4 to \d+, up to event 29/);
  await present.whileUp(["--no-console"], () => {
    expect(present.headroom("list").output).toMatch(
      /fails .*failed[^]*waits .*pending[^]*sweep .*3\/3[^]*before .*succeeded/,
    );
    expect(present.headroom("logs", "before").output).toContain("output of the earlier version, rank 1");
    expect(present.headroom("history", "before").output).toContain("succeeded");
    expect(present.headroom("teams").output).toContain("research");
    expect(present.headroom("why", "waits")).toMatchObject({ code: 3 });
    expect(present.headroom("set", "waits", "walltime=2h")).toMatchObject({ code: 0 });
    expect(present.headroom("run", "--follow", "--name", "after", "--", "true")).toMatchObject({ code: 0 });
  });

  const wayBack = /To go back: headroom (.*), then start/.exec(upgraded.output)?.[1] ?? "";
  const earlier = await earlierVersion();
  // Without the backup the earlier version refuses the journal, and changes nothing.
  if (earlier !== null) expect(earlier.headroom("up", "--no-console").output).toMatch(/has format \d+; this version/);
  expect(present.headroom(...wayBack.split(" "))).toMatchObject({ code: 0 });
  expect(groupsOf(present.home)).toEqual(recorded);
  await earlier?.whileUp(["--no-console"], () => {
    const list = earlier.headroom("list").output;
    expect(list).toMatch(/waits .*pending[^]*before .*succeeded/);
    expect(list).not.toContain("after");
    expect(earlier.headroom("run", "--follow", "--name", "again", "--", "true")).toMatchObject({ code: 0 });
  });
});

/** The build of the earlier version; `null`: the history of this clone does not reach it. */
async function earlierVersion(): Promise<Installation | null> {
  const archive = spawnSync("git", ["archive", EARLIER], { cwd: repositoryRoot, maxBuffer: 1 << 28 });
  if (archive.status !== 0) {
    skip(`the history of this clone does not reach ${EARLIER}, so its build does not read the restored state`);
    return null;
  }
  const checkout = path.join(folder, "earlier");
  mkdirSync(checkout);
  execFileSync("tar", ["x", "-C", checkout], { input: archive.stdout });
  linkModules(checkout);
  return installation("taken-over", path.join(checkout, "packages/cli/bin/headroom.mjs"));
}

/** Restores a backup in another directory, and finds the trained quickstart there. */
async function restoreElsewhere(backup: string): Promise<void> {
  const second = installation("elsewhere");
  expect(second.headroom("--home", second.home, "restore", backup)).toMatchObject({ code: 0 });
  await second.whileUp(["--no-console"], () => {
    expect(second.headroom("list").output).toMatch(/quickstart .*succeeded/);
    expect(second.headroom("logs", "quickstart").output).toContain('"step":900');
    expect(second.headroom("run", "--follow", "--", "echo it runs here")).toMatchObject({ code: 0 });
  });
}

/** Training takes a minute on two quiet cores, and many beside other suites. */
const CHAT_OPTIONS = ["--wait-seconds", "1400", "--tokens", "20", "import {"];
const CHAT = path.join(PACKAGE_FOLDER, "examples/serving/chat.mjs");

it.skipIf(!canMakeNetworks || !isTurnOf("installed in a folder"))(
  "trains the quickstart in the folder, serves its model through the gateway, and restores a backup elsewhere",
  async () => {
    const first = installation("first");
    const backup = path.join(folder, "online.tar.gz");
    await first.whileUp(["--quickstart"], () => {
      expect(first.headroom("health").output).toBe("ready\n");
      expect(first.run("node", CHAT, ...CHAT_OPTIONS)).toMatchObject({
        code: 0,
        output: expect.stringContaining("import {") as string,
      });
      expect(first.headroom("logs", "-f", "quickstart").output).toContain('"step":900');
      expect(first.headroom("backup", backup)).toMatchObject({ code: 0 });
      expect(first.headroom("stop", "chat")).toMatchObject({ code: 0 });
    });
    await restoreElsewhere(backup);
  },
);

let image: Image | undefined;
function buildImage(): Image | undefined {
  try {
    return Image.build(app);
  } catch (error) {
    if (!(error instanceof Unsupported)) throw error;
    skip(`no container can be made here: ${error.message}`);
    return undefined;
  }
}
afterAll(() => image?.remove());

it.skipIf(!canMakeNetworks || !isTurnOf("installed in a container"))(
  "does the same in a container without rights, and restores its backup in a folder",
  async ({ skip: skipTest }) => {
    image = buildImage();
    if (image === undefined) return skipTest();
    const volume = `headroom-test-${process.pid}`;
    const up = ["up", "--host", "0.0.0.0", "--insecure", "--slots", "2"];
    const backup = path.join(folder, "container.tar.gz");
    const first = new Container(image, volume, [...up, "--quickstart"]);
    try {
      await expect.poll(() => first.isHealthy(), { timeout: 60_000, interval: 250 }).toBe(true);
      const { output } = first.exec("headroom", "run", "--follow", "--", "id -u; touch /opt/headroom/x || true");
      expect(output).toMatch(/^10001$/m);
      expect(output).toContain("Read-only file system");
      const chat = first.exec("node", path.join("/opt/headroom", CHAT), ...CHAT_OPTIONS);
      expect(chat).toMatchObject({ code: 0, output: expect.stringContaining("import {") as string });
      expect(first.exec("headroom", "stop", "chat")).toMatchObject({ code: 0 });
      expect(first.exec("headroom", "backup", "/var/lib/headroom/tmp/backup.tar.gz")).toMatchObject({ code: 0 });
      first.copyOut("/var/lib/headroom/tmp/backup.tar.gz", backup);
    } finally {
      first.remove();
    }
    const next = new Container(image, volume, up);
    try {
      await expect.poll(() => next.isHealthy(), { timeout: 60_000, interval: 250 }).toBe(true);
      expect(next.exec("headroom", "list").output).toMatch(/quickstart .*succeeded/);
    } finally {
      next.remove();
      removeVolume(volume);
    }
    await restoreElsewhere(backup);
  },
);
