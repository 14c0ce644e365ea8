/**
 * Questions to the performance model and its answers. Estimates are not facts about a fleet. Times are in seconds and
 * rates in GB/s (10^9 bytes), both fractional, as in `packages/perf`.
 */
import { z } from "zod";
import {
  failureAnswer,
  impossibleAnswer,
  networkAnswer,
  servingAnswer,
  storageAnswer,
  trainingAnswer,
  unknownAnswer,
} from "./sizing-answers.ts";
import {
  failureQuestion,
  networkQuestion,
  servingQuestion,
  storageQuestion,
  trainingQuestion,
} from "./sizing-questions.ts";

export const sizingQuestion = z
  .discriminatedUnion("kind", [trainingQuestion, servingQuestion, networkQuestion, storageQuestion, failureQuestion])
  .meta({ id: "SizingQuestion" });

export const sizingAnswer = z
  .discriminatedUnion("kind", [
    trainingAnswer,
    servingAnswer,
    networkAnswer,
    storageAnswer,
    failureAnswer,
    unknownAnswer,
    impossibleAnswer,
  ])
  .meta({ id: "SizingAnswer" });

export type SizingQuestion = z.output<typeof sizingQuestion>;
export type SizingQuestionInput = z.input<typeof sizingQuestion>;
export type SizingAnswer = z.output<typeof sizingAnswer>;
