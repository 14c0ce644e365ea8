/**
 * For tests: an image built by podman from the Containerfile of the package, and a container of it. The base image has the
 * Debian packages of this machine, so that no registry of images is needed.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { PACKAGE_FOLDER, type Ran } from "./installation.ts";

/** Packages of a slim Debian image, and the library that Node 26 needs. */
const extraPackages = ["base-files", "libatomic1", "passwd"];
/** Made when packages are installed: no package contains them. */
const generated = ["/bin/sh", "/etc/ld.so.cache"];
const files: Readonly<Record<string, string>> = {
  "etc/passwd": "root:x:0:0:root:/root:/bin/bash\n",
  "etc/group": "root:x:0:\n",
  "etc/shadow": "root:*:19000:0:99999:7:::\n",
};

/** This machine cannot make containers. */
export class Unsupported extends Error {}

export class Image {
  readonly name: string;
  /** Options of `podman run` on this machine. */
  options: readonly string[] = [];
  readonly #base: string;

  private constructor(name: string, base: string) {
    this.name = name;
    this.#base = base;
  }

  /** Throws `Unsupported` with the reason where podman is missing, or can neither build nor run images here. */
  static build(folder: string): Image {
    const suffix = `test-${process.pid}`;
    const image = new Image(`localhost/headroom:${suffix}`, `localhost/headroom-base:${suffix}`);
    // Steps of the build need no container runtime, which some machines refuse.
    const build = ["build", "--format", "docker", "--isolation", "chroot", "--tag", image.name];
    try {
      try {
        podman(["import", "-", image.#base], debian());
        writeFileSync(path.join(folder, "Containerfile.probe"), `FROM ${image.#base}\nRUN true\n`);
        podman([...build, "--file", "Containerfile.probe", "."], undefined, folder);
        image.options = optionsOf(image.name);
      } catch (error) {
        throw new Unsupported(describe(error));
      }
      const file = path.join(PACKAGE_FOLDER, "deploy/container/Containerfile");
      podman([...build, "--build-arg", `BASE=${image.#base}`, "--file", file, "."], undefined, folder);
    } catch (error) {
      image.remove();
      throw error;
    }
    return image;
  }

  remove(): void {
    for (const each of [this.name, this.#base]) spawnSync("podman", ["rmi", "--force", each], { stdio: "ignore" });
  }
}

/** A container as docs/how-to/install.md starts it, without a network. */
export class Container {
  readonly #id: string;

  constructor(image: Image, volume: string, command: readonly string[]) {
    const args = ["--detach", "--read-only", "--tmpfs", "/tmp", "--network", "none"];
    const mount = ["--volume", `${volume}:/var/lib/headroom`];
    this.#id = podman(["run", ...image.options, ...args, ...mount, image.name, ...command]).trim();
  }

  exec(...command: readonly string[]): Ran {
    const { status, stdout, stderr } = spawnSync("podman", ["exec", this.#id, ...command], { encoding: "utf8" });
    return { code: status, output: `${stdout}${stderr}` };
  }

  isHealthy(): boolean {
    return spawnSync("podman", ["healthcheck", "run", this.#id], { stdio: "ignore" }).status === 0;
  }

  copyOut(from: string, to: string): void {
    podman(["cp", `${this.#id}:${from}`, to]);
  }

  logs(): string {
    const { stdout, stderr } = spawnSync("podman", ["logs", this.#id], { encoding: "utf8" });
    return `${stdout}${stderr}`;
  }

  remove(): void {
    spawnSync("podman", ["rm", "--force", "--time", "5", this.#id], { stdio: "ignore" });
  }
}

/** The first set of options with which a container runs here. Throws if none does. */
function optionsOf(image: string): readonly string[] {
  // In a virtual machine without CAP_SYS_RESOURCE no limit can be raised, and crun refuses some hierarchies of cgroups.
  const limits = execFileSync("sh", ["-c", "ulimit -Hn"], { encoding: "utf8" }).trim();
  const bounded = ["--ulimit", `nofile=${limits}:${limits}`, "--ulimit", "nproc=4096:4096"];
  const runtimes = [[], bounded, ["--runtime", "runc", ...bounded]];
  // Debian packages the program behind --init apart.
  const sets = [["--init"], []].flatMap((init) => runtimes.map((runtime) => [...init, ...runtime]));
  const reasons: string[] = [];
  for (const options of sets)
    try {
      podman(["run", "--rm", ...options, "--network", "none", "--entrypoint", "true", image]);
      return options;
    } catch (error) {
      reasons.push(describe(error));
    }
  throw new Error(reasons.at(-1));
}

const describe = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export function removeVolume(name: string): void {
  spawnSync("podman", ["volume", "rm", "--force", name], { stdio: "ignore" });
}

function podman(args: readonly string[], input?: Buffer, cwd?: string): string {
  const { status, stdout, stderr, error } = spawnSync("podman", args, { cwd, input, encoding: "utf8" });
  if (status === 0) return stdout;
  throw new Error(
    `podman ${args[0] ?? ""} failed: ${error?.message ?? stderr.trim().split("\n").slice(-5).join("\n")}`,
  );
}

/** `/lib` and others are links into `/usr`; a layer has each file at its real place. */
const directoryOf = (folder: string): string => {
  try {
    return realpathSync(folder);
  } catch {
    return folder;
  }
};

/** This machine's required Debian packages and what they depend on. */
function requiredPackages(): readonly string[] {
  const format = "${Package}\t${Essential}\t${Priority}\t${Pre-Depends}, ${Depends}\n";
  const rows = execFileSync("dpkg-query", ["--show", "--showformat", format], { encoding: "utf8" })
    .split("\n")
    .map((line) => line.split("\t"));
  const needs = new Map(rows.map(([name = "", , , depends = ""]) => [name, depends.split(/[,|]/)]));
  const required = rows.filter(([, essential, priority]) => essential === "yes" || priority === "required");
  const found = new Set<string>();
  const waiting = [...required.map(([name = ""]) => name), ...extraPackages];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const depends = needs.get(name);
    if (name === "" || depends === undefined || found.has(name)) continue;
    found.add(name);
    waiting.push(...depends.map((each) => each.trim().split(/[ :(]/)[0] ?? ""));
  }
  return [...found];
}

/** Their files as a tar. */
function debian(): Buffer {
  const owned = execFileSync("dpkg", ["--listfiles", ...requiredPackages()], {
    encoding: "utf8",
    maxBuffer: 1 << 26,
  }).split("\n");
  const kept = [...owned, ...generated]
    .filter((file) => file.startsWith("/") && !/^\/(?:\.|usr\/share\/(?:doc|man|locale|info)\/)/.test(file))
    .map((file) => path.join(directoryOf(path.dirname(file)), path.basename(file)));
  const folder = mkdtempSync(path.join(tmpdir(), "headroom-base-"));
  try {
    mkdirSync(path.join(folder, "etc"));
    for (const [file, text] of Object.entries(files)) writeFileSync(path.join(folder, file), text);
    const list = path.join(folder, "list");
    writeFileSync(
      list,
      `${[...new Set(kept)]
        .toSorted()
        .map((file) => `.${file}`)
        .join("\n")}\n`,
    );
    const sources = ["--directory=/", "--no-recursion", "--ignore-failed-read", `--files-from=${list}`];
    const own = [`--directory=${folder}`, ...Object.keys(files)];
    return execFileSync("tar", ["--create", "--file=-", "--numeric-owner", ...sources, ...own], {
      maxBuffer: 1 << 30,
      stdio: ["ignore", "pipe", "ignore"],
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
