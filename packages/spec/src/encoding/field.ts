/**
 * Fields and records: each field of a resource is declared once, with its notation, its description and its default.
 * The wire's schema, the manifest's reader and writer, the JSON Schema and the reference are generated from the
 * declarations.
 */
import { z } from "zod";
import type { Notation } from "./notation.ts";
import { fields as mapping, type UnknownFieldNotes } from "./read-values.ts";

export interface FieldInfo {
  readonly description: string;
  /** The name of the field in the API; absent: the same as in a manifest; `null`: the API has no such field. */
  readonly wire?: string | null;
  readonly examples?: readonly unknown[];
  /** Text in the reference about the case that the field is left out, for fields without a default value. */
  readonly otherwise?: string;
}

/** The type of the field's name in the API, from its declaration. */
type NameOf<Info> = Info extends { readonly wire: infer Name extends string | null } ? Name : undefined;

// oxlint-disable-next-line typescript/no-explicit-any -- a list of fields holds fields of any values.
type AnyField = Field<any, any, any>;
export type Fields = Readonly<Record<string, AnyField>>;

export interface Field<Written, Wire extends z.ZodType, Name extends string | null | undefined> {
  readonly wireName: Name;
  readonly wire: Wire;
  readonly manifest: z.ZodType<Written>;
  readonly info: FieldInfo;
  readonly notation: Pick<Notation<unknown, z.ZodType>, "kind" | "unit"> & Partial<Parts>;
  /** Default for the reference, in the manifest's notation; absent: the field is required or has no default. */
  readonly fallback?: unknown;
  readonly isRequired: boolean;
  /** True: the fields of the value appear in the API in place of this field. */
  readonly isFlat: boolean;
  /** Returns `undefined` if the field is left out in the API. */
  toWire(written: Written): unknown;
  /** Returns `undefined` if the field is left out in the manifest. */
  toManifest(wire: unknown): unknown;
}

/** Declared fields of a value that is a mapping, or a list of mappings. */
interface Parts {
  readonly parts: Fields;
  readonly isList: boolean;
}

export type WrittenFields<F extends Fields> = {
  [K in keyof F]: F[K] extends Field<infer Written, z.ZodType, string | null | undefined> ? Written : never;
};
export type WireShape<F extends Fields> = {
  [
    K in keyof F as F[K]["wireName"] extends string ? F[K]["wireName"] : F[K]["wireName"] extends undefined ? K : never
  ]: F[K]["wire"];
};

type AnyNotation<Written, Wire extends z.ZodType> = Notation<Written, Wire> & Partial<Parts>;

const hintOf = ({ description, examples }: FieldInfo, fallback?: unknown) => ({
  description,
  ...(fallback === undefined ? {} : { default: fallback }),
  ...(examples === undefined ? {} : { examples: [...examples] }),
});

/** Adds the description to a schema. A schema that is registered by name keeps its name and its own description. */
function described<Wire extends z.ZodType>(wire: Wire, { description }: FieldInfo, unit: string | undefined): Wire {
  if (z.globalRegistry.get(wire)?.id !== undefined) return wire;
  return wire.meta({ description: unit === undefined ? description : `${description} ${unit}` });
}

export function required<Written, Wire extends z.ZodType, const Info extends FieldInfo>(
  notation: AnyNotation<Written, Wire>,
  info: Info,
): Field<Written, Wire, NameOf<Info>> {
  return {
    ...basics(notation, info),
    wire: described(notation.wire, info, notation.unit),
    manifest: notation.required(hintOf(info)),
    isRequired: true,
    toWire: (written) => notation.toWire(written),
  };
}

/** An optional field. If it is left out, the API has no such field. */
export function optional<Written, Wire extends z.ZodType, const Info extends FieldInfo>(
  notation: AnyNotation<Written, Wire>,
  info: Info,
): Field<Written | null, z.ZodOptional<Wire>, NameOf<Info>> {
  return {
    ...basics(notation, info),
    wire: described(notation.wire.optional(), info, notation.unit),
    manifest: notation.optional(hintOf(info)),
    toWire: (written) => (written === null ? undefined : notation.toWire(written)),
  };
}

