/**
 * Container images of this machine. podman(1) keeps them; nothing is pulled. The file system of an image is unpacked once into the cache
 * and shared, read-only, by all attempts that name it. Start at `prepare`.
 */
import { existsSync, renameSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import type { LaunchGang } from "@headroom/model";
import { RefusedGang } from "../../job-protocol/refused-gang.ts";
import { runTool } from "../run-tool.ts";
import { prepareRoot } from "./image-sandbox.ts";

/** Unpacking 20 GB takes some minutes. */
const UNPACK_TIMEOUT_MS = 1_200_000;
const INSPECT_TIMEOUT_MS = 30_000;
/** Beginning of the names of directories in which images are unpacked; the process id of the control plane follows. */
const UNPACKING = "unpacking-";
const LEFTOVER = /^unpacking-(\d+)-/;
/** Device files come from the sandbox. Without `--anchored`, the patterns match directories `dev` at any depth. */
const TAR_OPTIONS = ["--no-same-owner", "--anchored", "--exclude=./dev/*", "--exclude=dev/*"];

export interface PreparedImage {
  /** Its file system on this machine. */
  readonly rootDir: string;
  /** Variables that the image sets. */
  readonly env: Readonly<Record<string, string>>;
}

const inspection = z
  .array(
    z.object({
      Id: z.string().regex(/^[0-9a-f]{64}$/),
      Config: z.object({ Env: z.array(z.string()).nullish() }).nullish(),
    }),
  )
  .length(1);

export class LocalImages {
  readonly #homeDir: string;
  readonly #podman: string;
  /** Images that are being unpacked, by id. */
  readonly #unpacking = new Map<string, Promise<string>>();

  constructor(homeDir: string, podman: string) {
    this.#homeDir = homeDir;
    this.#podman = podman;
  }

  /** Throws a `RefusedGang` if this machine does not have the image. */
  async prepare(image: string): Promise<PreparedImage> {
    if (image.startsWith("-")) throw new RefusedGang(`${image} is no name of an image`);
    const { code, stdout, stderr } = await this.#call(["image", "inspect", image], INSPECT_TIMEOUT_MS);
    if (code !== 0)
      throw new RefusedGang(
        `this machine has no image ${image} (${stderr.slice(0, 200)}); images are not pulled: run podman pull here as the user of the control plane`,
      );
    const [found] = inspection.parse(JSON.parse(stdout));
    if (found === undefined) throw new RefusedGang(`podman says nothing about the image ${image}`);
    const rootDir = await this.#rootOf(found.Id);
    return { rootDir, env: environmentOf(found.Config?.Env ?? []) };
  }

  #rootOf(id: string): Promise<string> {
    const running = this.#unpacking.get(id) ?? this.#unpack(id).finally(() => this.#unpacking.delete(id));
    this.#unpacking.set(id, running);
    return running;
  }

  async #unpack(id: string): Promise<string> {
    const images = path.join(this.#homeDir, "cache", "images");
    const rootDir = path.join(images, id);
    if (existsSync(rootDir)) return rootDir;
    await mkdir(images, { recursive: true, mode: 0o700 });
    await this.#removeLeftovers(images);
    const work = await mkdtemp(path.join(images, `${UNPACKING}${process.pid}-`));
    try {
      const archive = path.join(work, "image.tar");
      const container = containerOf(work);
      try {
        const words = [`--name=${container}`, "--network=none", "--pull=never", id, "/bin/sh"];
        await this.#must(["create", ...words], UNPACK_TIMEOUT_MS);
        await this.#must(["export", "--output", archive, container], UNPACK_TIMEOUT_MS);
      } finally {
        await this.#call(["rm", "--force", "--ignore", container], UNPACK_TIMEOUT_MS);
      }
      const root = path.join(work, "root");
      await mkdir(root, { mode: 0o755 });
      await must("tar", ["--extract", "--file", archive, "--directory", root, ...TAR_OPTIONS]);
      // The root of some images is read-only for its owner, too.
      await chmod(root, 0o755);
      prepareRoot(root, this.#homeDir);
      // After a power cut, an image must be whole or absent.
      await must("sync", ["--file-system", root]);
      moveInto(root, rootDir);
      return rootDir;
    } finally {
      await removeTree(work);
    }
  }

  /** Removes what a control plane that was killed while it unpacked has left. */
  async #removeLeftovers(images: string): Promise<void> {
    for (const name of await readdir(images)) {
      const [, pid] = LEFTOVER.exec(name) ?? [];
      if (pid === undefined || Number(pid) === process.pid || isAlive(Number(pid))) continue;
      await this.#call(["rm", "--force", "--ignore", containerOf(name)], UNPACK_TIMEOUT_MS);
      await removeTree(path.join(images, name));
    }
  }

  async #must(words: readonly string[], timeoutMs: number): Promise<string> {
    const { code, stdout, stderr } = await this.#call(words, timeoutMs);
    if (code !== 0) throw new Error(`podman ${words[0] ?? ""} failed: ${stderr.slice(0, 300)}`);
    return stdout;
  }

  #call(words: readonly string[], timeoutMs: number): ReturnType<typeof runTool> {
    return runTool(this.#podman, words, timeoutMs);
  }
}

const containerOf = (work: string): string => `headroom-${path.basename(work)}`;

async function must(program: string, words: readonly string[]): Promise<void> {
  const { code, stderr } = await runTool(program, words, UNPACK_TIMEOUT_MS);
  if (code !== 0) throw new Error(`${program} failed: ${stderr.slice(0, 300)}`);
}

/** A failure is ignored: the next image that is unpacked after a restart removes the rest. */
async function removeTree(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true }).catch(() => undefined);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** Another instance of the executor may have unpacked the same image meanwhile. */
function moveInto(root: string, rootDir: string): void {
  try {
    renameSync(root, rootDir);
  } catch (error) {
    if (!existsSync(rootDir)) throw error;
  }
}

/** The variables of the workload take precedence over those of its image. */
export const withImageEnv = (launch: LaunchGang, env: PreparedImage["env"]): LaunchGang => ({
  ...launch,
  spec: { ...launch.spec, env: { ...env, ...launch.spec.env } },
});

function environmentOf(lines: readonly string[]): Readonly<Record<string, string>> {
  const pairs = lines.flatMap((line) => {
    const at = line.indexOf("=");
    return at > 0 ? [[line.slice(0, at), line.slice(at + 1)] as const] : [];
  });
  // The home directory of this machine's user is not in the image.
  return { HOME: "/tmp", SHELL: "/bin/sh", ...Object.fromEntries(pairs) };
}
