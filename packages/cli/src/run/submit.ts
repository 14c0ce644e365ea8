/** `headroom run`: checks, shows and submits the workload. */
import type { HeadroomClient, WorkloadSpec } from "@headroom/protocol";
import { canNeverStart } from "@headroom/protocol";
import { CliError, exitCode, type ExitCode } from "../cli-error.ts";
import type { CommandContext, Invocation } from "../command.ts";
import { describeError, isProblemError } from "../describe-error.ts";
import { followWorkload, timeoutOf, warnIfNeverStarts } from "../follow.ts";
import { forecastLines } from "../output/forecast-text.ts";
import { noticeLines } from "../output/notice-lines.ts";
import { checkModels, refuseImpossible, showModels, withThroughput } from "../size/submission-check.ts";
import { declareModels } from "../size/declare-models.ts";
import { environmentLine } from "./captured-environment.ts";
import { documentLines, readingJson, readingLines, remarks } from "./script-report.ts";
import { submissionOf, type Submission } from "./submission.ts";
import type { RunCommandOptions } from "./run-options.ts";

export async function submit(context: CommandContext, invocation: Invocation<RunCommandOptions>): Promise<ExitCode> {
  const { options: given } = invocation;
  if (given.dryRun === true && !invocation.isAfterDashes && invocation.args.at(-1) === "--json") {
    const shown = await submissionOf(context, { ...invocation, args: invocation.args.slice(0, -1) });
    // Words after a script are its arguments. A dry run starts nothing, so that a last --json asks for the form of the answer.
    if (shown.script !== null) return showScript(context, shown, true);
  }
  const submission = await submissionOf(context, invocation);
  if (submission.script !== null && given.dryRun === true) return showScript(context, submission, given.json === true);
  const problems = submission.script?.reading.problems ?? [];
  if (problems.length > 0) throw new CliError(problems.join("\n"), exitCode.usage);
  const document = submission.read();
  const timeoutMs = await timeoutOf(given.timeout);
  const client = await context.connect();
  const sizing = await checkModels(context, client, [document]);
  if (given.json !== true) await showModels(sizing, (line) => context.note(line), context);
  refuseImpossible(sizing, given.force === true);
  const spec = await withThroughput(document.spec, sizing);
  if (given.json !== true) showSubmission(context, submission);
  if (given.dryRun === true) return showForecast(context, client, { spec, json: given.json === true });
  const { name } = spec;
  const { workloadId, notices } = await client.submitWorkload(spec);
  await declareModels(context, client, [{ ...document, workloadId }]);
  const told = { ...(sizing.length === 0 ? {} : { sizing }), ...(notices === undefined ? {} : { notices }) };
  if (given.json === true) context.print(JSON.stringify({ workloadId, name, team: spec.team, ...told }));
  else context.note(`submitted ${name} (${workloadId})`);
  if (given.json !== true) for (const line of noticeLines(notices)) context.note(line);
  if (given.follow === true) return followWorkload(context, client, workloadId, timeoutMs);
  if (given.json === true) return exitCode.ok;
  const neverStarts = await warnIfNeverStarts(context, client, workloadId);
  if (neverStarts) context.note(`The workload stays in the queue: headroom why ${name} · headroom stop ${name}`);
  else context.note(`headroom logs -f ${name} · headroom why ${name} · headroom stop ${name}`);
  return exitCode.ok;
}

/** Prints the directives that are not honoured, and the variables that the workload gets. */
function showSubmission(context: CommandContext, { script, environment }: Submission): void {
  if (script !== null) for (const line of remarks(script)) context.note(line);
  const line = environmentLine(environment);
  if (line !== null) context.note(line);
}

interface Forecast {
  readonly spec: WorkloadSpec;
  readonly json: boolean;
}

async function showForecast(
  context: CommandContext,
  client: HeadroomClient,
  { spec, json }: Forecast,
): Promise<ExitCode> {
  const forecast = await client.forecastWorkload(spec);
  context.print(...(json ? [JSON.stringify(forecast)] : forecastLines(forecast, context.paint)));
  return forecast.kind === "waits" && canNeverStart(forecast.verdict) ? exitCode.unsatisfied : exitCode.ok;
}

/** `--dry-run` of a script needs no control plane; with one it also shows the forecast. */
async function showScript(context: CommandContext, submission: Submission, json: boolean): Promise<ExitCode> {
  const { script, document, environment } = submission;
  if (script === null) return exitCode.ok;
  const problems = [...script.reading.problems];
  let spec: WorkloadSpec | null = null;
  try {
    ({ spec } = submission.read());
  } catch (error) {
    // An incomplete document follows from the problems of the script.
    if (problems.length === 0) problems.push(describeError(error).message);
  }
  if (json) {
    context.print(JSON.stringify({ ...readingJson(script, document, environment), problems }, null, 2));
  } else {
    context.print(...readingLines(script, context.paint), ...(await documentLines(document)));
    const line = environmentLine(environment);
    if (line !== null) context.note(line);
  }
  for (const problem of problems) context.note(`error: ${problem}`);
  if (problems.length > 0 || spec === null) return exitCode.usage;
  if (!json) await showForecastIfReachable(context, spec);
  return exitCode.ok;
}

async function showForecastIfReachable(context: CommandContext, spec: WorkloadSpec): Promise<void> {
  try {
    const client = await context.connect();
    const forecast = await client.forecastWorkload(spec);
    context.print(...forecastLines(forecast, context.paint));
  } catch (error) {
    if (!(error instanceof CliError) && !isProblemError(error)) throw error;
    context.note(`no forecast: ${describeError(error).message.split("\n")[0] ?? ""}`);
  }
}
