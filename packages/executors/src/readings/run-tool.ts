/** Runs a vendor's tool with a time limit and bounded output. A tool that hangs in the driver is not started a second time. */
import { spawn } from "node:child_process";
import { visible } from "./reading.ts";

export type ToolOutput =
  | { readonly kind: "printed"; readonly text: string }
  /** There is no such program. */
  | { readonly kind: "missing" }
  | { readonly kind: "failed"; readonly reason: string };

interface ToolLimits {
  readonly timeoutMs: number;
  readonly outputBytesMax: number;
}

/** A query takes a second at most, the first one after the driver was unloaded some seconds. 1,024 cards print 100 KiB. */
const toolLimits: ToolLimits = { timeoutMs: 10_000, outputBytesMax: 1024 * 1024 };

export class ToolRunner {
  readonly #limits: ToolLimits;
  /** A killed process in the driver may never end; until it does, another one would hang beside it. */
  readonly #running = new Set<string>();

  constructor(limits: ToolLimits = toolLimits) {
    this.#limits = limits;
  }

  /** Resolves within the time limit, also if the process cannot be killed. Never throws. */
  run(command: string, args: readonly string[]): Promise<ToolOutput> {
    if (this.#running.has(command))
      return Promise.resolve({ kind: "failed", reason: `an earlier ${command} still hangs` });
    const { timeoutMs, outputBytesMax } = this.#limits;
    return new Promise((resolve) => {
      // A process group of its own, so that what the tool started ends with it.
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
    // It has just ended.
  }
}
