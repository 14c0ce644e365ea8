/**
 * Removes directories that jobs have written to. rm(1) follows no link below them and does not leave their file system,
 * also while names are exchanged; it manages trees that are deeper than the longest path. Its own process keeps a tree
 * of millions of files off the event loop. One process removes all directories that wait.
 */
import { spawn } from "node:child_process";

/** Directories that one process removes: its arguments stay far below the limit of the system (execve(2), 128 KiB). */
const BATCH_MAX = 64;
/** Time in ms after which a removal is given up until the next start: a file system that hangs must not hold others up. */
const REMOVE_TIMEOUT_MS = 10 * 60_000;

/** Maximum length of the part of a tool's output that a message quotes. A tree can have a million bad names. */
const SAID_MAX = 300;

interface Waiting {
  readonly paths: readonly string[];
  readonly done: (problem: string | null) => void;
}

export class TreeRemover {
  readonly #waiting: Waiting[] = [];
  #running: Promise<void> | null = null;

  /** Resolves when the directories are removed. A directory that does not exist counts as removed. */
  async remove(paths: readonly string[]): Promise<void> {
    if (paths.length === 0) return;
    const problem = await new Promise<string | null>((done) => {
      this.#waiting.push({ paths, done });
      this.#running ??= this.#run().finally(() => (this.#running = null));
    });
    if (problem !== null) throw new Error(problem);
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH_MAX);
      const paths = batch.flatMap((each) => each.paths);
      let problem = await runTool("rm", ["-rf", "--one-file-system", "--", ...paths]);
      // A job may have taken its own permissions on a directory away. They do not stop root, and chmod as root could be led through a
      // link that a job of another user puts in the place of a directory meanwhile.
      if (problem !== null && process.getuid?.() !== 0) {
        await runTool("chmod", ["-R", "u+rwX", "--", ...paths]);
        problem = await runTool("rm", ["-rf", "--one-file-system", "--", ...paths]);
      }
      for (const { done } of batch) done(problem);
    }
  }
}

/** The output of the tool if it fails; `null`: it succeeded. */
function runTool(tool: string, args: readonly string[]): Promise<string | null> {
  return new Promise((resolve) => {
    const child = spawn(tool, args, { stdio: ["ignore", "ignore", "pipe"], timeout: REMOVE_TIMEOUT_MS });
    let said = "";
    child.stderr.on("data", (chunk: Buffer) => (said = (said + chunk.toString("utf8")).slice(0, SAID_MAX)));
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) =>
      resolve(code === 0 ? null : said.trim() || `${tool} ended with ${signal ?? `exit code ${String(code)}`}`),
    );
  });
}
