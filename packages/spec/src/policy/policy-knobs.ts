/** Every setting of a policy with its values and meaning, derived from the schema that validates policies. */
import { z } from "zod";
import { policy } from "./policy.ts";

export interface PolicyKnob {
  /** Path of the setting, such as `teams.order`. */
  readonly path: string;
  /** Permitted values of the setting: `skip` or `stop`, `list of …`, `0 to 16`. */
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
    const meaning = schema.description ?? found.description ?? "";
    // A section has no description of its own beside those of its settings. A record with a description is one setting.
    if (found.properties === undefined || (path !== "" && meaning !== "")) {
      knobs.push({ path, values: valuesOf(found, root), meaning });
      return;
    }
    for (const [name, field] of Object.entries(found.properties)) visit(field, path === "" ? name : `${path}.${name}`);
  };
  visit(root, "");
  return knobs;
}

/** Follows the reference of a section that has a separate name. */
function resolved(schema: Schema, { $defs = {} }: Definitions): Schema {
  const reference = (schema as { readonly $ref?: string }).$ref;
  return reference === undefined ? schema : ($defs[reference.split("/").at(-1) ?? ""] ?? schema);
}

function valuesOf(schema: Schema, root: Definitions): string {
  const { type, items, anyOf, properties, minimum, maximum, ...rest } = resolved(schema, root);
  if (anyOf !== undefined) return anyOf.map((each) => valuesOf(each, root)).join(" or ");
  if (rest.enum !== undefined) return rest.enum.map((value) => `\`${String(value)}\``).join(", ");
  if (properties !== undefined) return `{${Object.keys(properties).join(", ")}}`;
  if (items !== undefined) return `list of ${valuesOf(items, root)}`;
  if (type === "boolean") return "`true`, `false`";
  if (type === "null") return "`null`";
  return type === "integer" ? `${minimum} to ${maximum}` : "a name";
}
