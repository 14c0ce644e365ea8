/** Answers what-if questions in the browser with the server's functions, for the demo's fleet or a fetched state. */
import * as catalogue from "@headroom/perf/accelerator-types";
import { drillRequest, whatIfQuestion } from "@headroom/protocol";
import type { DrillForecast, DrillRequestInput, WhatIfAnswer, WhatIfQuestionInput } from "@headroom/protocol";
import { estimateStarts, usualEstimateOptions, whatIf } from "@headroom/sim";
import type { Present } from "@headroom/sim";
import { drillForecast, nodesOfDomains, whatIfChange, whatIfView } from "@headroom/views";
import { accepted } from "./accepted.ts";

export function answerWhatIf(present: Present, asked: WhatIfQuestionInput): WhatIfAnswer {
  const question = accepted(whatIfQuestion.safeParse(asked));
  const change = whatIfChange(present.engine, question, catalogue);
  const { horizonMs, arrivals } = question;
  const { engine, nowMs } = present;
  const starts = estimateStarts(engine, { ...usualEstimateOptions, nowMs, calibration: null });
  return whatIfView(present, { change, horizonMs, arrivals }, whatIf, starts);
}

export function answerDrill(present: Present, asked: DrillRequestInput): DrillForecast {
  const { lose, forMs } = accepted(drillRequest.safeParse(asked));
  return drillForecast(present, { nodes: nodesOfDomains(present.engine.state, lose), forMs }, whatIf);
}
