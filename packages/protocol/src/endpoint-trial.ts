/** One request to an endpoint on behalf of its reader: the control plane sends it through the gateway. */
import { z } from "zod";
import { count, integer, names } from "@headroom/spec";
import { operation } from "./operation.ts";

/** Maximum number of characters of a prompt. */
const PROMPT_CHARS_MAX = 16_384;
const OUTPUT_TOKENS_MAX = 2_048;

export const trialRequest = z
  .strictObject({
    prompt: z.string().min(1).max(PROMPT_CHARS_MAX),
    form: z.enum(["chat", "completion"]).default("chat").meta({
      description: "`chat`: the prompt is a message of the user; `completion`: the model continues it.",
    }),
    maxTokens: integer(1, OUTPUT_TOKENS_MAX).default(128),
    temperature: z.number().min(0).max(2).optional().meta({ description: "Absent: the model server's default." }),
  })
  .meta({ id: "TrialRequest" });

const timeMs = z.number().nonnegative();

export const trial = z
  .object({
    model: z.string().meta({ description: "The model that the gateway was asked for." }),
    requestId: z.string().nullable().meta({
      description: "Id of the request in the gateway; `headroom gateway explain ID` says what happened to it.",
    }),
    text: z.string(),
    finish: z.string().nullable().meta({ description: "Why the model server ended the answer, as it says." }),
    firstTokenMs: timeMs.nullable().meta({ description: "Time to the first text; null: there was none." }),
    totalMs: timeMs,
    inputTokens: count.nullable(),
    outputTokens: count.nullable(),
  })
  .meta({ id: "Trial" });

export type TrialRequestInput = z.input<typeof trialRequest>;
export type TrialRequest = z.output<typeof trialRequest>;
export type Trial = z.output<typeof trial>;

export const trialOperations = {
  tryEndpoint: operation(
    "POST /v1/endpoints/{id}/trials",
    "Send one request to an endpoint, through its gateway",
    trial,
    {
      permission: "endpoints.use",
      subject: "workload",
      params: z.strictObject({ id: names.opaqueId }),
      body: trialRequest,
      problems: ["unknownWorkload", "noGateway", "gatewayUnavailable", "tooManyTrials"],
    },
  ),
};
