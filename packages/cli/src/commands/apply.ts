import type { ApplyPlan, ApplyRequest, HeadroomClient } from "@headroom/protocol";
import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption, type CommandContext } from "../command.ts";
import type { LoadedDocument } from "../documents/load-documents.ts";
import { confirm } from "../output/confirm.ts";
import type { SubmittedWorkload } from "../size/declare-models.ts";
import type { ModelledWorkload } from "../size/submission-check.ts";
import { withProgress } from "../output/progress.ts";
import { printable } from "../terminal.ts";

interface ApplyCommandOptions {
  readonly file?: readonly string[];
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly force?: boolean;
  readonly rerun?: boolean;
  readonly json?: boolean;
}

export const applyCommand = defineCommand<ApplyCommandOptions>({
  name: "apply",
  summary: "Make the fleet, its teams and workloads what files say",
  details:
    "Shows the changes and asks before it makes them. Either all documents are applied, or none.\n" +
    "Examples:\n  headroom apply -f train.yaml\n  headroom apply -f teams/ -f fleet.yaml --dry-run\n  generate | headroom apply -f - --yes",
  options: [
    {
      flags: "-f, --file <path>",
      description: "a file, a directory of files, or - for stdin; can be repeated (required)",
      repeatable: true,
      complete: "file",
    },
    { flags: "--dry-run", description: "only show the changes, and a forecast for new workloads" },
    { flags: "-y, --yes", description: "apply the changes without asking" },
    { flags: "--force", description: "submit workloads even if their model does not fit" },
    {
      flags: "--rerun",
      description: "run declared workloads again if they failed or were cancelled, and start stopped endpoints",
    },
    jsonOption,
  ],
  async run(context, { options }) {
    const targets = options.file ?? [];
    if (targets.length === 0) throw new CliError("no file is given: headroom apply -f FILE", exitCode.usage);
    const { checkLevels, loadDocuments } = await import("../documents/load-documents.ts");
    const loaded = await loadDocuments(targets, context.terminal);
    const { requestOf } = await import("../documents/apply-request.ts");
    const request = requestOf(loaded);
    const client = await context.connect();
    await checkLevels(loaded, () => client.fleet());
    const isJson = options.json === true;
    const looked = { dryRun: true, ...(options.dryRun === true ? { forecast: true } : {}) };
    const plan = await placed(
      loaded,
      withProgress(context.terminal.stderr, "Computing the changes", client.apply(request, looked)),
    );
    const isNothing = plan.changes.every(({ action }) => action === "unchanged");
    if (!isJson) {
      await showPlan(context, client, request, plan);
      for (const { message } of plan.warnings ?? []) context.note(`warning: ${printable(message)}`);
    }
    const { checkModels, refuseImpossible, showModels, withThroughput } = await import("../size/submission-check.ts");
    const sizing = await checkModels(context, client, modelsToCheck(loaded, plan));
    const told = sizing.length === 0 ? {} : { sizing };
    if (!isJson) await showModels(sizing, (line) => context.print(line), context);
    const { offerLines, rerunAll, rerunnable } = await import("../documents/rerun-offer.ts");
    const ended = await rerunnable(client, plan);
    const again = options.rerun === true ? ended : [];
    if (!isJson && (again.length === 0 || options.dryRun === true)) context.print(...offerLines(ended));
    const offered = ended.length === 0 ? {} : { rerunnable: ended.map(({ id, name }) => ({ workloadId: id, name })) };
    if (options.dryRun === true || (isNothing && again.length === 0)) {
      if (isJson)
        context.print(JSON.stringify({ ...plan, dryRun: options.dryRun === true, ...told, ...offered }, null, 2));
      refuseImpossible(sizing, options.force === true);
      const { canNeverStart } = await import("@headroom/protocol");
      const neverStarts = plan.changes.some(
        ({ forecast }) => forecast?.kind === "waits" && canNeverStart(forecast.verdict),
      );
      return neverStarts ? exitCode.unsatisfied : exitCode.ok;
    }
    refuseImpossible(sizing, options.force === true);
    if (
      options.yes !== true &&
      !(await confirm(context.terminal, again.length === 0 ? "Apply?" : `Apply, and run ${again.length} again?`))
    ) {
      context.note("Nothing was changed.");
      return exitCode.failed;
    }
    const isComplete = await rerunAll(context, client, again);
    if (isNothing) {
      if (isJson) context.print(JSON.stringify({ ...plan, dryRun: false, ...told, ...offered }, null, 2));
      return isComplete ? exitCode.ok : exitCode.failed;
    }
    const workloads = await Promise.all(request.workloads.map((spec) => withThroughput(spec, sizing)));
    const submitted = { ...request, workloads };
    const done = await placed(loaded, withProgress(context.terminal.stderr, "Applying", client.apply(submitted)));
    const { declareModels } = await import("../size/declare-models.ts");
    await declareModels(context, client, submittedModels(loaded, done));
    if (isJson) context.print(JSON.stringify({ ...done, ...told, ...offered }, null, 2));
    else showDone(context, done);
    return isComplete ? exitCode.ok : exitCode.failed;
  },
});

/**
 * Models of workloads that the request would create. Existing workloads already run or wait, so the model in their file
 * changes nothing.
 */
function modelsToCheck(loaded: readonly LoadedDocument[], { changes }: ApplyPlan): ModelledWorkload[] {
  const isNew = ({ spec }: ModelledWorkload): boolean =>
    changes.some(
      ({ kind, name, action, fields }) =>
        kind === "workload" && name === spec.name && action !== "unchanged" && fields === undefined,
    );
  return loaded.flatMap(({ document }) => (document.kind === "workload" ? [document] : [])).filter(isNew);
}

/** Changes of workloads are in the order of the request. */
function submittedModels(loaded: readonly LoadedDocument[], { changes }: ApplyPlan): SubmittedWorkload[] {
  const documents = loaded.flatMap(({ document }) => (document.kind === "workload" ? [document] : []));
  const own = changes.filter(({ kind }) => kind === "workload");
  return documents.flatMap((each, index) => {
    const { workloadId = null, action, fields } = own[index] ?? {};
    return workloadId === null || action === "unchanged" || fields !== undefined ? [] : [{ ...each, workloadId }];
  });
}

async function placed(loaded: readonly LoadedDocument[], work: Promise<ApplyPlan>): Promise<ApplyPlan> {
  try {
    return await work;
  } catch (error) {
    const { withPlaces } = await import("../documents/apply-request.ts");
    throw withPlaces(error, loaded);
  }
}

async function showPlan(
  context: CommandContext,
  client: HeadroomClient,
  request: ApplyRequest,
  plan: ApplyPlan,
): Promise<void> {
  const { planLines } = await import("../documents/plan-lines.ts");
  context.print(...(await planLines(client, request, plan, context.paint)));
}

function showDone(context: CommandContext, { changes }: ApplyPlan): void {
  for (const { kind, name, action, workloadId } of changes) {
    if (action !== "unchanged")
      context.print(`${action} ${kind} ${name}${workloadId === null ? "" : ` (${workloadId})`}`);
  }
}
