/** The JSON Schema that editors use for completion and validation, generated from the reader's definitions. */
import { z } from "zod";
import { documentSchema } from "./read-manifest.ts";

const SCHEMA_TITLE = "Headroom documents";

export function documentJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(documentSchema, { io: "input", target: "draft-7" });
  const { $schema, ...rest } = schema;
  return {
    $schema,
    title: SCHEMA_TITLE,
    description:
      "One document of a Headroom file: train, batch, serve, team, fleet, maintenance, reservation, tariff, schedule or pipeline.",
    ...rest,
  };
}
