/** Running and finished replays, each on its own thread. Replays are not recorded: a restart drops them. */
import type { Worker } from "node:worker_threads";
import type { JournalAddress } from "@headroom/journal";
import { refuse } from "@headroom/protocol";
import type { Replay } from "@headroom/protocol";
import { startThread } from "@headroom/platform";
import type { ReplayData, ReplayMessage, ReplayRequest } from "./replay-messages.ts";

/** Maximum number of running replays. Each takes a core, and memory for the inputs of a week. */
const RUNNING_MAX = 2;
/** Maximum number of reports kept. */
const KEPT_MAX = 16;

type Without<T> = T extends unknown ? Omit<T, "id"> : never;

interface Item {
  worker: Worker | null;
  state: Without<Replay>;
}

export class ReplayService {
  readonly #journal: JournalAddress;
  readonly #items = new Map<string, Item>();
  #count = 0;

  constructor(journal: JournalAddress) {
    this.#journal = journal;
  }

  /** Starts a replay and returns its id at once; `read` returns progress and result. */
  start(request: ReplayRequest): string {
    const running = [...this.#items.values()].filter(({ worker }) => worker !== null);
    if (running.length >= RUNNING_MAX)
      throw refuse("tooManyReplays", `${RUNNING_MAX} replays are running; cancel one, or wait until it is done.`);
    const id = `replay-${++this.#count}`;
    const data: ReplayData = { ...request, journal: this.#journal };
    const worker = startThread(new URL("./replay-thread.ts", import.meta.url), data);
    const item: Item = { worker, state: { phase: "running", progress: 0 } };
    this.#items.set(id, item);
    this.#forgetOld();
    follow(worker, item);
    return id;
  }

  read(id: string): Replay {
    return { id, ...this.#item(id).state };
  }

  async cancel(id: string): Promise<void> {
    const { worker } = this.#item(id);
    this.#items.delete(id);
    await worker?.terminate();
  }

  async close(): Promise<void> {
    const running = [...this.#items.values()].flatMap(({ worker }) => worker ?? []);
    await Promise.all(running.map((worker) => worker.terminate()));
  }

  #item(id: string): Item {
    const item = this.#items.get(id);
    if (item === undefined)
      throw refuse("unknownReplay", `There is no replay ${id}; it was cancelled or its result has expired.`);
    return item;
  }

  #forgetOld(): void {
    for (const [id, { worker }] of this.#items) {
      if (this.#items.size <= KEPT_MAX) return;
      if (worker === null) this.#items.delete(id);
    }
  }
}

function follow(worker: Worker, item: Item): void {
  worker.on("message", (message: ReplayMessage) => {
    if (message.kind === "progress") item.state = { phase: "running", progress: message.progress };
    else if (message.kind === "done") item.state = { phase: "done", report: message.report };
    else item.state = { phase: "failed", detail: message.detail };
  });
  worker.on("error", (error) => {
    item.state = { phase: "failed", detail: error instanceof Error ? error.message : String(error) };
  });
  worker.once("exit", () => {
    item.worker = null;
    if (item.state.phase === "running") item.state = { phase: "failed", detail: "It was ended before it was done." };
  });
}
