import type { EventEnvelope, HeadroomClient } from "@headroom/protocol";
import { exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { instant } from "../output/amounts.ts";
import { withProgress } from "../output/progress.ts";
import { pairLines } from "../output/table.ts";
import { resolveWorkload } from "../resolve-workload.ts";

interface Options {
  readonly json?: boolean;
}

export const historyCommand = defineCommand<Options>({
  name: "history",
  summary: "Tell what happened to a workload, and by what right",
  details:
    "Placements, starts and ends; by what right it was evicted, or others for it, with the standing of their teams;\n" +
    "places that were promised; workers that an elastic gang got and gave.",
  arguments: [{ syntax: "<workload>", description: "name, team/name or id", complete: "workload" }],
  options: [jsonOption],
  async run(context, { args, options }) {
    const client = await context.connect();
    const { id, submittedAtMs, name } = await resolveWorkload(client, args[0] ?? "");
    const past = await withProgress(context.terminal.stderr, "Reading the events", pastOf(client, submittedAtMs));
    const { Story } = await import("@headroom/views");
    const story = new Story(id);
    const { attempts } = await client.getWorkload(id);
    if (past.isCut) for (const attempt of attempts) story.learn(attempt);
    const lines = past.events.flatMap((envelope) => story.tell(envelope) ?? []);
    if (options.json === true) {
      context.print(JSON.stringify({ items: lines, isCut: past.isCut }, null, 2));
      return exitCode.ok;
    }
    context.print(
      ...pairLines(
        lines.map(({ atMs, sentence }) => [instant(atMs), sentence]),
        context.paint,
      ),
    );
    if (past.isCut) context.note(`The beginning of ${name} is too long ago to be read; this is the newest part.`);
    return exitCode.ok;
  },
});

/** The events since about the submission, at most as many as a search reads. */
async function pastOf(
  client: HeadroomClient,
  submittedAtMs: number,
): Promise<{ readonly events: readonly EventEnvelope[]; readonly isCut: boolean }> {
  const { firstSequenceToRead } = await import("@headroom/protocol");
  const { sequence: head } = await client.status();
  const { from, isCut } = await firstSequenceToRead(client, { submittedAtMs, head });
  const events: EventEnvelope[] = [];
  for await (const envelope of client.events({ from })) {
    events.push(envelope);
    if (envelope.sequence >= head) break;
  }
  return { events, isCut };
}
