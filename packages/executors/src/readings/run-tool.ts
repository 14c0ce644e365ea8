/**
 * Runs a vendor's tool with a time limit and limited output. While a tool hangs in the driver, it is not started a
 * second time.
 */
import { spawn } from "node:child_process";
import { visible } from "./reading.ts";

export type ToolOutput =
  | { readonly kind: "printed"; readonly text: string }
  /** The tool does not exist on this machine. */
  | { readonly kind: "missing" }
  | { readonly kind: "failed"; readonly reason: string };

interface ToolLimits {
  readonly timeoutMs: number;
  readonly outputBytesMax: number;
}

/**
 * Limits of a tool's run. A query takes a second at most, or some seconds if the driver was unloaded. 1,024 cards print
 * 100 KiB.
 */
const toolLimits: ToolLimits = { timeoutMs: 10_000, outputBytesMax: 1024 * 1024 };

export class ToolRunner {
  readonly #limits: ToolLimits;
  /** A process that was killed in the driver may never end. While it exists, another one would also hang. */
  readonly #running = new Set<string>();

  constructor(limits: ToolLimits = toolLimits) {
    this.#limits = limits;
  }

  /** Resolves within the time limit, even if the process cannot be killed. Never throws. */
  run(command: string, args: readonly string[]): Promise<ToolOutput> {
    if (this.#running.has(command))
      return Promise.resolve({ kind: "failed", reason: `an earlier ${command} still hangs` });
    const { timeoutMs, outputBytesMax } = this.#limits;
    return new Promise((resolve) => {
      // The tool gets a separate process group, so that processes that it has started end with it.
      const child = spawn(command, args, {
        detached: true,
        stdio: ["ignore", "pipe", "pipe"],
        env: { PATH: process.env["PATH"], LC_ALL: "C" },
      });
      this.#running.add(command);
      const pieces: Buffer[] = [];
      let size = 0;
      let complaint = "";
      const settle = (output: ToolOutput): void => {
        clearTimeout(timer);
        resolve(output);
      };
      const abandon = (reason: string): void => {
        endGroup(child.pid);
        child.stdout.destroy();
        child.stderr.destroy();
        settle({ kind: "failed", reason });
      };
      const timer = setTimeout(() => abandon(`it did not answer within ${timeoutMs / 1000} s`), timeoutMs);
      child.stdout.on("data", (piece: Buffer) => {
        size += piece.length;
        if (size > outputBytesMax) abandon(`it printed more than ${outputBytesMax} bytes`);
        else pieces.push(piece);
      });
      child.stderr.on("data", (piece: Buffer) => {
        if (complaint.length < 1024) complaint += piece.toString("utf8");
      });
      child.once("exit", () => this.#running.delete(command));
      child.once("error", (error: NodeJS.ErrnoException) => {
        this.#running.delete(command);
        settle(error.code === "ENOENT" ? { kind: "missing" } : { kind: "failed", reason: visible(error.message) });
      });
      child.once("close", (code, signal) => {
        const text = Buffer.concat(pieces).toString("utf8");
        if (code === 0) return settle({ kind: "printed", text });
        const why = visible(complaint) || visible(text);
        const how = signal === null ? `it exited with ${code}` : `it was ended by ${signal}`;
        return settle({ kind: "failed", reason: why === "" ? how : `${how}: ${why}` });
      });
    });
  }
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The process has just ended.
  }
}
