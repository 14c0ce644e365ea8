/**
 * `POST /api/v1/write`: takes samples that a Prometheus writes. It has a body of its own form, so it is no operation of the table.
 * https://prometheus.io/docs/specs/prw/remote_write_spec/
 */
import { refuse } from "@headroom/protocol";
import type { FastifyInstance } from "fastify";
import type { ControlPlane } from "./control-plane.ts";
import { sendProblem } from "./failures.ts";

/** Name of the operation under which the requests are counted. */
export const REMOTE_WRITE_OPERATION = "remoteWrite";
const BODY_BYTES_MAX = 8 * 1024 * 1024;

export function addRemoteWriteRoute(app: FastifyInstance, { metricSourceService, log }: ControlPlane): void {
  // The parser of bodies holds for this route alone.
  void app.register(async (scope) => {
    scope.addContentTypeParser(
      "application/x-protobuf",
      { parseAs: "buffer", bodyLimit: BODY_BYTES_MAX },
      (_request, body, done) => done(null, body),
    );
    scope.post(
      "/api/v1/write",
      { config: { operation: REMOTE_WRITE_OPERATION, access: "fleet.write" }, bodyLimit: BODY_BYTES_MAX },
      async (request, reply) => {
        try {
          if (!Buffer.isBuffer(request.body))
            throw refuse("invalidRequest", "Send a write request: application/x-protobuf, compressed with Snappy.");
          const outcome = await metricSourceService.write(request.body);
          if (outcome === "noSource")
            throw refuse(
              "unknownMetricSource",
              "No metric source takes what is written. Declare one: headroom metric-source add remote-write NAME",
            );
          if (outcome === "damaged")
            throw refuse("invalidRequest", "The body is no write request of remote write 1.0, or it is too large.");
          return await reply.code(204).send();
        } catch (error) {
          sendProblem(request, reply, error, log);
          return reply;
        }
      },
    );
  });
}
