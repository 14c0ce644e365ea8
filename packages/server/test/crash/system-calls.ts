/** Reads strace recordings (`-f -y -xx`): the calls that change files, each with its entry and return. */
import path from "node:path";

interface CallCommon {
  /**
   * Line of the trace at which the call was entered. A call cannot have seen the effect of a call that was entered
   * after it had returned.
   */
  readonly enter: number;
  /** Line of the trace at which the call returned; infinite: its thread was killed inside it (`settleUnreturned`). */
  readonly exit: number;
}

export type SystemCall =
  | (CallCommon & {
      readonly kind: "open";
      readonly path: string;
      readonly descriptor: number;
      readonly flags: ReadonlySet<string>;
    })
  | (CallCommon & {
      readonly kind: "write";
      readonly path: string;
      readonly descriptor: number;
      readonly offset: number | null;
      readonly data: Buffer;
      /**
       * For a call that never returned: the final contents of its file. The call may have happened fully, partly or not
       * at all.
       */
      readonly found: Buffer | null;
    })
  | (CallCommon & { readonly kind: "sync"; readonly path: string })
  | (CallCommon & { readonly kind: "truncate"; readonly path: string; readonly length: number })
  | (CallCommon & { readonly kind: "rename"; readonly path: string; readonly to: string })
  | (CallCommon & { readonly kind: "link"; readonly path: string; readonly to: string })
  /** `special`: a FIFO. Data written to it is on no disk. */
  | (CallCommon & { readonly kind: "unlink" | "mkdir" | "special"; readonly path: string });

/** Calls that must be recorded. A call of this list for which there is no reader below is an error. */
export const tracedCalls = [
  "openat", "open", "creat", "write", "writev", "pwrite64", "pwritev", "pwritev2", "fsync", "fdatasync", "sync_file_range", "ftruncate",
  "truncate", "fallocate", "rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir", "mkdir", "mkdirat", "link", "linkat", "mknod", "mknodat",
  "copy_file_range",
] as const; // prettier-ignore

const STRING = String.raw`"((?:\\x[0-9a-f]{2})*)"`;
const DESCRIPTOR = String.raw`(\d+)<([^>]*)>`;
const patterns = {
  openat: new RegExp(`^AT_FDCWD<([^>]*)>, ${STRING}, ([A-Z_|]+)`),
  mknodat: new RegExp(`^AT_FDCWD<([^>]*)>, ${STRING}, S_IFIFO`),
  write: new RegExp(`^${DESCRIPTOR}, ${STRING}, \\d+$`),
  pwrite64: new RegExp(`^${DESCRIPTOR}, ${STRING}, \\d+, (\\d+)$`),
  writev: new RegExp(`^${DESCRIPTOR}, \\[(.*)\\], \\d+$`, "s"),
  pwritev: new RegExp(`^${DESCRIPTOR}, \\[(.*)\\], \\d+, (\\d+)$`, "s"),
  sync: new RegExp(`^${DESCRIPTOR}$`),
  ftruncate: new RegExp(`^${DESCRIPTOR}, (\\d+)$`),
  rename: new RegExp(`^${STRING}, ${STRING}$`),
  path: new RegExp(`^${STRING}`),
};

function bytesOf(hex: string): Buffer {
  return Buffer.from(hex.replaceAll("\\x", ""), "hex");
}

/** Paths are printed in hex, sockets and pipes are not. */
function pathOf(text: string): string {
  return text.startsWith("\\x") ? bytesOf(text).toString() : text;
}

/** Calls on paths under one of `roots`, and writes to standard output, in the order in which they were entered. */
export function parseTrace(text: string, roots: readonly string[]): SystemCall[] {
  const calls: SystemCall[] = [];
  const unfinished = new Map<string, { readonly enter: number; readonly text: string }>();
  const interesting = roots.map(hexOf);
  const directories = new OpenDirectories();
  text.split("\n").forEach((line, index) => {
    const space = line.indexOf(" ");
    const thread = line.slice(0, space);
    const body = line.slice(space + 1).trimStart();
    if (body.endsWith(" <unfinished ...>")) {
      unfinished.set(thread, { enter: index, text: body.slice(0, -" <unfinished ...>".length) });
      return;
    }
    const begun = body.startsWith("<... ") ? unfinished.get(thread) : undefined;
    const whole = directories.resolve(
      thread,
      begun === undefined ? body : begun.text + body.slice(body.indexOf("resumed>") + "resumed>".length),
    );
    if (begun !== undefined) unfinished.delete(thread);
    const isOutput = whole.startsWith("write(1<");
    if (!isOutput && !interesting.some((root) => whole.includes(root))) return;
    const call = parseCall(whole, { enter: begun?.enter ?? index, exit: index });
    if (call !== null) calls.push(call);
  });
  for (const [thread, { enter, text }] of unfinished) {
    const begun = directories.resolve(thread, text);
    if (!interesting.some((root) => begun.includes(root))) continue;
    const call = parseCall(`${begun}) = ?`, { enter, exit: Number.POSITIVE_INFINITY });
    if (call !== null) calls.push(call);
  }
  return calls.toSorted((a, b) => a.enter - b.enter);
}

