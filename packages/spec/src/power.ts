/** Power in a fleet document: caps of a site, and the draw of the nodes of a pool. */
import { z } from "zod";
import type { FieldProblem } from "./document-problem.ts";
import { optional, record, required, type WrittenFields } from "./encoding/field.ts";
import * as notation from "./encoding/notation.ts";
import * as limits from "./limits.ts";
import * as names from "./names.ts";

const DOMAIN_CHARS_MAX = 256;

/** One of the `caps` of a site. */
export const powerCap = record(
  {
    of: required(notation.choice(["power", "cooling"]), {
      description: "The limited resource: electric power, or the heat that cooling takes away.",
      examples: ["power"],
    }),
    level: required(notation.name(names.labelName), {
      description: "The kind of domain: a level of the fabric, the name of a label of nodes, or `site`.",
      examples: ["rack"],
    }),
    domain: optional(
      notation.text(z.string().min(1).max(DOMAIN_CHARS_MAX), DOMAIN_CHARS_MAX, "the name of a domain, such as r3"),
      {
        description: "The domain: its name, or its path below the site with `/`.",
        examples: ["r3"],
        otherwise: "every domain of the level that has no cap of its own",
      },
    ),
    power: required(notation.watts(1, limits.WATTS_MAX), {
      wire: "watts",
      description: "The most that the nodes of a domain may draw.",
      examples: ["40kW"],
    }),
  },
  { wire: (shape) => z.strictObject(shape).meta({ id: "PowerCap" }) },
);

/** `power` of a pool. */
export const poolPower = record(
  {
    accelerator: optional(notation.watts(0, limits.WATTS_MAX), {
      wire: "acceleratorWatts",
      description: "Draw of one accelerator that work holds.",
      examples: ["700W"],
      otherwise: "the power limit of the type in the catalogue, if the site has caps",
    }),
    node: optional(notation.watts(0, limits.WATTS_MAX), {
      wire: "nodeWatts",
      description: "Draw of a node besides its busy accelerators, whether work runs on it or not.",
      examples: ["1.8kW"],
      otherwise: "0",
    }),
  },
  { wire: (shape) => z.strictObject(shape).meta({ id: "PoolPower" }) },
);

type WrittenCap = WrittenFields<typeof powerCap.parts>;

/** Two caps of one resource on the same domain contradict each other. */
export function capProblems(caps: readonly WrittenCap[] | null): readonly FieldProblem[] {
  const seen = new Set<string>();
  return (caps ?? []).flatMap(({ of, level, domain }, at) => {
    const key = JSON.stringify([of, level, domain]);
    if (seen.has(key)) return [{ path: [at], message: `caps the ${of} of ${level} ${domain ?? "(every one)"} twice` }];
    seen.add(key);
    return [];
  });
}
