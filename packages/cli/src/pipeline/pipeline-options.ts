/** Options of the commands about pipelines. */
import { CliError, exitCode } from "../cli-error.ts";
import type { Cell } from "../output/table.ts";
import type { Tone } from "../output/style.ts";
import { printable } from "../terminal.ts";

export interface JsonOption {
  readonly json?: boolean;
}
export interface PipelineListOptions extends JsonOption {
  readonly team?: string;
  readonly limit?: string;
}
export interface PipelineRunListOptions extends JsonOption {
  readonly phase?: string;
  readonly limit?: string;
}
export interface PipelineShowOptions extends JsonOption {
  readonly step?: string;
  readonly limit?: string;
}
export interface StartRunOptions extends JsonOption {
  readonly param?: readonly string[];
  readonly force?: boolean;
  readonly dryRun?: boolean;
}
export interface BackfillOptions extends StartRunOptions {
  readonly from?: string;
  readonly to?: string;
  readonly every?: string;
  readonly timeZone?: string;
}
export interface RetryOptions extends JsonOption {
  readonly from?: string;
  readonly force?: boolean;
}
export interface DecideStepOptions extends JsonOption {
  readonly reason?: string;
}

/** Whether the text is the id of a run, and not the name of a pipeline. */
export const isRunId = (text: string): boolean => /^p[1-9]\d{0,14}$/.test(text);

/** `--param rows=10 --param mode=full`. */
export function paramsOf(texts: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf("=");
      if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
      throw new CliError(`--param must be like rows=1000, got ${printable(text)}`, exitCode.usage);
    }),
  );
}

const tones: Readonly<Record<string, Tone>> = {
  waiting: "yellow",
  awaitingApproval: "yellow",
  running: "green",
  succeeded: "blue",
  cached: "blue",
  skipped: "dim",
  failed: "red",
  cancelled: "dim",
};
const words: Readonly<Record<string, string>> = { awaitingApproval: "awaiting approval" };

export const phaseCellOf = (phase: string): Cell => ({ text: words[phase] ?? phase, tone: tones[phase] });

/** `3 succeeded, 1 running`. */
export const countsText = (counts: Readonly<Partial<Record<string, number>>>): string =>
  Object.entries(counts)
    .map(([phase, count]) => `${count} ${words[phase] ?? phase}`)
    .join(", ");
