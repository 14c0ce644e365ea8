/** `headroom up`: the control plane in the foreground, from start to clean end. */
import { once } from "node:events";
import type { HeadroomClient } from "@headroom/protocol";
import type { RunningControlPlane } from "@headroom/server";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { describeError } from "../describe-error.ts";
import { clientOf } from "../connection.ts";
import { plural } from "../output/amounts.ts";
import { withProgress } from "../output/progress.ts";
import { announceServer, forgetServer } from "../user-config.ts";
import { loadNotifications } from "./notification-file.ts";
import { bannerLines } from "./banner.ts";
import { buildConsole, chatProgramFrom, programName, quickstartFile } from "./checkout.ts";

export interface UpOptions {
  readonly quickstart?: boolean;
  /** Commander reads `--no-console` as this option. */
  readonly console: boolean;
  readonly port?: string;
  readonly host?: string;
  readonly hostName?: readonly string[];
  readonly slots?: string;
  readonly nodes?: string;
  readonly notify?: string;
  readonly acceptJournalLoss?: boolean;
}

/** The highest TCP port. */
const PORT_MAX = 65_535;
/** The highest number of accelerators that a node can have. */
const SLOTS_MAX = 1_024;
/** Maximum number of nodes. One machine runs the work of all nodes, so more nodes only slow it down. */
const NODES_MAX = 1_024;

export async function runUp(context: CommandContext, options: UpOptions): Promise<ExitCode> {
  const { terminal, home } = context;
  const port = wholeNumber("--port", options.port, PORT_MAX);
  const slotCount = wholeNumber("--slots", options.slots, SLOTS_MAX);
  const nodeCount = wholeNumber("--nodes", options.nodes, NODES_MAX);
  if (nodeCount === 0) throw new CliError("--nodes must be at least 1: a fleet is not empty", exitCode.usage);
  const user = await context.user();
  const notifications = await loadNotifications(terminal, home, options.notify);
  const build = options.console
    ? await withProgress(terminal.stderr, "Building the console", buildConsole())
    : { directory: null, problem: null };
  if (build.problem !== null)
    context.note(`warning: the console could not be built; everything else works.\n${build.problem}`);
  const { startControlPlane } = await import("@headroom/server");
  const plane = await withProgress(
    terminal.stderr,
    "Starting the control plane",
    startControlPlane({
      home,
      consoleDir: build.directory,
      notifications,
      ...(port === undefined ? {} : { port }),
      ...(options.host === undefined ? {} : { host: options.host }),
      hostNames: options.hostName ?? [],
      acceptsJournalLoss: options.acceptJournalLoss === true,
      local: {
        ...(slotCount === undefined ? {} : { slotCount }),
        ...(nodeCount === undefined ? {} : { nodeCount }),
      },
    }),
  );
  const client = await clientOf({ baseUrl: plane.url, token: plane.token ?? undefined, user });
  await announceServer(terminal.env, home);
  try {
    const before = await client.status();
    const quickstart = options.quickstart === true ? await applyQuickstart(context, client) : null;
    context.print(
      ...(await bannerLines({
        client,
        plane,
        home,
        hasConsole: build.directory !== null,
        submittedCount: before.workloads.submitted,
        quickstart,
        program: programName(terminal.workingDirectory, terminal.env["PATH"]),
        chatProgram: chatProgramFrom(terminal.workingDirectory),
        paint: context.paint,
      })),
    );
    if (!terminal.interrupted.aborted) await once(terminal.interrupted, "abort");
    return exitCode.ok;
  } finally {
    await forgetServer(terminal.env, home);
    await closed(context, client, plane);
  }
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
  const request = requestOf(await loadDocuments([quickstartFile], context.terminal));
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

function wholeNumber(flag: string, text: string | undefined, max: number): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,6}$/.test(text) || Number(text) > max) {
    throw new CliError(`${flag} must be a whole number between 0 and ${max}, got ${text}`, exitCode.usage);
  }
  return Number(text);
}
