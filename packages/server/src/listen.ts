/** Opens the address of the API. */
import type { AddressInfo } from "node:net";
import { hostname } from "node:os";
import { OperationalError } from "@headroom/platform";
import type { Api } from "./api/app.ts";

interface ListenPlace {
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
}

interface Listening {
  readonly url: string;
  readonly localUrl: string;
}

export async function listen({ app }: Api, { host, port, isTls }: ListenPlace): Promise<Listening> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const place = `${host}:${port}`;
    if (code === "EADDRINUSE") {
      const advice = "Stop what listens there, or choose another port with --port.";
      throw new OperationalError("portInUse", `${place} is in use by another program. ${advice}`, { cause: error });
    }
    if (code === "EACCES" || code === "EADDRNOTAVAIL" || code === "ENOTFOUND") {
      throw new OperationalError(
        "addressUnusable",
        `Cannot listen on ${place}: ${code}. Choose another --host or --port.`,
        {
          cause: error,
        },
      );
    }
    throw error;
  }
  const address = app.server.address() as AddressInfo;
  const isWildcard = host === "0.0.0.0" || host === "::";
  const urlOf = (name: string): string =>
    `${isTls ? "https" : "http"}://${name.includes(":") ? `[${name}]` : name}:${address.port}`;
  // The machine's own name does not resolve everywhere, for example not in every container.
  return { url: urlOf(isWildcard ? hostname() : host), localUrl: urlOf(isWildcard ? "127.0.0.1" : host) };
}
