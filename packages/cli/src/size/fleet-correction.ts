/** The correction of predictions by a fleet's own runs. It comes from a file, or from the control plane if one runs. */
import { writeFile } from "node:fs/promises";
import path from "node:path";
import type { FleetCorrection } from "@headroom/perf";
import type { FleetPredictions, HeadroomClient } from "@headroom/protocol";
import { CliError, exitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";
import { jsonFile } from "./model-options.ts";

/** The correction of a sizing. `kinds` contains its effect on the error. */
export interface UsedCorrection {
  readonly correction: FleetCorrection;
  readonly kinds: FleetPredictions["kinds"];
}

/** Maximum wait in ms for a control plane that does not respond. */
const PATIENCE_MS = 2_000;

/** The correction of `--correction FILE`, or that of the control plane; `null`: none, or `--correction none`. */
export async function usedCorrection(
  context: CommandContext,
  given: string | undefined,
): Promise<UsedCorrection | null> {
  if (given === "none") return null;
  if (given === undefined) return liveCorrection(context);
  const { readFleetCorrection } = await import("@headroom/perf");
  const file = await jsonFile(context, given);
  const correction = readFleetCorrection(file);
  if (correction === undefined) {
    throw new CliError(`${given} is not a file that \`headroom size --fleet --export\` wrote`, exitCode.usage);
  }
  const { fleetPredictions } = await import("@headroom/protocol");
  const kinds = fleetPredictions.shape.kinds.safeParse((file as { readonly kinds?: unknown }).kinds);
  return { correction, kinds: kinds.data ?? [] };
}

/** Sizing also works without a control plane, and with one that does not answer. */
async function liveCorrection(context: CommandContext): Promise<UsedCorrection | null> {
  try {
    const client = await context.connect();
    return await correctionOf(client);
  } catch {
    return null;
  }
}

/**
 * The correction of the control plane; `null`: nothing was measured. Throws if the control plane refuses the request.
 */
export async function correctionOf(client: HeadroomClient): Promise<UsedCorrection | null> {
  const { correction, kinds } = await client.fleetPredictions({ signal: AbortSignal.timeout(PATIENCE_MS) });
  return correction.types.length === 0 ? null : { correction, kinds };
}

export async function exportCorrection(
  { terminal }: CommandContext,
  file: string,
  { correction, kinds }: UsedCorrection,
): Promise<void> {
  try {
    await writeFile(
      path.resolve(terminal.workingDirectory, file),
      `${JSON.stringify({ ...correction, kinds }, null, 2)}\n`,
    );
  } catch (error) {
    throw new CliError(`${file} cannot be written: ${error instanceof Error ? error.message : String(error)}`);
  }
}