/** An optional field. If it is left out, its value in the API is `null`. */
export function nullable<Written, Wire extends z.ZodType, const Info extends FieldInfo>(
  notation: AnyNotation<Written, Wire>,
  info: Info,
): Field<Written | null, z.ZodDefault<z.ZodNullable<Wire>>, NameOf<Info>> {
  return {
    ...basics(notation, info),
    wire: described(z.nullable(notation.wire).default(null as never), info, notation.unit),
    manifest: notation.optional(hintOf(info)),
    toWire: (written) => (written === null ? null : notation.toWire(written)),
  };
}

/** An optional field with a default, which is the same in the API and in a manifest. */
export function defaulted<Written, Wire extends z.ZodType, const Info extends FieldInfo>(
  notation: AnyNotation<Written, Wire>,
  value: z.output<Wire>,
  info: Info,
): Field<Written | null, z.ZodDefault<Wire>, NameOf<Info>> {
  const fallback = notation.toManifest(value);
  const isEmpty = typeof fallback === "object";
  return {
    ...basics(notation, info),
    wire: described(notation.wire.default(value as never), info, notation.unit),
    manifest: notation.optional(hintOf(info, isEmpty ? undefined : fallback)),
    ...(isEmpty ? {} : { fallback }),
    toWire: (written) => (written === null ? value : (notation.toWire(written) ?? value)),
    toManifest: (wire) =>
      JSON.stringify(wire) === JSON.stringify(value) ? undefined : notation.toManifest(wire as z.output<Wire>),
  };
}

/** A mapping whose fields have defaults. The defaults also apply if the whole mapping is left out. */
export function nested<Written, Wire extends z.ZodType, const Info extends FieldInfo>(
  notation: AnyNotation<Written, Wire>,
  info: Info,
): Field<Written, z.ZodPrefault<Wire>, NameOf<Info>> {
  return {
    ...basics(notation, info),
    wire: described(notation.wire.prefault({} as never), info, notation.unit),
    manifest: notation
      .required({ description: info.description })
      .prefault({} as never)
      .meta({ description: info.description }),
    toWire: (written) => notation.toWire(written),
    toManifest: (wire) => unlessEmpty(notation.toManifest(wire as z.output<Wire>)),
  };
}

/** An empty mapping is left out. */
export const unlessEmpty = (text: unknown): unknown =>
  typeof text === "object" && text !== null && Object.keys(text).length === 0 ? undefined : text;

/** A field with a fixed value, such as `kind`. */
export function literal<const Value extends string>(
  value: Value,
  description: string,
): Field<Value, z.ZodLiteral<Value>, undefined> {
  const wire = z.literal(value);
  return {
    wireName: undefined,
    wire,
    manifest: z.literal(value).meta({ description }),
    info: { description },
    notation: { kind: `\`${value}\`` },
    isRequired: true,
    isFlat: false,
    toWire: () => value,
    toManifest: () => value,
  };
}

/** A mapping whose fields the API has beside it instead of inside it. `wireShape` adds them there. */
export function flat<F extends Fields>(
  notation: RecordNotation<F, z.ZodType>,
  info: FieldInfo,
): Field<WrittenFields<F> | null, z.ZodType, null> {
  return {
    ...basics(notation, info),
    wireName: null,
    wire: z.never(),
    manifest: notation.optional({ description: info.description }),
    isFlat: true,
    toWire: (written) => (written === null ? wireFields(notation.parts, {}) : notation.toWire(written)),
    toManifest: (wire) => unlessEmpty(notation.toManifest(wire)),
  };
}

const basics = <Written, Wire extends z.ZodType, Info extends FieldInfo>(
  notation: AnyNotation<Written, Wire>,
  info: Info,
) => ({
  wireName: info.wire as NameOf<Info>,
  info,
  notation: notation as AnyNotation<unknown, z.ZodType>,
  isRequired: false,
  isFlat: false,
  toManifest: (wire: unknown): unknown => (wire === null ? undefined : notation.toManifest(wire as z.output<Wire>)),
});

/** Schemas of the fields in the API, by their names there. */
export function wireShape<F extends Fields>(fields: F): WireShape<F> {
  const shape = Object.entries(fields).flatMap(([name, { wireName, wire }]) =>
    wireName === null ? [] : [[(wireName as string | undefined) ?? name, wire as z.ZodType]],
  );
  return Object.fromEntries(shape) as WireShape<F>;
}

type Mapping = Readonly<Record<string, unknown>>;

