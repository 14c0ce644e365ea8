import type { HeadroomClient, StartEstimate } from "@headroom/protocol";
import { exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { changeLines } from "../output/forecast-text.ts";
import { pairLines } from "../output/table.ts";
import { performanceLines, performanceOf } from "../output/performance-lines.ts";
import { phaseCell } from "../output/workload-text.ts";
import { resolveTask } from "../resolve-workload.ts";
import { printable } from "../terminal.ts";

interface WhyCommandOptions {
  readonly attempt?: string;
  readonly json?: boolean;
}

export const whyCommand = defineCommand<WhyCommandOptions>({
  name: "why",
  summary: "Explain in numbers why a workload waits, or how an attempt was decided",
  details:
    "For an endpoint with targets: the load that decided its number of replicas, why it stays, and the accelerator types of new ones.\n" +
    "For running work, the answer names its slow ranks and the resource that bounds its steps, as far as they are measured.\n" +
    "Also lists the smallest changes that would start the workload now; each was tried on a copy of the scheduler.\n" +
    "Exit code 3: the workload can never start while fleet, limits and policy stay as they are.\n" +
    "Work that could start with ordered nodes (headroom order) is told when they are expected, and exits with 0.\n" +
    "Work that was submitted with --wait-for-type waits for a node to join, so it exits with 0.\n" +
    "With the id of a pipeline run (p12): its steps that wait or were skipped, each with its reason.\n" +
    "With --attempt: the decisions about that attempt. For a preemption: its ground, and the\n" +
    "shares of all teams involved, as parts of their entitlements, without and with the preemption.",
  arguments: [
    {
      syntax: "<workload>",
      description: "name, team/name or id of the workload; NAME.N for task N of an array; or the id of a pipeline run",
      complete: "workload",
    },
  ],
  options: [
    { flags: "--attempt <number or id>", description: "explain the decisions about this attempt (default: none)" },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const client = await context.connect();
    if (/^p[1-9]\d{0,14}$/.test(args[0] ?? "")) {
      const { whyRun } = await import("../pipeline/why-run.ts");
      if (await whyRun(context, client, args[0] ?? "", options.json)) return exitCode.ok;
    }
    const { workload, task } = await resolveTask(client, args[0] ?? "");
    if (options.attempt !== undefined || task !== null) {
      const { decisionsAbout, printDecisions } = await import("../why-attempt.ts");
      const past = await decisionsAbout(client, workload, { text: options.attempt, task: task ?? 0, context });
      if (options.json === true) context.print(JSON.stringify(past, null, 2));
      else await printDecisions(context, workload, past);
      return exitCode.ok;
    }
    const verdict = await client.explainWorkload(workload.id);
    const { canNeverStart } = await import("@headroom/protocol");
    const code = canNeverStart(verdict) ? exitCode.unsatisfied : exitCode.ok;
    const changes = verdict.kind === "blocked" ? (await client.startingChanges(workload.id)).items : [];
    const forecast = verdict.kind === "blocked" && code === exitCode.ok ? await forecastOf(client, workload.id) : null;
    if (options.json === true) {
      context.print(
        JSON.stringify(
          {
            workloadId: workload.id,
            phase: workload.phase,
            verdict,
            changes,
            forecast,
            performance: await performanceOf(client, workload),
          },
          null,
          2,
        ),
      );
      return code;
    }
    const { paint } = context;
    const { text, tone } = phaseCell(workload);
    context.print(
      `${paint("bold", workload.name)} (${workload.id}) is ${paint(tone ?? "bold", text)}: ${printable(workload.endSentence ?? verdict.sentence)}`,
    );
    if (workload.kind === "serve") {
      const { scalingLines } = await import("../endpoint/run-endpoint.ts");
      context.print(...(await scalingLines(client, workload.id, paint)));
    }
    if (verdict.kind !== "blocked") {
      context.print(...(await stagingLines(client, workload.id)));
      context.print(...performanceLines(await performanceOf(client, workload)));
      return code;
    }
    const { reasonPairs } = await import("../output/reason-text.ts");
    for (const [index, reason] of verdict.reasons.entries()) {
      if (index > 0) context.print("", `also: ${printable(reason.sentence)}`);
      context.print(...pairLines(reasonPairs(reason), paint).map((line) => `  ${line}`));
    }
    context.print(...changeLines(changes, paint));
    for (const { sentence } of (await client.waste({ workload: workload.id })).items)
      context.print("", printable(sentence));
    if (forecast !== null) context.print("", `Forecast: ${printable(forecast.sentence)}`);
    const { wakeSentence } = await import("@headroom/views");
    const wake = wakeSentence(verdict.wakeOn);
    if (wake !== null) context.print("", wake);
    return code;
  },
});

/** Work that starts can wait for its inputs. */
async function stagingLines(client: HeadroomClient, id: string): Promise<readonly string[]> {
  const { stagingText } = await import("@headroom/views/text");
  return (await client.getWorkload(id)).attempts.flatMap((attempt) =>
    attempt.phase === "ended" || attempt.staging === undefined
      ? []
      : [`  attempt ${attempt.number}: ${printable(stagingText(attempt.staging))}`],
  );
}

/**
 * The same forecast that `eta`, `what-if` and the queue show; `null`: the workload has started meanwhile, or no
 * forecast is available now.
 */
async function forecastOf(client: HeadroomClient, id: string): Promise<StartEstimate | null> {
  try {
    return await client.estimateStart(id);
  } catch (error) {
    const { ProblemError } = await import("@headroom/protocol");
    if (error instanceof ProblemError && UNFORECAST.has(error.code)) return null;
    throw error;
  }
}

const UNFORECAST: ReadonlySet<string> = new Set(["notWaiting", "tookTooLong", "overloaded"]);
