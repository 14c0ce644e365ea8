/**
 * Single requests to endpoints for people who look at them. They go through the gateway like all others: they wake an endpoint without
 * replicas, follow its rollout, and count to the limits of the team.
 */
import { isLoopback } from "@headroom/platform";
import { refuse } from "@headroom/protocol";
import type { GatewayOverview, Trial, TrialRequest } from "@headroom/protocol";
import type { AccessTokens } from "../auth/access-tokens.ts";
import type { GatewayReader } from "./gateway-reader.ts";
import { readCompletion } from "./completion-stream.ts";

/** A first replica starts within the trial, as for other requests. */
const TIMEOUT_MS = 150_000;
const RUNNING_MAX = 8;
const RUNNING_OF_USER_MAX = 2;
/** Time in ms within which a gateway learns of a new token, and time between two attempts until then. */
const TOKEN_KNOWN_MS = 5_000;
const TOKEN_RETRY_MS = 250;
const MESSAGE_CHARS_MAX = 300;
/** A refusal is read to this length: the answer can be that of a model server. */
const REFUSAL_CHARS_MAX = 65_536;

interface TriedEndpoint {
  readonly name: string;
  readonly team: string;
}

interface TrialAsked {
  readonly request: TrialRequest;
  /** Aborted when the reader of the answer has left. */
  readonly gone: AbortSignal;
}

interface Ask {
  readonly url: URL;
  readonly secret: string;
  readonly body: string;
  readonly signal: AbortSignal;
}

export class EndpointTrials {
  readonly #gateway: GatewayReader;
  readonly #tokens: Pick<AccessTokens, "issue">;
  readonly #running = new Map<string, number>();

  constructor(gateway: GatewayReader, tokens: Pick<AccessTokens, "issue">) {
    this.#gateway = gateway;
    this.#tokens = tokens;
  }

  /** Sends the request for the user, and waits for the whole answer. Throws a problem if no gateway gives one. */
  async run(user: string, endpoint: TriedEndpoint, asked: TrialAsked): Promise<Trial> {
    const running = this.#running.get(user) ?? 0;
    const all = [...this.#running.values()].reduce((sum, each) => sum + each, 0);
    if (running >= RUNNING_OF_USER_MAX || all >= RUNNING_MAX)
      throw refuse("tooManyTrials", `${all} trials are running, ${running} of them yours. Wait until one has ended.`);
    this.#running.set(user, running + 1);
    try {
      return await this.#run(user, endpoint, asked);
    } finally {
      const left = (this.#running.get(user) ?? 1) - 1;
      if (left === 0) this.#running.delete(user);
      else this.#running.set(user, left);
    }
  }

  async #run(user: string, { name, team }: TriedEndpoint, { request, gone }: TrialAsked): Promise<Trial> {
    const overview = await this.#gateway.read();
    const model = overview.pools.find((pool) => pool.endpoint === `${team}/${name}`)?.models[0];
    if (model === undefined)
      throw refuse(
        "noGateway",
        `No model of the gateway ${overview.id} has a pool that follows the endpoint ${team}/${name} as its first. Add one to its configuration: pools: [{ name: ${name}, endpoint: ${team}/${name} }].`,
      );
    const path = request.form === "chat" ? "/v1/chat/completions" : "/v1/completions";
    const url = new URL(path, requestAddress(overview, this.#gateway.adminUrl));
    const signal = AbortSignal.any([gone, AbortSignal.timeout(TIMEOUT_MS)]);
    const beganMs = performance.now();
    try {
      const ask = { url, secret: this.#tokens.issue(user, team), body: bodyOf(model, request), signal };
      const response = await answered(ask);
      if (response.status !== 200) throw await refusalOf(response);
      const answer = await readCompletion(response, beganMs);
      return { model, requestId: response.headers.get("x-request-id"), ...answer };
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "gatewayUnavailable") throw error;
      throw refuse(
        "gatewayUnavailable",
        signal.aborted
          ? `The gateway gave no whole answer within ${TIMEOUT_MS / 1000} s.`
          : `The gateway gave no whole answer at ${url.origin}.`,
      );
    }
  }
}

/** A gateway that has not read the new secret yet answers 401, for at most some seconds. */
async function answered({ url, secret, body, signal }: Ask): Promise<Response> {
  const untilMs = performance.now() + TOKEN_KNOWN_MS;
  for (;;) {
    const response = await fetch(url, {
      method: "POST",
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
      body,
      redirect: "error",
      signal,
    });
    if (response.status !== 401 || performance.now() >= untilMs) return response;
    await response.body?.cancel();
    await new Promise((resolve) => setTimeout(resolve, TOKEN_RETRY_MS));
  }
}

function bodyOf(model: string, { prompt, form, maxTokens, temperature }: TrialRequest): string {
  const asked = form === "chat" ? { messages: [{ role: "user", content: prompt }] } : { prompt };
  const stream = { stream: true, stream_options: { include_usage: true } };
  return JSON.stringify({ model, ...asked, max_tokens: maxTokens, temperature, ...stream });
}

/**
 * Where the gateway takes requests. An address that is only good on the gateway's own machine is reached at the name of its admin
 * address. In clear, requests go to this machine only.
 */
function requestAddress({ url }: GatewayOverview, adminUrl: string): URL {
  const admin = new URL(adminUrl);
  const address = url === null || !URL.canParse(url) ? null : new URL(url);
  if (address === null)
    throw refuse("gatewayUnavailable", "The gateway does not say where it takes requests. Update it.");
  const host = address.hostname.replaceAll(/[[\]]/g, "");
  if (isLoopback(host) || host === "0.0.0.0" || host === "::") address.hostname = admin.hostname;
  if (address.protocol === "https:" || isLoopback(address.hostname.replaceAll(/[[\]]/g, ""))) return address;
  throw refuse(
    "gatewayUnavailable",
    `The gateway takes requests at ${address.origin}, without TLS on another machine. Trials are not sent there.`,
  );
}

async function refusalOf(response: Response): Promise<Error> {
  const text = await beginningOf(response).catch(() => "");
  let message = "";
  try {
    const { error } = JSON.parse(text) as { readonly error?: { readonly message?: unknown } };
    message = typeof error?.message === "string" ? error.message.slice(0, MESSAGE_CHARS_MAX) : "";
  } catch {
    // Not the form of a gateway; the status says enough.
  }
  const hint =
    response.status === 401
      ? " Let it accept access tokens (controlPlane.accessTokens) and list the endpoint's team."
      : "";
  return refuse("gatewayUnavailable", `The gateway answered ${response.status}: ${message}${hint}`);
}

async function beginningOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of (body ?? []) as AsyncIterable<Uint8Array>) {
    text += decoder.decode(bytes, { stream: true });
    if (text.length > REFUSAL_CHARS_MAX) break;
  }
  return text;
}
