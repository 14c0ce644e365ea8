/** Reads CSV feeds of prices, with comments skipped and every price as text. */
import { createReadStream } from "node:fs";
import path from "node:path";
import type { FeedHeader, FeedRow } from "@headroom/usage";
import { CliError, exitCode } from "../cli-error.ts";
import type { CommandContext } from "../command.ts";

/** A feed of every instance of every provider many times over. */
const ROWS_MAX = 2_000_000;

export async function readFeed({ terminal }: CommandContext, file: string): Promise<readonly FeedRow[]> {
  const [{ parse }, { feedHeader, feedHeaderRefusal, feedRow }] = await Promise.all([
    import("csv-parse"),
    import("@headroom/usage"),
  ]);
  const rows: FeedRow[] = [];
  let header: FeedHeader | null = null;
  const parser = createReadStream(path.resolve(terminal.workingDirectory, file))
    .on("error", (error) => parser.destroy(new CliError(`${file} cannot be read: ${error.message}`, exitCode.usage)))
    .pipe(
      parse({
        bom: true,
        info: true,
        max_record_size: 100_000,
        relax_column_count: true,
        skip_empty_lines: true,
        trim: true,
      }),
    );
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: { lines: number } }>) {
      if (record[0]?.startsWith("#") === true) continue;
      if (header === null) {
        header = feedHeader(record);
        if (header === null) throw new CliError(`${file}: ${feedHeaderRefusal(record)}`, exitCode.usage);
        continue;
      }
      if (rows.length === ROWS_MAX)
        throw new CliError(`${file} has more than ${ROWS_MAX} rows; split the file`, exitCode.usage);
      rows.push(feedRow(record, header, info.lines, Date.parse));
    }
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError(`${file}: ${error instanceof Error ? error.message : String(error)}`, exitCode.usage);
  }
  if (rows.length === 0) throw new CliError(`${file} has no rows`, exitCode.usage);
  return rows;
}
