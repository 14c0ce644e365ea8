/** For tests: the package in an empty folder, and its program as a user starts it there. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { watched } from "../../packages/cli/src/testing/running-program.ts";
import { repositoryRoot } from "../testing/repository-copy.ts";
import type { Network } from "../testing/network.ts";

export const PACKAGE_FOLDER = "node_modules/headroom-control-plane";

/** Packs the work tree and installs the file in an empty folder, as docs/how-to/install.md does. Returns the folder. */
export function install(folder: string): string {
  const files = path.join(folder, "..", "package");
  const packed = execFileSync(process.execPath, [path.join(repositoryRoot, "tools/pack/main.ts"), files], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  const file = packed.trim().split("\n").at(-1) ?? "";
  mkdirSync(folder, { recursive: true });
  const args = ["install", "--loglevel=error", "--no-audit", "--no-fund", "--prefer-offline", "--prefix", ".", file];
  execFileSync("npm", args, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  return folder;
}

export interface Ran {
  readonly code: number | null;
  /** Both streams. */
  readonly output: string;
}

/** One user's view: the program, a state directory, and the network in which all of it runs. */
export class Installation {
  readonly home: string;
  readonly #folder: string;
  readonly #network: Network;
  readonly #program: string;

  constructor(
    folder: string,
    home: string,
    network: Network,
    program: string = path.join(folder, "node_modules/.bin/headroom"),
  ) {
    this.home = home;
    this.#folder = folder;
    this.#network = network;
    this.#program = program;
  }

  /** The environment of a user: nothing of the test's own. */
  get #env(): NodeJS.ProcessEnv {
    const { PATH, HOME } = process.env;
    return {
      PATH: [path.join(this.#folder, "node_modules/.bin"), PATH].join(path.delimiter),
      HOME,
      LANG: "C.UTF-8",
      HEADROOM_HOME: this.home,
      XDG_CONFIG_HOME: path.join(this.home, "..", "config"),
    };
  }

  headroom(...args: readonly string[]): Ran {
    return this.run(this.#program, ...args);
  }

  run(...command: readonly string[]): Ran {
    const [program = "", ...args] = [...this.#network.enter, ...command];
    const { status, stdout, stderr } = spawnSync(program, args, {
      cwd: this.#folder,
      env: this.#env,
      encoding: "utf8",
    });
    return { code: status, output: `${stdout}${stderr}` };
  }

  /** Starts the control plane, and stops it after `use`. Work that runs goes on. */
  async whileUp<Result>(options: readonly string[], use: () => Promise<Result> | Result): Promise<Result> {
    const args = ["up", "--port", "7070", "--slots", "2", ...options];
    return this.whileRunning([this.#program, ...args], /Ctrl-C/, use);
  }

  /** Starts a program, waits until it says something, and ends it after `use`. */
  async whileRunning<Result>(
    command: readonly string[],
    ready: RegExp,
    use: () => Promise<Result> | Result,
  ): Promise<Result> {
    const [program = "", ...args] = [...this.#network.enter, ...command];
    const running = watched(spawn(program, args, { cwd: this.#folder, env: this.#env, stdio: "pipe" }));
    try {
      await running.saying(ready);
      return await use();
    } finally {
      running.process.kill("SIGTERM");
      await running.ended;
    }
  }
}
