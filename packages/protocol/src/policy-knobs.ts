/** Every knob of a policy with its values and its meaning, read off the schema that checks policies. */
import { z } from "zod";
import { policy } from "./policy.ts";

export interface PolicyKnob {
  /** `teams.order`. */
  readonly path: string;
  /** `skip` or `stop`, `list of …`, `0 to 16`. */
  readonly values: string;
  readonly meaning: string;
}

interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly minimum?: number;
  readonly maximum?: number;
}

export function policyKnobs(): readonly PolicyKnob[] {
  return knobsOf(z.toJSONSchema(policy, { io: "input" }) as Schema & Definitions);
}

interface Definitions {
  readonly $defs?: Readonly<Record<string, Schema>>;
}

function knobsOf(root: Schema & Definitions): readonly PolicyKnob[] {
  const knobs: PolicyKnob[] = [];
  const visit = (schema: Schema, path: string): void => {
    const found = resolved(schema, root);
    if (found.properties === undefined) {
      knobs.push({ path, values: valuesOf(found), meaning: schema.description ?? found.description ?? "" });
      return;
    }
    for (const [name, field] of Object.entries(found.properties)) visit(field, path === "" ? name : `${path}.${name}`);
  };
  visit(root, "");
  return knobs;
}

/** Sections with a name of their own are references. */
function resolved(schema: Schema, { $defs = {} }: Definitions): Schema {
  const reference = (schema as { readonly $ref?: string }).$ref;
  return reference === undefined ? schema : ($defs[reference.split("/").at(-1) ?? ""] ?? schema);
}

function valuesOf({ type, items, anyOf, minimum, maximum, ...schema }: Schema): string {
  if (anyOf !== undefined) return anyOf.map(valuesOf).join(" or ");
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${String(value)}\``).join(", ");
  if (schema.properties !== undefined) return `{${Object.keys(schema.properties).join(", ")}}`;
  if (items !== undefined) return `list of ${valuesOf(items)}`;
  if (type === "boolean") return "`true`, `false`";
  if (type === "null") return "`null`";
  return type === "integer" ? `${minimum} to ${maximum}` : "a name";
}
