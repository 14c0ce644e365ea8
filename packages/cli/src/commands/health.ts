import { exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";

interface HealthOptions {
  readonly json?: boolean;
}

export const healthCommand = defineCommand<HealthOptions>({
  name: "health",
  summary: "Ask whether the control plane takes commands; exit with 0 or 1",
  details: "For health checks of containers and services. It asks /readyz and needs no token.",
  options: [jsonOption],
  async run(context, { options }) {
    const { readinessOf } = await import("../connection.ts");
    const { status, reasons } = await readinessOf(context.terminal, context);
    if (options.json === true) context.print(JSON.stringify({ status, reasons }, null, 2));
    else context.print(status, ...reasons.map(({ code, detail }) => `  ${code}: ${detail}`));
    return status === "ready" ? exitCode.ok : exitCode.failed;
  },
});
