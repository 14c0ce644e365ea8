import type { Verdict, Workload } from "@headroom/protocol";
import { exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { rejectedLinesOfWorkload } from "../output/rejected-lines.ts";
import { pairLines } from "../output/table.ts";
import { attemptTable, workloadPairs } from "../output/workload-text.ts";
import { resolveWorkload } from "../resolve-workload.ts";
import { printable } from "../terminal.ts";

interface ShowCommandOptions {
  readonly json?: boolean;
  readonly yaml?: boolean;
}

export const showCommand = defineCommand<ShowCommandOptions>({
  name: "show",
  summary: "Show all details of one workload",
  arguments: [{ syntax: "<workload>", description: "name, team/name or id of the workload", complete: "workload" }],
  options: [{ flags: "--yaml", description: "print the workload as a document for `headroom apply`" }, jsonOption],
  async run(context, { args, options }) {
    const client = await context.connect();
    const { id } = await resolveWorkload(client, args[0] ?? "");
    const workload = await client.getWorkload(id);
    if (options.json === true) {
      context.print(JSON.stringify(workload, null, 2));
      return exitCode.ok;
    }
    if (options.yaml === true) {
      context.print((await documentText(workload)).trimEnd());
      return exitCode.ok;
    }
    const nowMs = Date.now();
    const { paint, terminal } = context;
    context.print(paint("bold", workload.name), ...workloadPairs(workload, nowMs, paint));
    const { specTerms } = await import("@headroom/views");
    const terms = specTerms(workload.spec).map(({ name, text }) => [name.toLowerCase(), text] as const);
    if (terms.length > 0) context.print("", ...pairLines(terms, paint));
    if (workload.endedAtMs === null) {
      const sentence = waitingSentence(await client.explainWorkload(id));
      if (sentence !== undefined) context.print("", `${paint("yellow", "waiting")}  ${printable(sentence)}`);
    }
    if (workload.endedAtMs === null)
      for (const { sentence } of (await client.waste({ workload: id })).items)
        context.print("", `${paint("yellow", "unused")}  ${printable(sentence)}`);
    const rejected = await rejectedLinesOfWorkload(client, workload, paint);
    if (rejected.length > 0) context.print("", ...rejected);
    const { predictionLines } = await import("../output/prediction-lines.ts");
    context.print(...predictionLines(await client.predictions(id), paint));
    const { performanceLines, performanceOf } = await import("../output/performance-lines.ts");
    const performance = performanceLines(await performanceOf(client, workload));
    if (performance.length > 0) context.print("", ...performance);
    if (workload.attempts.length > 0) context.print("", ...attemptTable(workload, nowMs, terminal.stdout, paint));
    return exitCode.ok;
  },
});

function waitingSentence(verdict: Verdict): string | undefined {
  return verdict.kind === "blocked" ? verdict.sentence : undefined;
}

async function documentText({ spec }: Workload): Promise<string> {
  const [{ workloadDocument }, { stringify }] = await Promise.all([import("@headroom/protocol"), import("yaml")]);
  return stringify(workloadDocument(spec), { lineWidth: 0 });
}
