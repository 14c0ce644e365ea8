/** Usage of gateways for a bill: every record that their usage files settle, read in steps. */
import { existsSync } from "node:fs";
import path from "node:path";
import type { GatewayUsage } from "@headroom/usage";
import { CliError, exitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";

const STEP_RECORDS_MAX = 100_000;

/** `named`: the folder that `state` in gateway.yaml names. */
export async function gatewayUsage(
  { terminal }: CommandContext,
  home: string,
  named: string | undefined,
): Promise<GatewayUsage> {
  const { GatewayUsage: Usage } = await import("@headroom/usage");
  const usage = new Usage();
  const folder = named === undefined ? path.join(home, "gateway") : path.resolve(terminal.workingDirectory, named);
  if (named === undefined && !existsSync(folder)) return usage;
  const { gatewaysIn, settleUsage, usageStart } = await import("@headroom/gateway");
  try {
    for (const { directory } of gatewaysIn(folder)) {
      let cursor = usageStart;
      for (let isComplete = false; !isComplete;) {
        const step = settleUsage(directory, cursor, { recordsMax: STEP_RECORDS_MAX });
        for (const record of step.records) usage.add(record);
        ({ cursor, isComplete } = step);
      }
    }
  } catch (error) {
    throw new CliError(
      `usage of gateways cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      exitCode.failed,
    );
  }
  return usage;
}
