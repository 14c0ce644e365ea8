/** Which addresses a server may listen on without TLS: those of this machine's loopback, and others only on request. */
import { OperationalError } from "./operational-error.ts";

export interface Listening {
  readonly host: string;
  readonly hasTls: boolean;
  /** Whether the operator accepts that the network can read what travels. */
  readonly insecure: boolean;
}

/** The parts of the messages that differ between servers. */
export interface ExposureWords {
  /** The secret that travels, such as "the token". */
  readonly secret: string;
  /** The damage that others on the network can do then, after "can". */
  readonly risk: string;
  /** How to avoid it, as an imperative. */
  readonly remedy: string;
}

/** Whether a listening address can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.[0-9]{1,3}){3}$/.test(host);
}

/** Throws for an address that is refused. Returns a warning for one that was accepted against advice, else `null`. */
export function checkListening({ host, hasTls, insecure }: Listening, words: ExposureWords): string | null {
  if (hasTls || isLoopback(host)) return null;
  if (insecure)
    return `${host} can be reached from other machines without TLS (--insecure): ${words.secret} travels in clear`;
  throw new OperationalError(
    "insecureBind",
    `${host} can be reached from other machines. Without TLS, others on the network can ${words.risk}. ${words.remedy}, or accept the risk with --insecure.`,
  );
}
