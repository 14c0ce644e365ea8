// The server's interface to the engine process: starts it, restarts it when it dies, and converts messages to events.
import { fork } from "node:child_process";
import { join } from "node:path";
const RESTART_MS = [0, 500, 1_000, 5_000, 30_000]; // delay before each restart after a failure

const STARTS_MAX = 4; // maximum number of failures of an engine that was never ready: its model does not load

export class EngineClient {
  isReady = false;
  /** The engine's description of itself: `{ name, context, vocabulary, pid }`. */
  about;
  #listeners = new Map(); // request id → listener
  #process;
  #failures = 0;
  #lastId = 0;
  #isClosed = false;

  constructor({ engine, modelPath, slots, onStats, onState }) {
    Object.assign(this, { engine, modelPath, slots, onStats, onState });
    this.#start();
  }

  get inflight() {
    return this.#listeners.size;
  }

  #start() {
    const args = [this.engine, this.modelPath, String(this.slots)];
    const child = fork(join(import.meta.dirname, "engine-process.mjs"), args, { serialization: "advanced" });
    this.#process = child;
    child.on("message", (messages) => messages.forEach((message) => this.#receive(message)));
    child.on("error", () => {}); // `exit` follows
    child.on("exit", (code, signal) => this.#ended(signal ?? `exit code ${code}`));
  }

  #receive({ kind, id, ...rest }) {
    if (kind === "ready") {
      [this.isReady, this.about, this.#failures] = [true, rest, 0];
      return this.onState("ready");
    }
    if (kind === "stats") return this.onStats(rest.stats);
    const listener = this.#listeners.get(id);
    if (kind === "done" || kind === "failed") this.#listeners.delete(id);
    listener?.({ kind, ...rest });
  }

  #ended(reason) {
    this.isReady = false;
    const message = `the engine's process ended (${reason})`;
    for (const [id, listener] of this.#listeners) {
      this.#listeners.delete(id);
      listener({ kind: "failed", code: "engine_died", message });
    }
    if (this.#isClosed) return;
    this.onState(message);
    if (this.about === undefined && this.#failures + 1 >= STARTS_MAX) return this.onState("failed");
    const delay = RESTART_MS[Math.min(this.#failures++, RESTART_MS.length - 1)];
    setTimeout(() => this.#isClosed || this.#start(), delay).unref();
  }

  /**
   * Submits a request. `listener` gets its events; the last one is `done` or `failed`. Returns a function that cancels
   * the request.
   */
  submit(request, listener) {
    const id = ++this.#lastId;
    this.#listeners.set(id, listener);
    if (this.isReady) this.#process.send({ kind: "submit", id, request });
    else this.#receive({ kind: "failed", id, code: "engine_died", message: "the engine is starting" });
    return () => this.#listeners.has(id) && this.#process.connected && this.#process.send({ kind: "cancel", id });
  }

  close() {
    this.#isClosed = true;
    this.#process.kill("SIGKILL"); // the engine process keeps no durable state
  }
}
