/**
 * The smallest possible proxy. It copies bytes between each client and its own upstream connection, and parses none of
 * them. Its latency is the time that the machine takes to wake a second process for a request and again for the reply.
 * Every real proxy adds the time to read HTTP.
 */
import { Buffer } from "node:buffer";
import type { Connection, Handlers, Sockets } from "../sockets/sockets.ts";

export interface RelayOptions {
  readonly port: number;
  readonly upstreamPort: number;
}

const copies: Pick<Handlers, "received" | "closed"> = {
  received: ({ state }, bytes) => (state as Connection).write(Buffer.from(bytes)),
  closed: ({ state }) => (state as Connection).close(),
};

export function startRelay(sockets: Sockets, { port, upstreamPort }: RelayOptions): Promise<number> {
  const upstreamHandlers: Handlers = { opened: () => undefined, ...copies };
  return sockets.listen(port, {
    opened(client) {
      const upstream = sockets.connect(upstreamPort, upstreamHandlers);
      client.state = upstream;
      upstream.state = client;
    },
    ...copies,
  });
}
