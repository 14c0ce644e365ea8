/** Which addresses a gateway may listen on: what clients and operators send must not be readable on the network. */
import { checkListening } from "@headroom/platform";
import type { GatewayConfig } from "./schema.ts";

/** Throws for an address that is refused. Returns a warning for each one that was accepted against advice. */
export function checkAddresses({ listen, admin, tls, insecure }: GatewayConfig): readonly string[] {
  const warnings = [
    checkListening(
      { host: listen.host, hasTls: tls !== undefined, insecure },
      {
        secret: "each API key",
        risk: "read API keys, prompts and answers",
        remedy: "Give a certificate (`tls` in gateway.yaml), listen on 127.0.0.1 behind a proxy that has one",
      },
    ),
    // The admin address has no TLS of its own.
    admin === undefined
      ? null
      : checkListening(
          { host: admin.host, hasTls: false, insecure },
          {
            secret: "the admin token",
            risk: "read the admin token and create keys",
            remedy: "Put the admin address on 127.0.0.1 behind a proxy that has a certificate",
          },
        ),
  ];
  return warnings.filter((warning) => warning !== null);
}