/** Converts a mapping from a manifest to its API form. */
function wireFields(fields: Fields, written: Mapping): Record<string, unknown> {
  const wire: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    if (field.wireName === null && !field.isFlat) continue;
    const value: unknown = field.toWire(written[name] ?? null);
    if (field.isFlat) Object.assign(wire, value);
    else if (value !== undefined) wire[(field.wireName as string | undefined) ?? name] = value;
  }
  return wire;
}

/** The mapping from which reading gives `wire` again, without fields that have their default. */
function manifestFields(fields: Fields, wire: Mapping): Record<string, unknown> {
  const written: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    if (field.wireName === null && !field.isFlat) continue;
    const value = field.isFlat ? wire : wire[(field.wireName as string | undefined) ?? name];
    const text: unknown = value === undefined ? undefined : field.toManifest(value);
    if (text !== undefined) written[name] = text;
  }
  return written;
}

export interface RecordNotation<F extends Fields, Wire extends z.ZodType>
  extends Notation<WrittenFields<F>, Wire>, Parts {
  readonly parts: F;
  readonly schema: z.ZodType<WrittenFields<F>>;
}

interface RecordRule<F extends Fields, Wire extends z.ZodType> extends UnknownFieldNotes {
  /** The schema in the API; absent: exactly the declared fields. */
  readonly wire?: (shape: WireShape<F>) => Wire;
  /** Checks a rule between fields that are each valid, and returns the problem. */
  readonly check?: (written: WrittenFields<F>) => string | undefined;
  /** Converts the fields if those of API and manifest do not correspond one to one. */
  readonly toWire?: (wire: Record<string, unknown>, written: WrittenFields<F>) => unknown;
  readonly toManifest?: (written: Record<string, unknown>, wire: z.output<Wire>) => unknown;
}

type PlainWire<F extends Fields> = z.ZodObject<WireShape<F>, z.core.$strict>;

/** The notation of a mapping with declared fields. */
export function record<F extends Fields, Wire extends z.ZodType = PlainWire<F>>(
  fields: F,
  rule: RecordRule<F, Wire> = {},
): RecordNotation<F, Wire> {
  const shape = wireShape(fields);
  const wire = rule.wire === undefined ? (z.strictObject(shape) as unknown as Wire) : rule.wire(shape);
  const manifests = Object.fromEntries(
    Object.entries(fields).map(([name, { manifest }]) => [name, manifest as z.ZodType]),
  );
  const strict = mapping(manifests, rule);
  const { check } = rule;
  const schema = (check === undefined
    ? strict
    : strict.superRefine((written, context) => {
        const message = check(written as WrittenFields<F>);
        if (message !== undefined) context.addIssue({ code: "custom", message });
      })) as unknown as z.ZodType<WrittenFields<F>>;
  return {
    wire,
    kind: "mapping",
    editor: {},
    parts: fields,
    schema,
    isList: false,
    required: (hint) => schema.meta(hint),
    optional: (hint) => orNull(schema, hint),
    toWire: (written) => {
      const plain = wireFields(fields, written);
      return rule.toWire === undefined ? plain : rule.toWire(plain, written);
    },
    toManifest: (value) => {
      const plain = manifestFields(fields, value as Mapping);
      return rule.toManifest === undefined ? plain : rule.toManifest(plain, value);
    },
  };
}

/** The notation of a list of mappings. `error`: the message for a value that is not a list. */
export function listOf<F extends Fields, Wire extends z.ZodType>(
  item: RecordNotation<F, Wire>,
  rule: { readonly min?: number; readonly max: number; readonly error: (value: unknown) => string },
): Notation<readonly WrittenFields<F>[], z.ZodArray<Wire>> & Parts {
  const { min = 0, max, error } = rule;
  const schema: z.ZodType<readonly WrittenFields<F>[]> = z
    .array(item.schema, { error: ({ input }) => error(input) })
    .min(min)
    .max(max);
  return {
    wire: z.array(item.wire).min(min).max(max),
    kind: "list",
    editor: {},
    parts: item.parts,
    isList: true,
    required: (hint) => schema.meta(hint),
    optional: (hint) => orNull(schema, hint),
    toWire: (written) => written.map((each) => item.toWire(each)),
    toManifest: (wire) => wire.map((each) => item.toManifest(each)),
  };
}

const orNull = <Written>(
  schema: z.ZodType<Written>,
  hint: { readonly description: string },
): z.ZodType<Written | null> =>
  schema
    .optional()
    .meta(hint)
    .transform((written): Written | null => written ?? null);
