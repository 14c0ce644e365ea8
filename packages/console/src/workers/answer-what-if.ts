/** A what-if in the browser, by the functions that answer it on the server: of the demo's fleet, and of a state that was taken. */
import { whatIfQuestion } from "@headroom/protocol";
import type { WhatIfAnswer, WhatIfQuestionInput } from "@headroom/protocol";
import { whatIf } from "@headroom/sim";
import type { Present } from "@headroom/sim";
import { whatIfChange, whatIfView } from "@headroom/views";
import { accepted } from "./accepted.ts";

export function answerWhatIf(present: Present, asked: WhatIfQuestionInput): WhatIfAnswer {
  const question = accepted(whatIfQuestion.safeParse(asked));
  const change = whatIfChange(present.engine, question);
  return whatIfView(present, { change, horizonMs: question.horizonMs }, whatIf);
}
