/** `headroom up`: the control plane in the foreground, from start to clean end. */
import { once } from "node:events";
import type { HeadroomClient } from "@headroom/protocol";
import type { RunningGateway } from "@headroom/gateway";
import type { ControlPlaneOptions, GatewayAddress, RunningControlPlane, TlsFiles } from "@headroom/server";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { describeError } from "../describe-error.ts";
import { clientOf } from "../connection.ts";
import { plural } from "../output/amounts.ts";
import { withProgress } from "../output/progress.ts";
import { announceServer, forgetServer } from "../user-config.ts";
import { loadNotifications } from "./notification-file.ts";
import { bannerLines } from "./banner.ts";
import { buildConsole, chatProgramFrom, programName, quickstartFiles } from "./checkout.ts";
import { gatewayPlace, startQuickstartGateway, type GatewayPlace } from "./quickstart-gateway.ts";
import { readConfigFile, valuesOfOptions } from "./config-file.ts";
import { isolationSettings } from "./isolation-settings.ts";
import type { UpValues } from "./up-settings.ts";

/** Options as commander gives them: those of `up-settings.ts`, and the two about the file. */
export interface UpOptions extends Readonly<Record<string, unknown>> {
  readonly config?: string;
  readonly checkConfig?: boolean;
}

export async function runUp(context: CommandContext, options: UpOptions): Promise<ExitCode> {
  const { terminal } = context;
  const fromFile = options.config === undefined ? {} : await readConfigFile(terminal, options.config);
  const settings: UpValues = { ...fromFile, ...valuesOfOptions(options) };
  const home = context.isHomeNamed ? context.home : (settings.home ?? context.home);
  const tls = tlsOf(settings);
  const notifications = await loadNotifications(terminal, home, settings.notify);
  if (options.checkConfig === true) return checkedConfig(context, { file: options.config, settings, tls });
  const user = await context.user();
  const build =
    settings.console !== false
      ? await withProgress(terminal.stderr, "Building the console", buildConsole())
      : { directory: null, problem: null };
  if (build.problem !== null)
    context.note(`warning: the console could not be built; everything else works.\n${build.problem}`);
  const hasOwnGateway = settings.quickstart === true && settings["gateway.admin"] === undefined && tls === null;
  const place = hasOwnGateway ? await gatewayPlace(home) : null;
  const { startControlPlane } = await import("@headroom/server");
  const plane = await withProgress(
    terminal.stderr,
    "Starting the control plane",
    startControlPlane({ ...optionsOf(settings, { home, tls, place }), notifications, consoleDir: build.directory }),
  );
  const { certificateSha256 } = plane;
  const client = await clientOf({
    baseUrl: plane.localUrl,
    token: plane.token ?? undefined,
    user,
    ...(certificateSha256 === null ? {} : { certificateSha256 }),
  });
  await announceServer(terminal.env, home);
  let gateway: RunningGateway | null = null;
  try {
    const before = await client.status();
    const quickstart = settings.quickstart === true ? await applyQuickstart(context, client) : null;
    if (place !== null)
      gateway = await startQuickstartGateway(context, place, { url: plane.localUrl, token: plane.token });
    context.print(
      ...(await bannerLines({
        client,
        plane,
        home,
        hasConsole: build.directory !== null,
        submittedCount: before.workloads.submitted,
        quickstart,
        gatewayUrl: gateway?.url ?? null,
        program: programName(terminal.workingDirectory, terminal.env["PATH"]),
        chatProgram: chatProgramFrom(terminal.workingDirectory),
        paint: context.paint,
      })),
    );
    if (!terminal.interrupted.aborted) await once(terminal.interrupted, "abort");
    return exitCode.ok;
  } finally {
    await forgetServer(terminal.env, home);
    try {
      if (gateway !== null) await withProgress(terminal.stderr, "Ending the streams of the gateway", gateway.close());
    } finally {
      await closed(context, client, plane);
    }
  }
}

function optionsOf(
  settings: UpValues,
  { home, tls, place }: { readonly home: string; readonly tls: TlsFiles | null; readonly place: GatewayPlace | null },
): ControlPlaneOptions {
  return {
    home,
    ...(settings.port === undefined ? {} : { port: settings.port }),
    ...(settings.host === undefined ? {} : { host: settings.host }),
    ...(settings.token === undefined ? {} : { token: settings.token }),
    tls,
    insecure: settings.insecure === true,
    ...connectionsOf(settings),
    ...(place === null ? {} : { gateway: place.address }),
    hostNames: settings.hostNames ?? [],
    acceptsJournalLoss: settings.acceptJournalLoss === true,
    safe: settings.safe === true,
    local: {
      ...(settings.slots === undefined ? {} : { slotCount: settings.slots }),
      ...(settings.nodes === undefined ? {} : { nodeCount: settings.nodes }),
      ...isolationSettings(settings),
    },
  };
}