const hexOf = (text: string): string =>
  [...Buffer.from(text)].map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");

/**
 * The program reaches files below directories that jobs can write to by `/proc/self/fd/<descriptor>/<name>`. The thread
 * that uses such a path has opened the directory itself, so the result of that call gives the path.
 */
class OpenDirectories {
  readonly #paths = new Map<string, string>();

  /** The call with paths from the root; `thread` made it. */
  resolve(thread: string, call: string): string {
    const resolved = call.replace(THROUGH_DESCRIPTOR, (whole, digits: string) => {
      const found = this.#paths.get(`${thread} ${bytesOf(digits).toString()}`);
      return found === undefined ? whole : `"${found}`;
    });
    const [, descriptor, opened] = OPENED.exec(call) ?? [];
    if (descriptor !== undefined && opened !== undefined) this.#paths.set(`${thread} ${descriptor}`, opened);
    return resolved;
  }
}

const THROUGH_DESCRIPTOR = new RegExp(
  `"${hexOf("/proc/self/fd/").replaceAll("\\", "\\\\")}((?:\\\\x3[0-9])+)(?=\\\\x2f)`,
  "g",
);
/** The result of a call that opens a file: its descriptor and its path in hex. */
const OPENED = /^openat\(.*\)\s+= (\d+)<((?:\\x[0-9a-f]{2})+)>$/s;

/** Parses one call; `null`: the call failed and had no effect. */
function parseCall(whole: string, at: CallCommon): SystemCall | null {
  const shape = /^(?<name>\w+)\((?<args>.*)\)\s+= (?<result>-?\d+|\?)/s.exec(whole)?.groups;
  if (shape === undefined) throw new Error(`not a system call: ${whole.slice(0, 200)}`);
  const { name = "", args = "", result } = shape;
  if (result === "?") return readCall(name, args, Number.NaN, { ...at, exit: Number.POSITIVE_INFINITY });
  return Number(result) < 0 ? null : readCall(name, args, Number(result), at);
}

/** `result` is NaN if the call did not return. */
function readCall(name: string, args: string, result: number, at: CallCommon): SystemCall | null {
  const match = (pattern: RegExp): string[] => {
    const found = pattern.exec(args);
    if (found === null) throw new Error(`${name} with arguments of an unknown shape: ${args.slice(0, 200)}`);
    return found.slice(1).map((part) => part ?? "");
  };
  const write = (
    descriptor: string | undefined,
    file: string,
    data: Buffer,
    offset: string | undefined,
  ): SystemCall => ({
    ...at,
    kind: "write",
    path: pathOf(file),
    descriptor: Number(descriptor),
    offset: offset === undefined ? null : Number(offset),
    data: Number.isNaN(result) ? data : data.subarray(0, result),
    found: null,
  });
  switch (name) {
    case "openat": {
      const [from = "", name = "", flags = ""] = match(patterns.openat);
      const opened = path.resolve(pathOf(from), pathOf(name));
      return { ...at, kind: "open", path: opened, descriptor: result, flags: new Set(flags.split("|")) };
    }
    case "write":
    case "pwrite64": {
      const [descriptor, file = "", data = "", offset] = match(patterns[name]);
      return write(descriptor, file, bytesOf(data), offset);
    }
    case "writev":
    case "pwritev": {
      const [descriptor, file = "", vectors = "", offset] = match(patterns[name]);
      const parts = [...vectors.matchAll(/iov_base="((?:\\x[0-9a-f]{2})*)"/g)].map(([, hex]) => bytesOf(hex ?? ""));
      return write(descriptor, file, Buffer.concat(parts), offset);
    }
    case "fsync":
    case "fdatasync":
      return { ...at, kind: "sync", path: pathOf(match(patterns.sync)[1] ?? "") };
    case "ftruncate": {
      const [, file = "", length] = match(patterns.ftruncate);
      return { ...at, kind: "truncate", path: pathOf(file), length: Number(length) };
    }
    case "rename":
    case "link": {
      const [from = "", to = ""] = match(patterns.rename);
      return { ...at, kind: name, path: pathOf(from), to: pathOf(to) };
    }
    case "mknodat": {
      const [from = "", fifo = ""] = match(patterns.mknodat);
      return { ...at, kind: "special", path: path.resolve(pathOf(from), pathOf(fifo)) };
    }
    case "unlink":
    case "mkdir":
      return { ...at, kind: name, path: pathOf(match(patterns.path)[0] ?? "") };
    default:
      throw new Error(`the trace holds ${name}(${args.slice(0, 100)}), which the model of the disk does not know`);
  }
}
