/**
 * Reports the load of followed endpoints to the control plane, which scales them by it. A report is the state at an
 * instant with counters from the start of the gateway, so that a lost report loses nothing. A report that is refused or
 * lost never delays requests.
 */
import type { MeasuredTimes } from "@headroom/routing";
import { secretOf, type SecretSource } from "../config/secrets.ts";
import type { LatencyFigures } from "./recent-latencies.ts";
import type { RolloutCounters } from "./rollout-split.ts";

/** Version of the report, which the control plane checks. */
const VERSION = 1;
const TIMEOUT_MS = 5_000;
/** A load that did not change is repeated after this time, so that the control plane knows that the gateway lives. */
const REPEAT_MS = 5_000;
/** Time without reports after the control plane refused one. */
const REFUSED_MS = 30_000;
/** Time without the fields of reports that a control plane of an earlier release refused. */
const EARLIER_FORM_MS = 600_000;

/** Requests that left the endpoint or stayed although it was saturated, by reason, since the start of the gateway. */
export interface OverflowLoad {
  readonly left: Readonly<Record<string, number>>;
  readonly stayed: Readonly<Record<string, number>>;
  /** Requests that left, by pool. */
  readonly targets: Readonly<Record<string, number>>;
  readonly nanoUsd: number;
  /** Spent of the budget in its period, as this gateway knows; `null`: there is no budget. */
  readonly spentNanoUsd: number | null;
}

/** Tokens since the start of the gateway. */
export interface TokenLoad {
  readonly prompt: number;
  readonly output: number;
  readonly ended: number;
  /** Time to the first token for each prompt token that a tenth of the recent requests did not exceed; `null`: no request. */
  readonly promptTokenMs: number | null;
}

export interface ReplicaLoad {
  readonly address: string;
  readonly requests: number;
  /** As its requests measured; absent: too few were. */
  readonly times?: MeasuredTimes;
}

export interface GatewayLoad {
  readonly requests: number;
  readonly running: number;
  readonly held: number;
  readonly idleMs: number;
  readonly queued: number | null;
  readonly kvUsage: number | null;
  readonly ttft: LatencyFigures | null;
  readonly tpot: LatencyFigures | null;
  /** Absent: no rollout is in progress. */
  readonly rollout?: RolloutCounters;
  /** Absent: the control plane lists no overflow of the endpoint. */
  readonly overflow?: OverflowLoad;
  readonly tokens: TokenLoad;
  readonly replicas: readonly ReplicaLoad[];
}

export interface ReportedEndpoint {
  readonly workloadId: string;
  readonly isAutoscaled: boolean;
  readonly pools: readonly string[];
}

interface ReporterSetup {
  readonly url: string;
  readonly token: SecretSource;
  readonly gateway: string;
  readonly startedAtMs: number;
  readonly signal: AbortSignal;
  load(pools: readonly string[]): GatewayLoad;
  log(line: string): void;
}

export class LoadReporter {
  readonly #setup: ReporterSetup;
  /** The last report of each endpoint, and when it was sent. */
  readonly #sent = new Map<string, { readonly key: string; readonly atMs: number }>();
  readonly #refusedUntilMs = new Map<string, number>();
  /** Endpoints whose refusal was logged. */
  readonly #refusalLogged = new Set<string>();
  /** The form that an earlier release took last, and the time until which only it is sent. */
  readonly #earlierForms = new Map<string, { readonly form: number; readonly untilMs: number }>();

  constructor(setup: ReporterSetup) {
    this.#setup = setup;
  }

  async report(endpoints: readonly ReportedEndpoint[]): Promise<void> {
    const present = new Set(endpoints.map(({ workloadId }) => workloadId));
    for (const known of [this.#sent, this.#refusedUntilMs, this.#earlierForms])
      for (const id of known.keys()) if (!present.has(id)) known.delete(id);
    await Promise.all(endpoints.map((endpoint) => this.#reportOne(endpoint)));
  }

  async #reportOne({ workloadId, isAutoscaled, pools }: ReportedEndpoint): Promise<void> {
    const nowMs = performance.now();
    if (nowMs < (this.#refusedUntilMs.get(workloadId) ?? 0)) return;
    const { gateway, startedAtMs } = this.#setup;
    const load = this.#setup.load(pools);
    const { tokens, replicas, ...others } = load;
    const counts = replicas.map(({ address, requests }) => ({ address, requests }));
    // Measured times change a little with each request; an idle endpoint has no other news.
    const { idleMs: _idle, ...compared } = others;
    const key = JSON.stringify({ ...compared, tokens, counts });
    const sent = this.#sent.get(workloadId);
    if (sent !== undefined && sent.key === key && nowMs - sent.atMs < REPEAT_MS) return;
    const report = { version: VERSION, gateway, startedAtMs, ...withoutTargets(others), replicas: counts };
    // Releases before the targets of overflows, the measured times and the tokens refuse fields that they do not know.
    const timed = { ...report, tokens, replicas };
    // Always as many: the form that was taken is remembered by its place.
    const full = others.overflow === undefined ? null : { ...timed, ...others };
    const forms = [full, timed, { ...report, tokens }, report];
    const status = await this.#putFirstTaken(workloadId, forms, nowMs);
    if (status === 200) {
      this.#sent.set(workloadId, { key, atMs: nowMs });
      this.#refusalLogged.delete(workloadId);
    } else if (status >= 400 && status < 500) {
      this.#refusedUntilMs.set(workloadId, nowMs + REFUSED_MS);
      if (isAutoscaled && !this.#refusalLogged.has(workloadId)) this.#setup.log(refusalText(workloadId, status));
      this.#refusalLogged.add(workloadId);
    }
  }

  /** Returns the status of the first form that is not refused as malformed, or of the last one. */
  async #putFirstTaken(workloadId: string, forms: readonly (object | null)[], nowMs: number): Promise<number> {
    const earlier = this.#earlierForms.get(workloadId);
    const first = earlier !== undefined && nowMs < earlier.untilMs ? earlier.form : 0;
    let [status, isRefused] = [400, false];
    for (let form = first; form < forms.length && status === 400; form++) {
      const body = forms[form];
      if (body === undefined || body === null) continue;
      status = await this.#put(workloadId, body);
      isRefused ||= status === 400;
      if (status === 200 && isRefused) this.#earlierForms.set(workloadId, { form, untilMs: nowMs + EARLIER_FORM_MS });
    }
    return status;
  }

  /** Returns the status, or 0 without an answer: the list of endpoints tells that the control plane is away. */
  async #put(workloadId: string, body: object): Promise<number> {
    const { url, token, signal } = this.#setup;
    try {
      const response = await fetch(new URL(`/v1/endpoints/${encodeURIComponent(workloadId)}/load`, url), {
        method: "PUT",
        headers: { authorization: `Bearer ${secretOf(token)}`, "content-type": "application/json" },
        body: JSON.stringify(body),
        redirect: "error",
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
      await response.body?.cancel();
      return response.status;
    } catch {
      return 0;
    }
  }
}

function withoutTargets<Load extends Pick<GatewayLoad, "overflow">>(load: Load): Load {
  if (load.overflow === undefined) return load;
  const { targets: _targets, ...overflow } = load.overflow;
  return { ...load, overflow };
}

const refusalText = (workloadId: string, status: number): string =>
  `the control plane refuses the load of endpoint ${workloadId} (status ${status}), so its replicas do not follow traffic${status === 401 || status === 403 ? ": give the gateway a token with role operator on the team" : ""}`;
