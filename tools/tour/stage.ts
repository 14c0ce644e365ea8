/**
 * Environment of the tour: a temporary home directory, the product as real processes, and assertions that are printed.
 * Commands run in a directory outside the checkout and find the control plane in the same way as a user's commands.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { watched, type RunningProgram } from "../../packages/cli/src/testing/running-program.ts";
import { liveWorkers } from "../../packages/cli/test/quickstart-run.ts";

const root: string = path.resolve(import.meta.dirname, "..", "..");
const program = path.join(root, "packages", "cli", "bin", "headroom.mjs");
const COMMAND_LIMIT_MS = 300_000;
const POLL_MS = 100;
/** Number of lines of a command's output that are printed; assertions read all of it. */
const SHOWN_LINES_MAX = 14;
/** Accelerators that this machine declares: two for the quickstart, two for the other chapters. */
const SLOTS = 4;
const USER = "ada";

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Check {
  readonly claim: string;
  readonly passed: boolean;
}

interface Address {
  readonly url: string;
  readonly pid: number;
}

export class Stage {
  /** The command line, for programs of other processes. */
  static readonly program: string = program;
  /** Working directory of commands. */
  readonly folder: string = mkdtempSync(path.join(tmpdir(), "headroom-tour-"));
  /** State directory of the control plane. */
  readonly home: string = path.join(this.folder, "state");
  /** Assertions of the current chapter. */
  checks: Check[] = [];
  readonly #print: (line: string) => void;
  #starter: RunningProgram | null = null;

  constructor(print: (line: string) => void) {
    this.#print = print;
    mkdirSync(path.join(this.folder, "user"));
  }

