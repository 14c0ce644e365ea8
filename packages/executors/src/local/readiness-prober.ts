/**
 * Requests the readiness path of replicas and reports changes. An answer is not trusted: only its status is read, the
 * body is discarded, and every request has a time limit. Each replica has at most one request in flight.
 */
import { request } from "node:http";
import type { AttemptId } from "@headroom/model";
import type { ExecutorInput } from "../executor.ts";

/** Period in ms until the replica is ready for the first time: a client may wait for it. */
const STARTING_PERIOD_MS = 250;
/** Period in ms after that. */
const PERIOD_MS = 1_000;
const TIMEOUT_MS = 5_000;
/** Number of failures in a row after which a replica is not ready. One lost answer must not take a replica out. */
const FAILURES_MAX = 3;

export interface ProbeTarget {
  readonly attemptId: AttemptId;
  readonly port: number;
  readonly path: string;
}

interface Probe {
  readonly target: ProbeTarget;
  /** `null`: not known yet, after a start of the control plane. */
  isReady: boolean | null;
  failureCount: number;
  timer: NodeJS.Timeout | null;
  readonly abort: AbortController;
}

export class ReadinessProber {
  readonly #emit: (input: ExecutorInput) => void;
  readonly #probes = new Map<string, Probe>();

  constructor(emit: (input: ExecutorInput) => void) {
    this.#emit = emit;
  }

  /** Follows a replica until `stop`. A second call for the same name changes nothing. */
  start(name: string, target: ProbeTarget): void {
    if (this.#probes.has(name)) return;
    const probe: Probe = { target, isReady: null, failureCount: 0, timer: null, abort: new AbortController() };
    this.#probes.set(name, probe);
    this.#ask(probe);
  }

  stop(name: string): void {
    const probe = this.#probes.get(name);
    if (probe === undefined) return;
    this.#probes.delete(name);
    if (probe.timer !== null) clearTimeout(probe.timer);
    probe.abort.abort();
  }

  close(): void {
    for (const name of this.#probes.keys()) this.stop(name);
  }

  #ask(probe: Probe): void {
    void statusOf(probe.target, probe.abort.signal).then((answer) => {
      if (probe.abort.signal.aborted) return;
      this.#judge(probe, answer);
      probe.timer = setTimeout(() => this.#ask(probe), probe.isReady === true ? PERIOD_MS : STARTING_PERIOD_MS);
      probe.timer.unref();
    });
  }

  #judge(probe: Probe, answer: number | string): void {
    const { attemptId, port, path } = probe.target;
    if (typeof answer === "number" && answer >= 200 && answer < 400) {
      probe.failureCount = 0;
      if (probe.isReady === true) return;
      probe.isReady = true;
      this.#emit({ kind: "replicaReady", attemptId, address: `127.0.0.1:${port}` });
      return;
    }
    probe.failureCount++;
    if (probe.isReady === false || probe.failureCount < FAILURES_MAX) return;
    probe.isReady = false;
    const what = typeof answer === "number" ? `status ${answer}` : answer;
    this.#emit({ kind: "replicaNotReady", attemptId, detail: `${path} on port ${port}: ${what}` });
  }
}

/** The status of the answer, or why there is none. */
function statusOf({ port, path }: ProbeTarget, abort: AbortSignal): Promise<number | string> {
  const signal = AbortSignal.any([abort, AbortSignal.timeout(TIMEOUT_MS)]);
  return new Promise((resolve) => {
    const asked = request({ host: "127.0.0.1", port, path, agent: false, signal }, (answer) => {
      resolve(answer.statusCode ?? 0);
      answer.destroy();
    });
    asked.on("error", (error) => resolve(signal.aborted ? "no answer in time" : error.message));
    // The answer 101 (Switching Protocols) closes the connection with neither an answer nor an error.
    asked.once("close", () => resolve("it closed the connection without an answer"));
    asked.end();
  });
}
