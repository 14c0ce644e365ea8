/** Answers what-if questions in the browser with the server's functions, for the demo's fleet or a fetched state. */
import * as catalogue from "@headroom/perf/accelerator-types";
import { whatIfQuestion } from "@headroom/protocol";
import type { WhatIfAnswer, WhatIfQuestionInput } from "@headroom/protocol";
import { estimateStarts, usualEstimateOptions, whatIf } from "@headroom/sim";
import type { Present } from "@headroom/sim";
import { whatIfChange, whatIfView } from "@headroom/views";
import { accepted } from "./accepted.ts";

export function answerWhatIf(present: Present, asked: WhatIfQuestionInput): WhatIfAnswer {
  const question = accepted(whatIfQuestion.safeParse(asked));
  const change = whatIfChange(present.engine, question, catalogue);
  const { horizonMs, arrivals } = question;
  const { engine, nowMs } = present;
  const starts = estimateStarts(engine, { ...usualEstimateOptions, nowMs, calibration: null });
  return whatIfView(present, { change, horizonMs, arrivals }, whatIf, starts);
}
