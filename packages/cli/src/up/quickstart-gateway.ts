/** The gateway of the quickstart's endpoint. It runs within `headroom up --quickstart`, so that the endpoint can be tried at once. */
import { createServer } from "node:net";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { RunningGateway } from "@headroom/gateway";
import type { GatewayAddress } from "@headroom/server";
import type { CommandContext } from "../command.ts";
import { describeError } from "../describe-error.ts";
import { builtConsole } from "./checkout.ts";

/** The port of the tutorials. Another one is taken if it is not free. */
const PORT = 8080;
const HOST = "127.0.0.1";
const ID = "quickstart";
/** Open streams hold up the end of `headroom up` for at most this time. */
const SHUTDOWN_TIMEOUT = "10s";

/** Where the gateway will listen. The control plane is told before the gateway runs. */
export interface GatewayPlace {
  readonly port: number;
  readonly directory: string;
  readonly address: GatewayAddress;
}

export async function gatewayPlace(home: string): Promise<GatewayPlace> {
  const directory = path.join(home, "quickstart-gateway");
  const admin = `http://${HOST}:${(await freePort(0)) ?? 0}`;
  const port = (await freePort(PORT)) ?? (await freePort(0)) ?? 0;
  return { port, directory, address: { admin, tokenFile: path.join(directory, ID, "admin-token") } };
}

/** The port, or a free one for 0; `null`: it is not free. */
function freePort(port: number): Promise<number | null> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(null));
    server.listen(port, HOST, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : null));
    });
  });
}

/** Starts the gateway; `null`: it could not be started, which stops nothing else. */
export async function startQuickstartGateway(
  context: CommandContext,
  { port, directory, address }: GatewayPlace,
  controlPlane: { readonly url: string; readonly token: string | null },
): Promise<RunningGateway | null> {
  try {
    const { loadConfig, startGateway } = await import("@headroom/gateway");
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const tokenFile = path.join(directory, "control-plane-token");
    writeFileSync(tokenFile, `${controlPlane.token ?? "none"}\n`, { mode: 0o600 });
    const text = JSON.stringify({
      id: ID,
      listen: `${HOST}:${port}`,
      admin: new URL(address.admin).host,
      state: directory,
      access: "open",
      bounds: { shutdownTimeout: SHUTDOWN_TIMEOUT },
      controlPlane: { url: controlPlane.url, token: { file: tokenFile }, interval: "250ms", accessTokens: true },
      teams: [{ name: "default" }],
      pools: [{ name: "writer", engine: "headroom", endpoint: "default/writer" }],
      models: [{ name: "quickstart", pools: ["writer"] }],
    });
    const loaded = loadConfig(text);
    if ("problems" in loaded) throw new Error(loaded.problems.map(({ message }) => message).join("; "));
    const consoleDirectory = builtConsole();
    return await startGateway(loaded.config, {
      // Messages about single requests and polls would hide those of the control plane; the console shows them.
      log: () => undefined,
      ...(consoleDirectory === undefined ? {} : { consoleDirectory }),
    });
  } catch (error) {
    context.note(`warning: the gateway of the quickstart was not started: ${describeError(error).message}`);
    return null;
  }
}