  /** Environment of a new user: an empty home directory, and only PATH from this process. */
  #environment(extra: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
    const { PATH, LANG } = process.env;
    const user = path.join(this.folder, "user");
    return { PATH, LANG, HOME: user, HEADROOM_USER: USER, NO_COLOR: "1", ...extra };
  }

  /** Plays on a stage with a state directory of its own, and closes it. Its assertions belong to the same chapter. */
  async apart(play: (stage: Stage) => Promise<void>): Promise<void> {
    const stage = new Stage(this.#print);
    stage.checks = this.checks;
    try {
      await play(stage);
    } finally {
      await stage.close();
    }
  }

  /** Runs `npm start` until its banner is complete. */
  async start(): Promise<void> {
    await this.#launch("npm", ["start", "--", "--port", "0", "--slots", String(SLOTS)], "npm");
  }

  /** Starts a control plane with this machine as several nodes of two accelerators. */
  async startFleet(nodeCount: number): Promise<void> {
    const args = ["up", "--port", "0", "--nodes", String(nodeCount), "--slots", "2", "--no-console"];
    await this.#launch(process.execPath, [program, ...args], "headroom", args);
  }

  async #launch(file: string, args: readonly string[], name: string, shown = args): Promise<void> {
    this.#print(`  $ ${name} ${shown.join(" ")}`);
    const child = spawn(file, args, {
      cwd: root,
      env: this.#environment({ HEADROOM_HOME: this.home }),
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#starter = watched(child);
    await this.#starter.saying(/runs on http:[^]*Ctrl-C/);
    this.#show(this.#starter.output());
  }

  /** Sends SIGKILL to the control plane's process only; workers and supervisors continue. */
  async kill(): Promise<void> {
    const { pid } = this.#address();
    this.#print(`  $ kill -9 ${pid}`);
    process.kill(pid, "SIGKILL");
    await this.#starter?.ended;
    this.#starter = null;
  }

  #address(): Address {
    return JSON.parse(readFileSync(path.join(this.home, "server.json"), "utf8")) as Address;
  }

  /** Runs the command line as a separate process, and prints the command and its output. */
  async headroom(...args: readonly string[]): Promise<Outcome> {
    this.#print(`  $ headroom ${args.map(quoted).join(" ")}`);
    const outcome = await this.#run(args);
    this.#show(outcome.stdout + outcome.stderr);
    if (outcome.code !== 0) this.#print(`    exit code ${outcome.code}`);
    return outcome;
  }

  /** Returns the JSON that a command prints, without printing it. */
  async json<Answer>(...args: readonly string[]): Promise<Answer> {
    const end = args.includes("--") ? args.indexOf("--") : args.length;
    const { code, stdout, stderr } = await this.#run(args.toSpliced(end, 0, "--json"));
    try {
      return JSON.parse(stdout) as Answer;
    } catch {
      throw new Error(`headroom ${args.join(" ")} --json printed no JSON (exit code ${code}): ${stdout}${stderr}`);
    }
  }

  async #run(args: readonly string[]): Promise<Outcome> {
    const child = spawn(process.execPath, [program, ...args], {
      cwd: this.folder,
      env: this.#environment(),
      stdio: ["ignore", "pipe", "pipe"],
      timeout: COMMAND_LIMIT_MS,
    });
    const said = { stdout: "", stderr: "" };
    for (const stream of ["stdout", "stderr"] as const) {
      child[stream].setEncoding("utf8").on("data", (text: string) => (said[stream] += text));
    }
    const [code, signal] = (await once(child, "close")) as [number | null, string | null];
    if (code === null) throw new Error(`headroom ${args.join(" ")} ended by ${signal}: ${said.stdout}${said.stderr}`);
    return { code, ...said };
  }

  /** Sends a request to the HTTP API with the token of the state directory. Throws if there is no answer. */
  async request(
    method: string,
    place: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    const token = readFileSync(path.join(this.home, "token"), "utf8").trim();
    return await fetch(`${this.#address().url}${place}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        "headroom-user": USER,
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  /** Writes a file into the working directory of commands, and prints it. */
  write(name: string, text: string): void {
    writeFileSync(path.join(this.folder, name), text);
    this.#print(`  $ cat ${name}`);
    this.#show(text);
  }

  note(line: string): void {
    this.#print(`  ${line}`);
  }

  /** Asserts that two values are equal, member by member. */
  equal(claim: string, actual: unknown, expected: unknown): void {
    this.#check(claim, () => assert.deepEqual(actual, expected));
  }

  matches(claim: string, text: string, pattern: RegExp): void {
    this.#check(claim, () => assert.match(text, pattern));
  }

  /** Asserts a condition; `detail`: the actual value, for the report. */
  holds(claim: string, isTrue: boolean, detail: unknown = ""): void {
    this.#check(claim, () => assert.ok(isTrue, `${claim}, but found ${JSON.stringify(detail)}`));
  }

  #check(claim: string, assertion: () => void): void {
    try {
      assertion();
    } catch (error) {
      this.checks.push({ claim, passed: false });
      this.#print(`  ✗ ${claim}`);
      throw error;
    }
    this.checks.push({ claim, passed: true });
    this.#print(`  ✓ ${claim}`);
  }

  /** Polls until the result is not null; throws after `limitMs`. */
  async until<Answer>(what: string, probe: () => Promise<Answer | null>, limitMs = 60_000): Promise<Answer> {
    const deadline = performance.now() + limitMs;
    for (;;) {
      const answer = await probe();
      if (answer !== null) return answer;
      if (performance.now() > deadline) throw new Error(`not within ${limitMs / 1000} s: ${what}`);
      await delay(POLL_MS);
    }
  }

  #show(text: string): void {
    const lines = text.trimEnd().split("\n");
    const shown = lines.length > SHOWN_LINES_MAX ? lines.slice(0, SHOWN_LINES_MAX - 1) : lines;
    for (const line of shown) this.#print(`    ${line}`);
    if (shown.length < lines.length) this.#print(`    … ${lines.length - shown.length} more lines`);
  }

  /** Stops the work and the control plane, and removes the home. */
  async close(): Promise<void> {
    if (this.#starter !== null && existsSync(path.join(this.home, "server.json"))) {
      const { pid } = this.#address();
      await this.#stopWork().catch(() => undefined);
      process.kill(pid, "SIGTERM");
      await this.#starter.ended;
    }
    this.#starter?.process.kill("SIGKILL");
    for (const { pid } of liveWorkers(this.home)) process.kill(pid, "SIGKILL");
    rmSync(this.folder, { recursive: true, maxRetries: 10, retryDelay: 200 });
  }

  async #stopWork(): Promise<void> {
    const { items } = await this.json<{ items: { id: string; phase: string }[] }>("list");
    const open = items.filter(({ phase }) => !["succeeded", "failed", "cancelled"].includes(phase)).map(({ id }) => id);
    if (open.length > 0) await this.#run(["stop", ...open]);
    await this.until("all workers have ended", async () => (liveWorkers(this.home).length === 0 ? true : null), 15_000);
  }
}

const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word}'`);
