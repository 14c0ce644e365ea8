/** Which addresses a control plane may listen on. An address that other machines reach needs authentication and TLS. */
import { checkListening, isLoopback, OperationalError } from "@headroom/platform";
import type { TlsFiles } from "@headroom/platform";

export interface Exposure {
  readonly host?: string;
  readonly auth?: "token" | "off";
  readonly tls?: TlsFiles | null;
  readonly insecure?: boolean;
}

/** Throws for an address that is refused. Returns a warning for one that was accepted against advice, else `null`. */
export function checkExposure({ host = "127.0.0.1", auth = "token", tls, insecure }: Exposure): string | null {
  if (auth === "off" && !isLoopback(host))
    throw new OperationalError(
      "authOffExposed",
      `Without authentication the control plane listens on this machine only, and ${host} can be reached from others: whoever reaches it could run anything. Leave authentication on, or listen on 127.0.0.1.`,
    );
  return checkListening(
    { host, hasTls: tls != null, insecure: insecure === true },
    {
      secret: "the token",
      risk: "read the token and run anything",
      remedy: "Give a certificate (--tls-certificate and --tls-key), listen on 127.0.0.1 behind a proxy that has one",
    },
  );
}
