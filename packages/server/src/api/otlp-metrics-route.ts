/**
 * `POST /v1/metrics`: takes metrics that an OpenTelemetry exporter or collector sends by OTLP/HTTP, in protobuf or JSON, perhaps compressed with
 * gzip. The source that takes remote writes takes them. It has a body of its own form, so it is no operation of the table.
 * https://opentelemetry.io/docs/specs/otlp/#otlphttp
 */
import { otlpMetricsAnswer } from "@headroom/metrics";
import { refuse } from "@headroom/protocol";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { OtlpBody } from "../metric-sources/otlp-body.ts";
import type { ControlPlane } from "./control-plane.ts";
import { sendProblem } from "./failures.ts";

/** Name of the operation under which the requests are counted. */
export const OTLP_METRICS_OPERATION = "otlpMetrics";
const BODY_BYTES_MAX = 8 * 1024 * 1024;
const PROTOBUF = "application/x-protobuf";
const JSON_TYPE = "application/json";

export function addOtlpMetricsRoute(app: FastifyInstance, { metricSourceService, log }: ControlPlane): void {
  // The parsers of bodies hold for this route alone.
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      [PROTOBUF, JSON_TYPE],
      { parseAs: "buffer", bodyLimit: BODY_BYTES_MAX },
      (_request, body, done) => done(null, body),
    );
    scope.post(
      "/v1/metrics",
      { config: { operation: OTLP_METRICS_OPERATION, access: "fleet.write" }, bodyLimit: BODY_BYTES_MAX },
      async (request, reply) => {
        try {
          const isJson = (request.headers["content-type"] ?? "").startsWith(JSON_TYPE);
          const outcome = await metricSourceService.writeOtlp(bodyOf(request, isJson));
          if (outcome === "noSource")
            throw refuse(
              "unknownMetricSource",
              "No metric source takes what is written. Declare one: headroom metric-source add remote-write NAME",
            );
          if (outcome === "damaged")
            throw refuse(
              "invalidRequest",
              "The body is no export request of OTLP metrics, no gzip, or too large: at most 32 MiB and 1,000,000 values.",
            );
          return await answer(reply, isJson, outcome.rejectedCount ?? 0);
        } catch (error) {
          sendProblem(request, reply, error, log);
          return reply;
        }
      },
    );
  });
}

function bodyOf({ body, headers }: FastifyRequest, isJson: boolean): OtlpBody {
  if (!Buffer.isBuffer(body))
    throw refuse("invalidRequest", `Send an export request of OTLP metrics: ${PROTOBUF} or ${JSON_TYPE}.`);
  const encoding = headers["content-encoding"] ?? "identity";
  if (encoding !== "identity" && encoding !== "gzip")
    throw refuse("invalidRequest", "Send the body as it is, or compressed with gzip.");
  return { bytes: body, isJson, isGzip: encoding === "gzip" };
}

const REJECTED =
  "histograms, summaries, delta sums, points without a value, and attributes whose labels are the same are not taken";

/** An `ExportMetricsServiceResponse`, with the partial success if points were rejected. */
function answer(reply: FastifyReply, isJson: boolean, rejectedCount: number): FastifyReply {
  if (isJson)
    return reply
      .type(JSON_TYPE)
      .send(
        rejectedCount === 0
          ? {}
          : { partialSuccess: { rejectedDataPoints: String(rejectedCount), errorMessage: REJECTED } },
      );
  return reply.type(PROTOBUF).send(Buffer.from(otlpMetricsAnswer(rejectedCount, REJECTED)));
}
