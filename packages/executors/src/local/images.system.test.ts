/** Attempts in a container image on this machine: the conformance cases, and what a job in an image cannot do. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo, Server } from "node:net";
import { createServer } from "node:net";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LaunchGang } from "@headroom/model";
import { conformanceCases, runConformanceCase } from "../conformance/conformance.ts";
import { ConformanceWorld, isRunning, outputHas, readText } from "../conformance/conformance-world.ts";
import type { ConformanceSubject } from "../conformance/conformance-world.ts";
import type { Observer } from "../conformance/observer.ts";
import type { Executor } from "../executor.ts";
import { LocalImages } from "../processes/images/local-images.ts";
import { makeTestImage, removeTestImage, whyNoImages } from "../processes/images/testing/test-image.ts";
import { hasBubblewrap, isolatedRoot } from "../processes/isolation/testing/isolated-root.ts";
import { createLocalExecutor } from "./local-executor.ts";

const missing = hasBubblewrap() ? whyNoImages() : "bubblewrap is not installed";
if (missing !== null) process.stderr.write(`*** Images were not tested: ${missing}\n`);

const IMAGE = `localhost/headroom-test-${process.pid}:1`;
const problems: string[] = [];

const subject: ConformanceSubject = {
  id: "local",
  image: IMAGE,
  imageVariables: ["IN_IMAGE"],
  rootDir: isolatedRoot(),
  open: (homeDir) => {
    mkdirSync(path.dirname(homeDir), { recursive: true });
    return createLocalExecutor({
      homeDir,
      nodeName: "conformance",
      accelerators: "declared",
      isolation: "bubblewrap",
      // Cases watch for files beside the home directory.
      imageDirs: [path.dirname(homeDir)],
      logFileMaxBytes: 64 * 1024,
      logFilesKept: 3,
      onProblem: (message) => problems.push(message),
    });
  },
};

describe.skipIf(missing !== null)("images on this machine", () => {
  beforeAll(() => makeTestImage(IMAGE), 60_000);
  afterAll(() => removeTestImage(IMAGE), 60_000);

  describe("the local executor conforms with an image", () => {
    it.for(conformanceCases.map((conformanceCase) => [conformanceCase.name, conformanceCase] as const))(
      "%s",
      async ([, conformanceCase]) => {
        await expect(runConformanceCase(subject, conformanceCase)).resolves.toBeUndefined();
        expect(problems).toEqual([]);
      },
    );
  });

  describe("a job in an image", () => {
    const SECRET = "secret-of-the-control-plane";
    const ESCAPED = "ESCAPED";
    let world: ConformanceWorld;
    let executor: Executor;
    let observer: Observer;
    let victim: LaunchGang;
    let outside: ReturnType<typeof spawn>;

    beforeAll(async () => {
      world = await ConformanceWorld.create(subject);
      ({ executor, observer } = world.watched());
      writeFileSync(path.join(world.homeDir, "token"), SECRET, { mode: 0o600 });
      outside = spawn("sleep", ["600"], { env: { PATH: process.env["PATH"], SECRET } });
      victim = world.launch("echo x > /tmp/of-victim; echo ready; exec sleep 600", { env: { SECRET } });
      executor.perform(victim);
      await outputHas(executor, victim.attemptId, "ready");
    }, 60_000);
    afterAll(async () => {
      outside.kill("SIGKILL");
      await world.dispose();
    });

    const outputOf = async (command: string, more: { readonly image?: string; readonly dir?: string } = {}) => {
      const launch = world.launch(`${command} 2>&1`, more);
      executor.perform(launch);
      await observer.end(launch.attemptId);
      return readText(executor, launch.attemptId);
    };

    it("has the files and variables of the image, and not those of this machine", async () => {
      const said = await outputOf('cat /etc/image-name; echo "$IN_IMAGE $PATH"; ls /etc/hostname /home; pwd');
      expect(said).toContain(`${IMAGE}\nyes /bin\n`);
      expect(said).toContain("cannot access '/etc/hostname'");
      expect(said).toContain(world.homeDir);
    });

    it("does not run if this machine lacks the image, and says what to do", async () => {
      const launch = world.launch("echo never", { image: "localhost/nowhere:1" });
      executor.perform(launch);
      const end = await observer.end(launch.attemptId);
      expect(JSON.stringify(end)).toMatch(/has no image localhost\/nowhere:1.*run podman pull/);
    });

    it("does not escape", { timeout: 120_000 }, async () => {
      const escapes: readonly (readonly [what: string, command: string])[] = [
        ["read the token", `cat ${world.homeDir}/token`],
        ["list other attempts", `ls ${world.homeDir}/work/${victim.attemptId} >/dev/null && echo ${ESCAPED}`],
        ["read files of this machine", `ls /root /home /boot /usr/share /etc/shadow | grep -q . && echo ${ESCAPED}`],
        ["change its image", `echo x > /etc/image-name && echo ${ESCAPED}; echo x > /planted && echo ${ESCAPED}`],
        ["read other environments", `grep -a ${SECRET} /proc/[0-9]*/environ | grep -v self`],
        ["signal a process outside", `kill -0 ${outside.pid} && echo ${ESCAPED}`],
        ["signal every process", "kill -KILL -1; exit 0"],
        ["see processes outside", `ls -d /proc/${outside.pid} && echo ${ESCAPED}`],
        ["mount the disk", `mkdir m; unshare -Urm mount --bind / m && cat m${world.homeDir}/token`],
        ["remove the mount that hides", `umount ${world.homeDir}; cat ${world.homeDir}/token`],
        ["follow a link", `ln -s ${world.homeDir}/token t; cat t`],
        ["make a device node", `mknod d b 254 0 && echo ${ESCAPED}`],
        [
          "gain capabilities",
          `grep -q 'Cap\\(Eff\\|Prm\\|Bnd\\|Amb\\):.*[1-9a-f]' /proc/self/status && echo ${ESCAPED}`,
        ],
        ["gain privileges", `grep -q 'NoNewPrivs:.0' /proc/self/status && echo ${ESCAPED}`],
        [
          "change the kernel",
          `test -w /proc/sys/kernel/core_pattern && echo x > /proc/sys/kernel/core_pattern && echo ${ESCAPED}`,
        ],
        ["see files of other jobs", `ls /tmp/of-victim && echo ${ESCAPED}`],
      ];
      const said = await Promise.all(escapes.map(([, command]) => outputOf(command)));
      const succeeded = escapes.filter((_, at) => new RegExp(`${SECRET}|^${ESCAPED}`, "m").test(said[at] ?? ""));
      expect(succeeded.map(([what]) => what)).toEqual([]);
      expect(isRunning(outside.pid ?? 0)).toBe(true);
      expect(await executor.attempts()).toContainEqual(
        expect.objectContaining({ attemptId: victim.attemptId, phase: { kind: "running" } }),
      );
    });

    it("cannot replace the state directory by renaming a directory above it", async () => {
      const above = path.dirname(world.homeDir);
      expect(await outputOf(`mv ${above} ${above}-moved && echo ${ESCAPED}`, { dir: isolatedRoot() })).toContain(
        "busy",
      );
      expect(existsSync(world.homeDir)).toBe(true);
    });

    it("has all files of its image, also below directories named dev", async () => {
      expect(await outputOf("cat /opt/dev/kept")).toBe("kept\n");
    });

    it("gives workers that join later the variables of the image", async () => {
      const launch = world.launch('echo "has $IN_IMAGE"; exec sleep 600');
      executor.perform(launch);
      await outputHas(executor, launch.attemptId, "has yes");
      executor.perform(world.grow(launch, 2, 1));
      await outputHas(executor, launch.attemptId, "has yes", 1);
      executor.perform(world.stop(launch, 0));
      expect(await observer.end(launch.attemptId)).toBeDefined();
    });

    it("gives commands of users the files and variables of the image", async () => {
      const command = ["/bin/sh", "-c", 'cat /etc/image-name; echo "$IN_IMAGE"'];
      const session = await executor.exec?.(victim.attemptId, { worker: 0, command, terminal: null });
      let said = "";
      for await (const { data } of session?.output() ?? []) said += Buffer.from(data).toString("utf8");
      expect(said).toBe(`${IMAGE}\nyes\n`);
    });

    it("does not run if its checkpoints would be written to a place of the image", async () => {
      const launch = world.launch("echo never", { checkpointDir: "/run/headroom-checkpoints" });
      executor.perform(launch);
      expect(JSON.stringify(await observer.end(launch.attemptId))).toContain("is not shown in a container image");
    });

    it("leaves nothing of an unpacking that a killed control plane began", async () => {
      const images = path.join(world.homeDir, "cache/images");
      expect(readdirSync(images)).toHaveLength(1);
      const other = mkdtempSync(path.join(isolatedRoot(), "leftover-"));
      const { pid } = spawnSync("true");
      mkdirSync(path.join(other, "cache/images", `unpacking-${pid}-abcdef`, "root"), { recursive: true });
      const { rootDir } = await new LocalImages(other, "podman").prepare(IMAGE);
      expect(readdirSync(path.join(other, "cache/images"))).toEqual([path.basename(rootDir)]);
      rmSync(other, { recursive: true });
    });

    it("gets no directory of the system that it names", async () => {
      expect(await outputOf("ls; cat /etc/image-name", { dir: "/etc" })).not.toContain("shadow");
    });
  });

  describe("a job in an image with a network of its own", () => {
    let world: ConformanceWorld;
    let executor: Executor;
    let observer: Observer;
    let server: Server;

    beforeAll(async () => {
      const open = (homeDir: string): Executor =>
        createLocalExecutor({
          homeDir,
          nodeName: "conformance",
          accelerators: "declared",
          isolation: "bubblewrap",
          imageNetwork: "own",
        });
      world = await ConformanceWorld.create({ ...subject, open });
      ({ executor, observer } = world.watched());
      server = createServer((socket) => socket.end("reached\n")).listen(0, "127.0.0.1");
      await once(server, "listening");
    });
    afterAll(async () => {
      server.close();
      await world.dispose();
    });

    const outputOf = async (run: string): Promise<string> => {
      const launch = world.launch(run);
      executor.perform(launch);
      await observer.end(launch.attemptId);
      return readText(executor, launch.attemptId);
    };

    it("has a loopback interface alone, and does not see the ports of this machine", async () => {
      const { port } = server.address() as AddressInfo;
      const listening = `:${port.toString(16).toUpperCase().padStart(4, "0")} `;
      const sockets = readFileSync("/proc/net/tcp", "utf8");
      expect(sockets).toContain(listening);
      const said = await outputOf(
        `bash -c "exec 3<>/dev/tcp/127.0.0.1/${port} && cat <&3" 2>/dev/null; cat /proc/net/tcp /proc/net/dev`,
      );
      expect(said).toContain("lo:");
      expect(said).not.toMatch(new RegExp(`reached|${listening}`));
      const interfaces = (text: string): readonly string[] =>
        [...text.matchAll(/^ *(\S+):/gm)].map(([, name = ""]) => name);
      expect(interfaces(said.slice(said.indexOf("Inter-|")))).toEqual(["lo"]);
    });

    it("is refused if its workers would have to meet", async () => {
      const launch = world.launch("true", { workers: 2 });
      executor.perform(launch);
      expect(JSON.stringify(await observer.end(launch.attemptId))).toContain("could not meet");
    });
  });
});
