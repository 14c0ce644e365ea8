/**
 * Inputs that have arrived and are not decided yet, in the order of arrival. The inbox refuses inputs beyond its
 * limits.
 */
import { InvariantError, commandId } from "@headroom/model";
import type { Input, Observation, Reply, Signal } from "@headroom/model";
import { OperationalError } from "@headroom/platform";
import type { CommandRequest } from "./driver.ts";

/** Maximum number of waiting commands: half a second of commands at the promised rate of 8,000 a second. */
export const INBOX_COMMANDS_MAX = 4_096;
/** Maximum number of waiting estimates and checkpoints. The next signal of the same kind replaces a dropped one. */
const INBOX_SIGNALS_MAX = 4_096;
/**
 * Number of waiting facts at which their sources pause; at half of it they resume. Facts are never dropped, because the
 * end of an attempt is reported once.
 */
export const INBOX_FACTS_MAX = 16_384;
const FACTS_RESUME_AT = INBOX_FACTS_MAX / 2;
/**
 * Bound of waiting facts if a source does not pause. Many sources may each have one more fact to report when the inbox
 * is full, so it is far larger. Beyond it the process ends, and the next start compares the journal with the executors,
 * which loses no fact.
 */
export const INBOX_FACTS_BOUND = 16 * INBOX_FACTS_MAX;
/**
 * Maximum number of inputs decided together. One call of `receive` then takes milliseconds, so that the event loop is
 * never blocked for long.
 */
export const BATCH_INPUTS_MAX = 512;

export interface Waiting {
  resolve(reply: Reply): void;
  reject(error: OperationalError): void;
}

interface Entry {
  readonly input: Input;
  readonly isCommand: boolean;
}

export interface Batch {
  readonly inputs: readonly Input[];
  readonly commandCount: number;
}

export class Inbox {
  #entries: Entry[] = [];
  #commandCount = 0;
  #signalCount = 0;
  #factCount = 0;
  /** Resolves when there is space for facts again; `null`: there is space now. */
  #room: PromiseWithResolvers<void> | null = null;
  #lastCommandId = 0;
  /** Callers that wait for an answer, by correlation number. */
  readonly #waiting = new Map<string, Waiting>();
  rejectedCount = 0;
  droppedCount = 0;

  get length(): number {
    return this.#entries.length;
  }

  get commandCount(): number {
    return this.#commandCount;
  }

  addCommand(request: CommandRequest, waiting: Waiting): boolean {
    if (this.#commandCount >= INBOX_COMMANDS_MAX) {
      this.rejectedCount++;
      waiting.reject(overloaded(this.#commandCount));
      return false;
    }
    const id = commandId(String(++this.#lastCommandId));
    this.#waiting.set(id, waiting);
    this.#entries.push({ input: { ...request, commandId: id }, isCommand: true });
    this.#commandCount++;
    return true;
  }

  /**
   * Adds an input; `false`: it was dropped, and the next signal of its kind replaces it. Throws `InvariantError` if the
   * sources of facts did not pause.
   */
  addObserved(input: Observation | Signal): boolean {
    if (isReplaceable(input)) {
      if (this.#signalCount >= INBOX_SIGNALS_MAX) {
        this.droppedCount++;
        return false;
      }
      this.#signalCount++;
    } else {
      if (this.#factCount >= INBOX_FACTS_BOUND)
        throw new InvariantError(`${this.#factCount} facts wait: a source of facts did not pause (now ${input.kind})`);
      if (++this.#factCount >= INBOX_FACTS_MAX) this.#room ??= Promise.withResolvers();
    }
    this.#entries.push({ input, isCommand: false });
    return true;
  }

  /** Resolves when a source of facts may send the next fact; `undefined`: it may send at once. */
  factsHaveRoom(): Promise<void> | undefined {
    return this.#room?.promise;
  }

  take(): Batch {
    const taken = this.#entries.length <= BATCH_INPUTS_MAX ? this.#entries : this.#entries.slice(0, BATCH_INPUTS_MAX);
    this.#entries = taken === this.#entries ? [] : this.#entries.slice(BATCH_INPUTS_MAX);
    let commandCount = 0;
    const inputs = taken.map(({ input, isCommand }) => {
      if (isCommand) commandCount++;
      else if (isReplaceable(input)) this.#signalCount--;
      else this.#factCount--;
      return input;
    });
    this.#commandCount -= commandCount;
    if (this.#factCount <= FACTS_RESUME_AT) this.#makeRoom();
    return { inputs, commandCount };
  }

  answer(reply: Reply): void {
    const waiting = this.#waiting.get(reply.commandId);
    this.#waiting.delete(reply.commandId);
    waiting?.resolve(reply);
  }

  #makeRoom(): void {
    this.#room?.resolve();
    this.#room = null;
  }

  /** Rejects all waiting callers when the driver closes. */
  rejectAll(error: OperationalError): void {
    this.#entries = [];
    this.#commandCount = 0;
    this.#signalCount = 0;
    this.#factCount = 0;
    this.#makeRoom();
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(error);
  }
}

/** Whether the next report of the same kind contains the state of this report again. */
function isReplaceable({ kind }: Input): boolean {
  return kind === "estimatesReported" || kind === "checkpointReported" || kind === "idleChangesReported";
}

function overloaded(waitingCount: number): OperationalError {
  return new OperationalError("overloaded", `${waitingCount} commands are already waiting; try again in a moment.`, {
    retryable: true,
  });
}
