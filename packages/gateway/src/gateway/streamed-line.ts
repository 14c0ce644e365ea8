/** Sends lines of batches as streams where they may have to stop for other requests, so that they go on where they stopped. */
import { isResumable } from "../exchange/resume.ts";
import { peekRequest } from "../json/peek.ts";
import type { Admitted } from "./admission.ts";

/** The line as a stream. Undefined if no pool of its model could stop and continue it. */
export function streamedLine(admitted: Admitted): Admitted | undefined {
  const { message, model, isTranslated } = admitted;
  const { endpoint, peek } = message;
  const stops = model.ownRoutes.some(
    (route) => route.pool.fair !== undefined && isResumable({ endpoint, peek }, route),
  );
  if (isTranslated || !stops || !model.routes.every(({ pool }) => pool.config.streamUsage)) return undefined;
  const fields = JSON.parse(message.body.toString("utf8")) as Record<string, unknown>;
  const options = { ...(fields["stream_options"] as object | null | undefined), include_usage: true };
  const body = Buffer.from(JSON.stringify({ ...fields, stream: true, stream_options: options }));
  const streamed = peekRequest(body, endpoint.operation);
  return "problem" in streamed ? undefined : { ...admitted, message: { ...message, body, peek: streamed } };
}
