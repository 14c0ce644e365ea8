/** A TCP link whose bytes can get lost: connections stay open, and nothing arrives at either end. */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface CutLink {
  readonly port: number;
  /** True: all bytes are lost, also those of connections that exist. */
  isCut: boolean;
  /** Bytes that were lost so far. */
  readonly lostBytes: number;
  close(): void;
}

export async function cutLink(targetPort: number): Promise<CutLink> {
  const sockets = new Set<Socket>();
  const state = { isCut: false, lostBytes: 0 };
  const forward = (from: Socket, to: Socket): void => {
    sockets.add(from);
    from.on("data", (bytes) => {
      if (state.isCut) state.lostBytes += bytes.length;
      else to.write(bytes);
    });
    from.on("error", () => to.destroy());
    from.on("close", () => {
      sockets.delete(from);
      to.destroy();
    });
  };
  const server = createServer((near) => {
    const far = connect(targetPort, "127.0.0.1");
    forward(near, far);
    forward(far, near);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return Object.assign(state, {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  });
}
