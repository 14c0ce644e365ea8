/**
 * Commands that run inside workers, by session. A session belongs to the user who started it, has one reader, and ends
 * with its command, its attempt or its reader. Sessions are not recorded: they end with the control plane.
 */
import { randomUUID } from "node:crypto";
import type { ExecSession } from "@headroom/executors";
import { refuse } from "@headroom/protocol";
import type { ExecInput, ExecOutput } from "@headroom/protocol";

/** Sessions at a time: each has a process, and a stream of its own. */
const SESSIONS_MAX = 64;
const SESSIONS_OF_USER_MAX = 16;
/** Time in ms within which the output must be read after the start. */
const UNREAD_MAX_MS = 15_000;
/** Time in ms that one request waits for a command that does not read its input. */
const INPUT_TIMEOUT_MS = 10_000;

interface HeldSession {
  readonly actor: string;
  readonly session: ExecSession;
  /** Ends the session if nobody reads it; `null`: somebody does. */
  unread: NodeJS.Timeout | null;
  isFull: boolean;
  inputEnded: boolean;
}

export class ExecSessions {
  readonly #items = new Map<string, HeldSession>();
  /** Sessions that are being started, by user. */
  readonly #starting = new Map<string, number>();

  /** Starts a session with `start`, which is called only if there is room. Returns its id. */
  async add(actor: string, start: () => Promise<ExecSession>): Promise<string> {
    const starting = [...this.#starting.values()].reduce((sum, count) => sum + count, 0);
    const own = [...this.#items.values()].filter((item) => item.actor === actor).length + this.#startingOf(actor);
    if (this.#items.size + starting >= SESSIONS_MAX || own >= SESSIONS_OF_USER_MAX)
      throw refuse(
        "tooManyStreams",
        `${SESSIONS_MAX} commands may run inside workers at a time, ${SESSIONS_OF_USER_MAX} of one user. End one first.`,
      );
    this.#starting.set(actor, this.#startingOf(actor) + 1);
    try {
      const session = await start();
      const id = randomUUID();
      const unread = setTimeout(() => {
        this.#items.delete(id);
        session.close();
      }, UNREAD_MAX_MS);
      this.#items.set(id, { actor, session, unread, isFull: false, inputEnded: false });
      return id;
    } finally {
      const left = this.#startingOf(actor) - 1;
      if (left === 0) this.#starting.delete(actor);
      else this.#starting.set(actor, left);
    }
  }

  /** The output, then the exit code. The session ends when the reader leaves. */
  output(id: string, actor: string, signal: AbortSignal): AsyncIterable<ExecOutput> {
    const item = this.#item(id, actor);
    if (item.unread === null) throw refuse("unknownExec", `The output of session ${id} is read already.`);
    clearTimeout(item.unread);
    item.unread = null;
    return this.#read(id, item, signal);
  }

  /** Resolves when the command has taken the input. */
  async input(id: string, actor: string, { data, end, size }: ExecInput): Promise<void> {
    const item = this.#item(id, actor);
    const { session } = item;
    if (size !== undefined) session.resize(size);
    if (item.isFull) throw refuse("overloaded", "The command does not read its input. Send it again later.");
    if (data !== undefined && !item.inputEnded) await takenInTime(item, Buffer.from(data, "base64"));
    if (end === true && !item.inputEnded) {
      item.inputEnded = true;
      session.endInput();
    }
  }

  end(id: string, actor: string): void {
    this.#item(id, actor).session.close();
  }

  /** Hangs up every session. */
  close(): void {
    for (const { session, unread } of this.#items.values()) {
      if (unread !== null) clearTimeout(unread);
      session.close();
    }
    this.#items.clear();
  }

  async *#read(id: string, { session }: HeldSession, signal: AbortSignal): AsyncGenerator<ExecOutput> {
    const hangUp = (): void => session.close();
    signal.addEventListener("abort", hangUp, { once: true });
    if (signal.aborted) hangUp();
    try {
      for await (const { stream, data } of session.output())
        yield { stream, data: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64") };
      yield { exitCode: await session.ended };
    } finally {
      signal.removeEventListener("abort", hangUp);
      session.close();
      this.#items.delete(id);
    }
  }

  #startingOf(actor: string): number {
    return this.#starting.get(actor) ?? 0;
  }

  /** Sessions of other users are as unknown as those that never existed. */
  #item(id: string, actor: string): HeldSession {
    const item = this.#items.get(id);
    if (item === undefined || item.actor !== actor)
      throw refuse(
        "unknownExec",
        `There is no session ${id}; its command has ended, or nobody read its output in time.`,
      );
    return item;
  }
}

/** Answers after a while even if the command does not read. Then further input is refused until it has read. */
async function takenInTime(item: HeldSession, data: Uint8Array): Promise<void> {
  item.isFull = true;
  const written = item.session.write(data).finally(() => (item.isFull = false));
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => (timer = setTimeout(resolve, INPUT_TIMEOUT_MS)));
  await Promise.race([written, patience]);
  clearTimeout(timer);
}
