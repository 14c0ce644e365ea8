/**
 * Digests of files that are being downloaded. A thread reads the bytes up to the first gap while further ones arrive, so that the
 * digest is known when the transfer ends, and the event loop hashes nothing.
 */
import { OperationalError, ThreadCalls, comparePaths, digestOfFiles } from "@headroom/platform";

export type DigestRequest =
  | {
      readonly kind: "read";
      readonly transfer: number;
      readonly file: number;
      readonly path: string;
      /** The file is complete up to this position. */
      readonly to: number;
      /** Size of the file when it is complete. */
      readonly bytes: number;
    }
  | { readonly kind: "end"; readonly transfer: number };

export interface DigestAnswer {
  /** SHA-256 in hexadecimal digits, after the last byte of a file. */
  readonly hex: string | null;
  readonly problem?: string;
}

export interface ArrivingFile {
  /** Path in the content; empty: the content is this one file. */
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
}

type Thread = ThreadCalls<DigestRequest, DigestAnswer>;

/** Bytes that arrive before the thread is called again. */
const STEP_BYTES = 4 * 1024 * 1024;
/** Most bytes of one call, so that a resumed transfer does not keep the others waiting. */
const CALL_BYTES_MAX = 64 * 1024 * 1024;

/** The thread of a cache or of a pull. It starts with the first transfer that has a digest to compare. */
export class DigestThread {
  #thread: Thread | null = null;
  #transfers = 0;

  begin(files: readonly ArrivingFile[], partBytes: number): ArrivingDigests {
    this.#thread ??= this.#start();
    this.#transfers += 1;
    return new ArrivingDigests(this.#thread, this.#transfers, { files, partBytes });
  }

  #start(): Thread {
    const thread: Thread = new ThreadCalls(new URL("./digest-thread.ts", import.meta.url), null);
    thread.unrefIdle();
    // The next transfer gets a new one.
    void thread.ended().then(() => {
      if (this.#thread === thread) this.#thread = null;
    });
    return thread;
  }

  async close(): Promise<void> {
    await this.#thread?.terminate();
  }
}

interface FileProgress {
  /** Position of each part up to which it has bytes, without gaps. */
  readonly positions: number[];
  /** The first part that is not complete. */
  part: number;
  /** Up to where the file has its bytes. */
  ready: number;
  /** Up to where the thread was called. */
  sent: number;
  isCalled: boolean;
  hex: string | null;
}

export class ArrivingDigests {
  readonly #thread: Thread;
  readonly #transfer: number;
  readonly #files: readonly ArrivingFile[];
  readonly #partBytes: number;
  readonly #progress = new Map<number, FileProgress>();
  readonly #calls = new Set<Promise<void>>();
  #problem: string | null = null;
  #isEnded = false;

  constructor(
    thread: Thread,
    transfer: number,
    { files, partBytes }: { readonly files: readonly ArrivingFile[]; readonly partBytes: number },
  ) {
    this.#thread = thread;
    this.#transfer = transfer;
    this.#files = files;
    this.#partBytes = partBytes;
  }

  /** A part has its bytes up to `position` of the file. */
  arrived(file: number, part: number, position: number): void {
    const bytes = this.#files[file]?.bytes ?? 0;
    const progress = this.#of(file);
    if (progress.ready === bytes) return;
    progress.positions[part] = position;
    while (progress.positions[progress.part] === (progress.part + 1) * this.#partBytes) progress.part += 1;
    const to = progress.positions[progress.part] ?? progress.part * this.#partBytes;
    progress.ready = to;
    if (to - progress.sent >= STEP_BYTES || to === bytes) this.#send(file, progress);
  }

  /** The digests of all files, which must have arrived. Rejects at the signal. */
  async files(
    signal: AbortSignal,
  ): Promise<readonly { readonly name: string; readonly hex: string; readonly bytes: number }[]> {
    for (const [file, { bytes }] of this.#files.entries()) if (bytes === 0) this.#send(file, this.#of(file));
    const aborted = Promise.withResolvers<never>();
    aborted.promise.catch(() => {});
    const abort = (): void => aborted.reject(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    try {
      while (this.#calls.size > 0 && !signal.aborted) await Promise.race([Promise.all(this.#calls), aborted.promise]);
      signal.throwIfAborted();
    } finally {
      signal.removeEventListener("abort", abort);
    }
    if (this.#problem !== null)
      throw new OperationalError("unreadableContent", `The digest could not be computed: ${this.#problem}.`, {
        retryable: true,
      });
    return this.#files.map(({ name, bytes }, file) => {
      const hex = this.#progress.get(file)?.hex;
      if (hex === undefined || hex === null) throw new Error(`The digest of file ${file} is not complete.`);
      return { name, hex, bytes };
    });
  }

  /** The digest of the content, as `contentDigest` computes it. */
  async digest(signal: AbortSignal): Promise<string> {
    const files = await this.files(signal);
    return digestOfFiles(files.toSorted((left, right) => comparePaths(left.name, right.name))).digest;
  }

  /** Closes the files. */
  end(): void {
    this.#isEnded = true;
    this.#thread.call({ kind: "end", transfer: this.#transfer }).catch(() => {});
  }

  #of(file: number): FileProgress {
    const known = this.#progress.get(file);
    if (known !== undefined) return known;
    const fresh: FileProgress = { positions: [], part: 0, ready: 0, sent: 0, isCalled: false, hex: null };
    this.#progress.set(file, fresh);
    return fresh;
  }

  /** One call of a file at a time; the answer is followed by the next one. */
  #send(file: number, progress: FileProgress): void {
    if (progress.isCalled || this.#problem !== null) return;
    const { path, bytes } = this.#files[file] as ArrivingFile;
    const to = Math.min(progress.ready, progress.sent + CALL_BYTES_MAX);
    progress.sent = to;
    progress.isCalled = true;
    const call = this.#thread
      .call({ kind: "read", transfer: this.#transfer, file, path, to, bytes })
      .then(({ hex, problem }) => {
        progress.hex = hex;
        if (problem !== undefined) this.#problem ??= problem;
      })
      .catch((error: unknown) => {
        this.#problem ??= error instanceof Error ? error.message : String(error);
      })
      .finally(() => {
        this.#calls.delete(call);
        progress.isCalled = false;
        const isRest = progress.ready === bytes && progress.sent < bytes;
        if (!this.#isEnded && (isRest || progress.ready - progress.sent >= STEP_BYTES)) this.#send(file, progress);
      });
    this.#calls.add(call);
  }
}
