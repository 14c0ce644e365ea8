/**
 * `node walk.ts CLONE PAGE BIN REPORT`: runs the commands of a page in order in a fresh clone, as a new user with an
 * empty home directory. `BIN` is put first in PATH. A JSON report is written to the file `REPORT`. The caller provides
 * a network namespace, because the page fixes the ports and no outside service may answer.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { watched, type RunningProgram } from "../../packages/cli/src/testing/running-program.ts";
import { newestCheckpoint } from "../../packages/cli/test/quickstart-run.ts";
import { shellExamples } from "./shell-examples.ts";

export interface Step {
  readonly command: string;
  /** Line of the command in the page; null: the command is from the banner of `npm start`. */
  readonly line: number | null;
  readonly code: number | string;
  readonly seconds: number;
  /** Both streams. */
  readonly output: string;
  /** Output that the page shows for the command. */
  readonly shown: readonly string[];
}

export interface Walk {
  readonly steps: readonly Step[];
  /** Seconds since the first `npm start`. */
  readonly firstCheckpointSeconds: number | null;
  readonly trainedSeconds: number | null;
}

/** Ends a command that hangs. The training of the quickstart takes several minutes beside other suites. */
const COMMAND_LIMIT_MS = 900_000;
const POLL_MS = 100;
const [clone = "", page = "", bin = "", report = ""] = process.argv.slice(2);
const home = path.join(clone, "..", "home");
const env: NodeJS.ProcessEnv = {
  HEADROOM_USER: "alice",
  PATH: [bin, path.join(home, ".local", "bin"), process.env["PATH"]].join(path.delimiter),
  HOME: home,
  LANG: "C.UTF-8",
};

class Walker {
  readonly steps: Step[] = [];
  startedAtMs: number | null = null;
  firstCheckpointSeconds: number | null = null;
  trainedSeconds: number | null = null;
  #plane: RunningProgram | null = null;
  /** The commands in the banner of the first `npm start`. Their last ones take what the page's commands need. */
  #suggested: string[] = [];

  async walk(): Promise<Walk> {
    mkdirSync(home);
    const watch = setInterval(() => this.#lookForCheckpoints(), POLL_MS);
    for (const example of shellExamples(readFileSync(path.join(clone, page), "utf8"))) {
      if (example.kind === "file") writeFileSync(path.join(clone, example.name), example.text);
      else if (example.text === "npm start") await this.#start(example);
      else await this.#command(example.text, example.line, example.output);
    }
    for (const command of this.#suggested) await this.#command(command, null, []);
    clearInterval(watch);
    await this.#stop();
    const { steps, firstCheckpointSeconds, trainedSeconds } = this;
    return { steps, firstCheckpointSeconds, trainedSeconds };
  }

  #shell(command: string, stdin: "pipe" | "ignore"): ChildProcess {
    // The command gets a separate process group, so that Ctrl-C reaches the whole group, as in a terminal.
    return spawn("bash", ["-c", command], { cwd: clone, env, stdio: [stdin, "pipe", "pipe"], detached: true });
  }

  /** Runs `npm start` in a terminal that stays open. The reader goes on when the quickstart has written a checkpoint. */
  async #start({ line, output: shown }: { readonly line: number; readonly output: readonly string[] }): Promise<void> {
    await this.#stop();
    this.startedAtMs ??= performance.now();
    const beganMs = performance.now();
    this.#plane = watched(this.#shell("npm start", "pipe"));
    await this.#plane.saying(/runs on http:[^]*Ctrl-C stops .*\n/);
    const output = this.#plane.output();
    const seconds = secondsSince(beganMs);
    this.#done({ command: "npm start", line, code: 0, seconds, output, shown });
    const next = output.slice(output.indexOf("Try next")).matchAll(/^ {2}(\S.*?) {2,}\S/gm);
    this.#suggested = [...next].map(([, command = ""]) => command);
    const limitMs = performance.now() + COMMAND_LIMIT_MS;
    while (this.firstCheckpointSeconds === null && performance.now() < limitMs) await setTimeout(POLL_MS);
  }

  async #stop(): Promise<void> {
    const plane = this.#plane;
    if (plane === null) return;
    this.#plane = null;
    const beganMs = performance.now();
    process.kill(-(plane.process.pid ?? 0), "SIGINT");
    const code = await plane.ended;
    const output = plane.output().slice(-2_000);
    this.#done({ command: "Ctrl-C", line: null, code, seconds: secondsSince(beganMs), output, shown: [] });
  }

  async #command(command: string, line: number | null, shown: readonly string[]): Promise<void> {
    const beganMs = performance.now();
    // `apply` asks for confirmation only on a terminal. `script` provides one.
    const asks = /\bapply\b/.test(command) && !/--yes|--dry-run/.test(command);
    const child = asks
      ? this.#shell(`script -qec ${JSON.stringify(command)} /dev/null`, "pipe")
      : this.#shell(command, "ignore");
    // A command that ends without a question does not read the answer.
    child.stdin?.on("error", () => undefined);
    const program = watched(child);
    if (asks)
      void program.saying(/\[y\/N\]/).then(
        () => child.stdin?.end("y\n"),
        () => undefined,
      );
    const limit = globalThis.setTimeout(() => process.kill(-(child.pid ?? 0), "SIGKILL"), COMMAND_LIMIT_MS);
    const code = await program.ended;
    clearTimeout(limit);
    this.#done({ command, line, code, seconds: secondsSince(beganMs), output: program.output(), shown });
  }

  #done(step: Step): void {
    this.steps.push(step);
    const { line, command, code, seconds } = step;
    process.stderr.write(`${page}:${line ?? "banner"}: ${command}: ${code} after ${seconds} s\n`);
  }

  #lookForCheckpoints(): void {
    if (this.startedAtMs === null || this.trainedSeconds !== null) return;
    const directory = path.join(clone, ".headroom", "checkpoints", "w1");
    if (newestCheckpoint(directory) === 0) return;
    this.firstCheckpointSeconds ??= secondsSince(this.startedAtMs);
    if (readdirSync(directory).includes("model.gguf")) this.trainedSeconds = secondsSince(this.startedAtMs);
  }
}

const secondsSince = (beganMs: number): number => Math.round(performance.now() - beganMs) / 1000;

writeFileSync(report, JSON.stringify(await new Walker().walk()));
// Output of background work that is still open would keep this process alive.
process.exit(0);
