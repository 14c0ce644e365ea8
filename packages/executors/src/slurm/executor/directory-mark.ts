/**
 * The mark of an executor in its shared directory. The key of the records is on this machine, so records of another executor are
 * unreadable here and would count as lost: a directory has one executor. And a shared file system that is not mounted looks like an
 * empty directory, whose attempts must not count as gone.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { randomUUID } from "node:crypto";
import path from "node:path";
import { OperationalError } from "@headroom/platform";
import { isMissing } from "../../job-protocol/attempt-files.ts";

const MARK_FILE = ".headroom-executor";
const MARK_MAX_BYTES = 64 * 1024;
const FIRST_LINE = /^[0-9a-f-]{36}$/;

export class DirectoryMark {
  readonly #directory: string;
  readonly #stateDir: string;

  /** `stateDir`: out of reach of jobs. Its mark names the executor and the shared directories that it has used. */
  constructor(directory: string, stateDir: string) {
    this.#directory = directory;
    this.#stateDir = stateDir;
  }

  /** Throws if the directory belongs to another executor, or held attempts of this one and is empty now. */
  check(): void {
    const [own = "", ...used] = linesOf(this.#stateDir) ?? [];
    const [found] = linesOf(this.#directory) ?? [];
    if (found !== undefined && found !== own) throw this.#belongsToAnother();
    if (found === undefined && used.includes(this.#directory)) throw this.#isNotMounted();
  }

  /** Marks the directory, after `check`. A crash between two steps must not make it look as if it were not mounted. */
  make(): void {
    const known = linesOf(this.#stateDir);
    const [own = randomUUID(), ...used] = known ?? [];
    if (known === null) writeLines(this.#stateDir, [own]);
    if (linesOf(this.#directory) === null) writeLines(this.#directory, [own]);
    if (!used.includes(this.#directory)) writeLines(this.#stateDir, [own, ...used, this.#directory]);
  }

  #belongsToAnother(): OperationalError {
    const message =
      `${this.#directory} belongs to another executor, perhaps of another control plane. ` +
      `Choose another directory. If that executor is gone for good, remove ${path.join(this.#directory, MARK_FILE)} and what is beside it`;
    return new OperationalError("executorUnreachable", message, { retryable: true });
  }

  #isNotMounted(): OperationalError {
    const message = `${this.#directory} holds no attempts of this executor any more: is the file system mounted?`;
    return new OperationalError("executorUnreachable", message, { retryable: true });
  }
}

/** `null`: the directory has no mark. A job may have put anything in its place, so no link is followed and nothing waited for. */
function linesOf(directory: string): readonly string[] | null {
  let file: number;
  try {
    file = openSync(path.join(directory, MARK_FILE), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
  try {
    const stat = fstatSync(file);
    const lines = stat.isFile() && stat.size <= MARK_MAX_BYTES ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
    return FIRST_LINE.test(lines[0] ?? "") ? lines : ["damaged"];
  } finally {
    closeSync(file);
  }
}

function writeLines(directory: string, lines: readonly string[]): void {
  const draft = path.join(directory, `${MARK_FILE}.${randomUUID()}`);
  writeFileSync(draft, `${lines.join("\n")}\n`, { mode: 0o600, flag: "wx", flush: true });
  renameSync(draft, path.join(directory, MARK_FILE));
}
