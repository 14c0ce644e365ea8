/** Which addresses a control plane may listen on. An address that other machines reach needs authentication and TLS. */
import { OperationalError } from "@headroom/platform";
import type { TlsFiles } from "@headroom/platform";
import { isLoopback } from "./gate.ts";

export interface Exposure {
  readonly host?: string;
  readonly auth?: "token" | "off";
  readonly tls?: TlsFiles | null;
  readonly insecure?: boolean;
}

/** Throws for an address that is refused. Returns a warning for one that was accepted against advice, else `null`. */
export function checkExposure({ host = "127.0.0.1", auth = "token", tls, insecure }: Exposure): string | null {
  if (isLoopback(host)) return null;
  if (auth === "off")
    throw new OperationalError(
      "authOffExposed",
      `Without authentication the control plane listens on this machine only, and ${host} can be reached from others: whoever reaches it could run anything. Leave authentication on, or listen on 127.0.0.1.`,
    );
  if (tls != null) return null;
  if (insecure === true)
    return `${host} can be reached from other machines without TLS (--insecure): the token travels in clear`;
  throw new OperationalError(
    "insecureBind",
    `${host} can be reached from other machines. Without TLS, others on the network can read the token and run anything. Give a certificate (--tls-certificate and --tls-key), listen on 127.0.0.1 behind a proxy that has one, or accept the risk with --insecure.`,
  );
}
