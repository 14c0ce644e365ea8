/**
 * Scores answers with a command of the operator: it reads `{"request": …, "answer": "…"}` from standard input and prints a number from
 * 0 to 1. The document of an endpoint cannot name a command: it would run on the machine of the gateway.
 */
import { spawn } from "node:child_process";

/** Commands that run at a time: scores of further answers are left out. */
const RUNNING_MAX = 4;
const OUTPUT_BYTES_MAX = 1_024;

export interface ScorerCommand {
  readonly command: readonly string[];
  readonly timeout: number;
}

export class Scorer {
  readonly #log: (line: string) => void;
  readonly #running = new Set<() => void>();
  #hasLogged = false;

  constructor(log: (line: string) => void) {
    this.#log = log;
  }

  /** Scores of several answers to one request; undefined: one has none, or too many commands run. */
  async scores(
    { command, timeout }: ScorerCommand,
    request: string,
    answers: readonly string[],
  ): Promise<readonly number[] | undefined> {
    if (this.#running.size + answers.length > RUNNING_MAX) return undefined;
    const parsed: unknown = JSON.parse(request);
    const scores = await Promise.all(
      answers.map((answer) => this.#run(command, timeout, JSON.stringify({ request: parsed, answer }))),
    );
    const known = scores.flatMap((score) => score ?? []);
    return known.length === answers.length ? known : undefined;
  }

  stop(): void {
    for (const kill of this.#running) kill();
  }

  #run([program, ...args]: readonly string[], timeoutMs: number, input: string): Promise<number | undefined> {
    const environment = Object.fromEntries(["PATH", "HOME", "LANG"].flatMap((name) => entryOf(name)));
    return new Promise((resolve) => {
      const child = spawn(program!, args, { stdio: ["pipe", "pipe", "inherit"], env: environment });
      const kill = (): void => void child.kill("SIGKILL");
      this.#running.add(kill);
      const timer = setTimeout(kill, timeoutMs);
      let output = "";
      let problem = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        output = (output + text).slice(0, OUTPUT_BYTES_MAX);
      });
      child.once("error", ({ message }) => (problem = message));
      child.once("close", (code, signal) => {
        clearTimeout(timer);
        this.#running.delete(kill);
        const score = output.trim() === "" ? Number.NaN : Number(output);
        const isSound = code === 0 && score >= 0 && score <= 1;
        if (!isSound) this.#tell(problem || `it ended with ${signal ?? `code ${code}`} and printed "${output.trim()}"`);
        resolve(isSound ? score : undefined);
      });
      // The command may end without reading its input.
      child.stdin.on("error", () => undefined);
      child.stdin.end(input);
    });
  }

  #tell(problem: string): void {
    if (this.#hasLogged) return;
    this.#hasLogged = true;
    this.#log(`the scorer of copied requests gave no score from 0 to 1: ${problem}`);
  }
}

function entryOf(name: string): readonly (readonly [string, string])[] {
  const value = process.env[name];
  return value === undefined ? [] : [[name, value]];
}
