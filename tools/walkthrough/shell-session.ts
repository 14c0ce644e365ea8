/** One shell in which the commands of a page run one after the other, as in the terminal of its reader. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";

const COMMAND_LIMIT_MS = 120_000;

export interface Answer {
  readonly code: number;
  /** Both streams, with the output of programs in the background. */
  readonly output: string;
}

export class ShellSession {
  readonly #shell: ChildProcess;
  #output = "";
  #count = 0;

  /** `enter` is put before the shell, for example to run it in a network of its own. */
  constructor(enter: readonly string[], cwd: string, env: NodeJS.ProcessEnv) {
    const [program, ...args] = [...enter, "bash"];
    this.#shell = spawn(program ?? "bash", args, { cwd, env, stdio: "pipe" });
    for (const stream of [this.#shell.stdout, this.#shell.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.#output += text;
        this.#shell.emit("said");
      });
    this.#shell.stdin?.write("exec 2>&1\n");
  }

  async run(command: string): Promise<Answer> {
    const mark = `--- end of command ${++this.#count}, exit code`;
    this.#output = "";
    this.#shell.stdin?.write(`${command}\nprintf '\\n%s %s\\n' '${mark}' $?\n`);
    const limit = AbortSignal.timeout(COMMAND_LIMIT_MS);
    for (;;) {
      const at = this.#output.indexOf(`\n${mark} `);
      const code = at < 0 ? null : /^\d+(?=\n)/.exec(this.#output.slice(at + mark.length + 2));
      if (code !== null) return { code: Number(code[0]), output: this.#output.slice(0, at) };
      if (this.#shell.exitCode !== null) throw new Error(`the shell ended: ${this.#output}`);
      await once(this.#shell, "said", { signal: limit });
    }
  }

  async close(): Promise<void> {
    const ended = once(this.#shell, "exit");
    this.#shell.kill("SIGKILL");
    await ended;
  }
}
