/**
 * Sends fuzzed requests to a control plane and summarises the answers: first all requests without the token, then those
 * with it.
 */
import { connect } from "node:net";
import { fuzzedRequest } from "./fuzzed-requests.ts";
import type { FuzzedRequest } from "./fuzzed-requests.ts";
import type { LiveControlPlane } from "./live-control-plane.ts";

export interface FuzzReport {
  /** Number of answers by status; 0: the connection was closed without an answer. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Requests that were answered with a server error. */
  readonly failures: readonly string[];
  /** Requests without the token that got the answer of an authenticated request. */
  readonly admitted: readonly string[];
  /** Number of events caused by requests without the token. */
  readonly eventsWithoutToken: number;
}

/** Number of concurrent connections. */
const LANES = 16;

export async function sendFuzzedRequests(live: LiveControlPlane, seed: number, count: number): Promise<FuzzReport> {
  const statuses = new Map<number, number>();
  const failures: string[] = [];
  const admitted: string[] = [];
  const send = async (number: number, request: FuzzedRequest): Promise<void> => {
    const head = await headOfAnswer(live.url, request.bytes);
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    const told = `seed ${seed}, request ${number}: ${status} ${request.line.slice(0, 200)}`;
    // Status 503 means that the server was overloaded.
    if (status >= 500 && status !== 503) failures.push(told);
    // A GET of any address without an operation is answered with the console's page.
    const isOpen = status >= 400 || status === 0 || /^content-type: text\/html/im.test(head);
    if (!request.hasToken && !isOpen) admitted.push(told);
  };
  const pass = async (hasToken: boolean): Promise<void> => {
    const requests = Array.from({ length: count }, (_, number) => number)
      .map((number) => [number, fuzzedRequest(seed, number, live.url, live.token ?? "")] as const)
      .filter(([, request]) => request.hasToken === hasToken);
    const lane = async (): Promise<void> => {
      for (let next = requests.pop(); next !== undefined; next = requests.pop()) await send(...next);
    };
    await Promise.all(Array.from({ length: LANES }, lane));
  };
  const { sequence } = live.driver.status();
  await pass(false);
  const eventsWithoutToken = live.driver.status().sequence - sequence;
  await pass(true);
  return { statuses, failures, admitted, eventsWithoutToken };
}

/** The head of the final answer; empty if the connection was closed without one. Does not wait for the body. */
function headOfAnswer(url: string, bytes: Buffer): Promise<string> {
  const { hostname, port } = new URL(url);
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = connect(Number(port), hostname);
  let text = "";
  socket.setEncoding("latin1");
  socket.on("data", (piece) => {
    text = (text + String(piece)).replace(/^HTTP\/1\.1 100 Continue\r\n\r\n/, "");
    if (text.includes("\r\n\r\n")) socket.destroy();
  });
  socket.on("error", () => socket.destroy());
  socket.on("close", () => resolve(text.split("\r\n\r\n", 1)[0] ?? ""));
  // The client ends its side of the connection, so that a body shorter than announced ends the request.
  socket.end(bytes);
  return promise;
}
