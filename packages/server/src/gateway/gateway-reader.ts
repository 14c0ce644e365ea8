/**
 * Reads the page of an inference gateway from its admin address, for the console. The gateway is another process, so its
 * answer is bounded in bytes and time and checked; however many consoles ask, one request is made in two seconds.
 */
import { readFile } from "node:fs/promises";
import { isLoopback, OperationalError } from "@headroom/platform";
import { gatewayOverview, refuse } from "@headroom/protocol";
import type { GatewayOverview } from "@headroom/protocol";

export interface GatewayAddress {
  /** URL of the gateway's admin address, such as `http://127.0.0.1:8081`. */
  readonly admin: string;
  /** File with the admin token. It is read again for each request. */
  readonly tokenFile: string;
}

const TIMEOUT_MS = 5_000;
const BYTES_MAX = 2 * 1024 * 1024;
const KEPT_MS = 2_000;
const TOKEN_CHARS_MAX = 4_096;

/** Throws for an address that is no URL, or to which the token would travel in clear over the network. */
export function checkGatewayAddress({ admin }: GatewayAddress, insecure: boolean): void {
  const url = URL.canParse(admin) ? new URL(admin) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new OperationalError(
      "gatewayAddress",
      `${admin} is no address of a gateway. Give a URL such as http://127.0.0.1:8081.`,
    );
  if (url.protocol === "https:" || isLoopback(url.hostname.replaceAll(/[[\]]/g, "")) || insecure) return;
  throw new OperationalError(
    "gatewayAddress",
    `${admin} is on another machine, and the gateway's admin token would travel there in clear. Use https:// through a proxy, a tunnel to 127.0.0.1, or accept the risk with --insecure.`,
  );
}

export class GatewayReader {
  readonly #address: GatewayAddress | null;
  #kept: { readonly answer: Promise<GatewayOverview>; readonly atMs: number } | null = null;

  constructor(address: GatewayAddress | null) {
    this.#address = address;
  }

  get isConfigured(): boolean {
    return this.#address !== null;
  }

  /** Where the gateway is administered. Throws if none is configured. */
  get adminUrl(): string {
    return this.#configured().admin;
  }

  /** A failed read is kept as long as another, so that a gateway that is down costs no more. */
  read(): Promise<GatewayOverview> {
    const address = this.#configured();
    const nowMs = performance.now();
    if (this.#kept === null || nowMs - this.#kept.atMs >= KEPT_MS) {
      this.#kept = { answer: overviewAt(address), atMs: nowMs };
    }
    return this.#kept.answer;
  }

  #configured(): GatewayAddress {
    if (this.#address !== null) return this.#address;
    throw refuse("noGateway", "No gateway is configured. Start with --gateway URL and --gateway-token FILE.");
  }
}

async function overviewAt({ admin, tokenFile }: GatewayAddress): Promise<GatewayOverview> {
  const token = await readFile(tokenFile, "utf8").then(
    (text) => text.trim().slice(0, TOKEN_CHARS_MAX),
    () => {
      throw refuse("gatewayUnavailable", "The file with the gateway's admin token cannot be read.");
    },
  );
  let response: Response;
  let text: string;
  try {
    response = await fetch(new URL("/v1/overview", admin), {
      headers: { authorization: `Bearer ${token}` },
      redirect: "error",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    text = await boundedText(response);
  } catch {
    throw refuse("gatewayUnavailable", `The gateway does not answer at ${admin}.`);
  }
  if (response.status === 401)
    throw refuse("gatewayUnavailable", "The gateway refuses the admin token of the control plane's configuration.");
  const parsed = response.ok ? gatewayOverview.safeParse(jsonOf(text)) : null;
  if (parsed?.success === true) return parsed.data;
  throw refuse(
    "gatewayUnavailable",
    `The answer at ${admin} (${response.status}) is not that of this version's gateway.`,
  );
}

async function boundedText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of (body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.byteLength;
    if (length > BYTES_MAX) throw new Error("the answer is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
