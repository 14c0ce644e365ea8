/**
 * Output of the option `--rows FILE`. It has every row with its prediction, the parts of the predicted time, the values
 * that were chosen for missing fields, and the reason if there is no prediction.
 */
import { writeFileSync } from "node:fs";
import {
  decodeStep,
  interval80,
  intervalWidth,
  meanContext,
  servingEvidenceFor,
  servingKindOf,
} from "../../packages/perf/src/index.ts";
import type { InferenceConstants, Interval } from "../../packages/perf/src/index.ts";
import type { ReadRows } from "./inference-cases.ts";
import type { Case } from "./inference-rows.ts";

const quantities = ["tpot_ms", "output_tok_s", "ttft_ms"] as const;

const header = [
  "id",
  "source",
  "scored",
  "model",
  "accelerator",
  ...quantities.flatMap((name) => [
    `measured_${name}`,
    `predicted_${name}`,
    `error_pct_${name}`,
    `low_${name}`,
    `high_${name}`,
  ]),
  "batch",
  ...["linear", "expert", "attention", "exchange", "floor", "host", "prompts_of_others"].map((part) => `${part}_ms`),
  ...["front_end", "admission", "queue", "prompt"].map((part) => `first_token_${part}_ms`),
  "evidence_distance",
  "chosen",
  "reason",
];

type Cell = string | number | undefined;

function cellText(value: Cell): string {
  if (value === undefined) return "";
  const text = typeof value === "number" ? String(Number(value.toPrecision(6))) : value;
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function quantityCells(measured: number | undefined, predicted: number | undefined, at: Interval | undefined): Cell[] {
  const error = measured === undefined || predicted === undefined ? undefined : 100 * (predicted / measured - 1);
  return [measured, predicted, error, at?.low, at?.high];
}

/** Cells of a row with a prediction. `note`: the reason if the row is not scored. */
function caseCells(one: Case, note: string, constants: InferenceConstants): Cell[] {
  const { measured, replica, request } = one;
  const said = one.predict(constants);
  const evidence = servingEvidenceFor(servingKindOf(replica));
  const around = (value: number | undefined, quantity: "step" | "firstToken"): Interval | undefined =>
    value === undefined ? undefined : interval80(value, intervalWidth(replica, quantity, evidence, constants));
  const step = said.batch === undefined ? undefined : decodeStep(replica, said.batch, meanContext(request), constants);
  const { firstToken } = said;
  return [
    one.id,
    one.source,
    note === "" ? 1 : 0,
    replica.model.name,
    one.accelerator,
    ...quantityCells(measured.tpotMs, said.tpotMs, around(said.tpotMs, "step")),
    ...quantityCells(measured.tokensPerS, said.tokensPerS, around(said.tokensPerS, "step")),
    ...quantityCells(measured.ttftMs, said.ttftMs, around(said.ttftMs, "firstToken")),
    said.batch,
    step?.linearMs,
    step?.expertMs,
    step?.attentionMs,
    step?.exchangeMs,
    step?.floorMs,
    step?.hostMs,
    said.promptsMs,
    firstToken?.frontEndMs,
    firstToken?.admissionMs,
    firstToken?.queueMs,
    firstToken?.promptMs,
    evidence.distance,
    one.chosen.join("; "),
    note,
  ];
}

/**
 * Writes all rows to a file as comma-separated values: the scored rows, the rows without a prediction, and the rows
 * that are not scored.
 */
export function writeRows(file: string, rows: ReadRows, constants: InferenceConstants): void {
  const empty = header.slice(3, -1).map(() => "");
  const lines = [
    header,
    ...rows.cases.map((one) => caseCells(one, "", constants)),
    ...rows.abstentions.map(({ id, source, reason }) => [id, source, 0, ...empty, reason]),
    ...rows.unscored.map(({ id, source, reason, asked }) =>
      asked === undefined ? [id, source, 0, ...empty, reason] : caseCells(asked, reason, constants),
    ),
  ];
  writeFileSync(file, `${lines.map((line) => line.map(cellText).join(",")).join("\n")}\n`);
}
