/**
 * Answers what-if questions: in the browser, on a state fetched once for several questions, or by the control plane if
 * the browser cannot. In the demo the control plane runs in the browser.
 */
import { createWorkerClient, ProblemError } from "@headroom/protocol";
import type { HeadroomClient, Snapshot, WhatIfAnswer, WhatIfQuestionInput } from "@headroom/protocol";
import { memoryText } from "@headroom/views";
import type { Session } from "../../connect/session.ts";
import type { PresentMessage } from "../../workers/present-worker.ts";

/**
 * Maximum size in bytes of a fetched state. Every question restores the state and simulates it twice. With a larger
 * state this takes seconds and hundreds of MiB.
 */
const STATE_BYTES_MAX = 64 * 1_048_576;
/** Time in ms for which a fetched state is reused, so that a following question is answered quickly. */
const STATE_KEPT_MS = 30_000;

export interface PlacedAnswer {
  readonly answer: WhatIfAnswer;
  /** Reason why the control plane computed the answer; `null`: this browser computed it. */
  readonly elsewhere: string | null;
}

interface Taken {
  readonly sequence: number;
  readonly atMs: number;
  readonly client: HeadroomClient;
}

export class WhatIfService {
  readonly #session: Session;
  #worker: Worker | null = null;
  #broken = Promise.withResolvers<never>();
  #taken: Taken | null = null;
  #elsewhere: string | null = null;

  constructor(session: Session) {
    this.#session = session;
  }

  async ask(question: WhatIfQuestionInput): Promise<PlacedAnswer> {
    const { client, demo } = this.#session;
    if (demo !== null) return { answer: await client.whatIf(question), elsewhere: null };
    const present = this.#elsewhere === null ? await this.#present() : null;
    const answer = present === null ? null : await this.#played(present, question);
    if (answer !== null) return { answer, elsewhere: null };
    return { answer: await client.whatIf(question), elsewhere: this.#elsewhere };
  }

  close(): void {
    this.#worker?.terminate();
    this.#worker = null;
    this.#taken = null;
  }

  /** The fetched state; `null`: it is too large to fetch. */
  async #present(): Promise<Taken | null> {
    if (this.#taken !== null && this.#isRecent(this.#taken)) return this.#taken;
    try {
      const snapshot = await this.#session.client.snapshot({ maxBytes: STATE_BYTES_MAX });
      this.#taken = this.#handOver(snapshot);
    } catch (error) {
      if (!(error instanceof ProblemError && error.code === "snapshotTooLarge")) throw error;
      const bytes = Number(error.problem.facts?.["bytes"] ?? STATE_BYTES_MAX);
      this.#elsewhere = `its state (${mibText(bytes)}) is more than a browser is given (${mibText(STATE_BYTES_MAX)})`;
      return null;
    }
    return this.#taken;
  }

  #isRecent({ sequence, atMs }: Taken): boolean {
    const { phase, lastSequence } = this.#session.feed.state;
    return (phase === "live" && lastSequence === sequence) || performance.now() - atMs < STATE_KEPT_MS;
  }

  #handOver(snapshot: Snapshot): Taken {
    const { port1, port2 } = new MessageChannel();
    const message: PresentMessage = { snapshot, calls: port2 };
    this.#running().postMessage(message, [port2, snapshot.bytes.buffer as ArrayBuffer]);
    return { sequence: snapshot.sequence, atMs: performance.now(), client: createWorkerClient(port1) };
  }

  #running(): Worker {
    if (this.#worker !== null) return this.#worker;
    const worker = new Worker(new URL("../../workers/present-worker.ts", import.meta.url), { type: "module" });
    const broken = Promise.withResolvers<never>();
    // No caller need be waiting when the worker fails, so the failure is handled here.
    broken.promise.catch(() => undefined);
    worker.addEventListener("error", ({ message }) => broken.reject(new Error(message)));
    this.#broken = broken;
    this.#worker = worker;
    return worker;
  }

  /**
   * The answer of the worker; `null`: the worker failed. A question that the worker refuses would also be refused by
   * the control plane.
   */
  async #played({ client }: Taken, question: WhatIfQuestionInput): Promise<WhatIfAnswer | null> {
    try {
      return await Promise.race([client.whatIf(question), this.#broken.promise]);
    } catch (error) {
      if (error instanceof ProblemError && error.code !== "internal") throw error;
      this.#elsewhere = `this browser could not (${error instanceof Error ? error.message : String(error)})`;
      this.close();
      return null;
    }
  }
}

const mibText = (bytes: number): string => memoryText(Math.ceil(bytes / 1_048_576));