/** Result of applying the quickstart, `created` or `unchanged`; `null`: it failed, which stops nothing else. */
async function applyQuickstart(
  context: CommandContext,
  client: HeadroomClient,
): Promise<"created" | "unchanged" | null> {
  try {
    return await applied(context, client);
  } catch (error) {
    context.note(`warning: the quickstart was not applied: ${describeError(error).message}`);
    return null;
  }
}

async function applied(context: CommandContext, client: HeadroomClient): Promise<"created" | "unchanged"> {
  const { loadDocuments } = await import("../documents/load-documents.ts");
  const { requestOf } = await import("../documents/apply-request.ts");
  const request = requestOf(await loadDocuments(quickstartFiles, context.terminal));
  const { changes } = await client.apply(request);
  return changes.some(({ action }) => action !== "unchanged") ? "created" : "unchanged";
}

async function closed(context: CommandContext, client: HeadroomClient, plane: RunningControlPlane): Promise<void> {
  const running = await client.listWorkloads({ phase: "running", limit: 500 }).catch(() => undefined);
  await withProgress(context.terminal.stderr, "Stopping the control plane", plane.close());
  const count = running?.items.length ?? 0;
  const work =
    count === 0
      ? "No work was running."
      : `${plural(count, "workload")} ${count === 1 ? "goes" : "go"} on running; the next start adopts ${count === 1 ? "it" : "them"}.`;
  context.note(`\nThe control plane has stopped. ${work}`);
}

/** Address and token belong together. */
const connectionsOf = (settings: UpValues): Partial<ControlPlaneOptions> => ({
  ...gatewayOf(settings),
  ...telemetryOutOf(settings),
});

/** Receivers of metrics and spans. Throws a `CliError` if an address is none. */
function telemetryOutOf(settings: UpValues): Pick<ControlPlaneOptions, "remoteWrite" | "tracing"> {
  const { "remoteWrite.url": url, "remoteWrite.token": token = null } = settings;
  const { "tracing.endpoint": endpoint, "tracing.authorization": authorization } = settings;
  for (const [field, address] of Object.entries({ "remoteWrite.url": url, "tracing.endpoint": endpoint }))
    if (address !== undefined && !/^https?:\/\/[^\s/?#@]+/.test(address))
      throw new CliError(`${field} must be an http or https address, got ${address}`, exitCode.usage);
  const headers = authorization === undefined ? {} : { authorization };
  return {
    ...(url === undefined ? {} : { remoteWrite: { url, token } }),
    ...(endpoint === undefined ? {} : { tracing: { endpoint, headers } }),
  };
}

function gatewayOf(settings: UpValues): { readonly gateway?: GatewayAddress } {
  const { "gateway.admin": admin, "gateway.tokenFile": tokenFile } = settings;
  if (admin !== undefined && tokenFile !== undefined) return { gateway: { admin, tokenFile } };
  if (admin === undefined && tokenFile === undefined) return {};
  const missing = admin === undefined ? "--gateway (gateway.admin)" : "--gateway-token (gateway.tokenFile)";
  throw new CliError(`a gateway needs its admin address and its token: ${missing} is missing`, exitCode.usage);
}

/** Certificate and key belong together, so one without the other is an error. */
function tlsOf(settings: UpValues): TlsFiles | null {
  const { "tls.certificate": certificate, "tls.key": key } = settings;
  if (certificate !== undefined && key !== undefined) return { certificate, key };
  if (certificate === undefined && key === undefined) return null;
  const missing = certificate === undefined ? "--tls-certificate (tls.certificate)" : "--tls-key (tls.key)";
  throw new CliError(`TLS needs a certificate and its key: ${missing} is missing`, exitCode.usage);
}

interface CheckedConfig {
  readonly file: string | undefined;
  readonly settings: UpValues;
  readonly tls: TlsFiles | null;
}

async function checkedConfig(context: CommandContext, { file, settings, tls }: CheckedConfig): Promise<ExitCode> {
  const { checkExposure, checkGatewayAddress, readTlsFiles } = await import("@headroom/server");
  if (tls !== null) readTlsFiles(tls);
  telemetryOutOf(settings);
  isolationSettings(settings);
  const { gateway } = gatewayOf(settings);
  if (gateway !== undefined) checkGatewayAddress(gateway, settings.insecure === true);
  const warning = checkExposure({
    ...(settings.host === undefined ? {} : { host: settings.host }),
    tls,
    insecure: settings.insecure === true,
  });
  if (warning !== null) context.note(`warning: ${warning}`);
  context.print(
    `${file ?? "The settings"} ${file === undefined ? "are" : "is"} valid: ${plural(Object.keys(settings).length, "setting")}.`,
  );
  return exitCode.ok;
}
