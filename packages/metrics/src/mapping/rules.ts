/**
 * Rules that turn metrics of an exporter into named values of a subject. Several lines, and several metrics, can be
 * parts of one value.
 */
import type { Labels } from "../formats/exposition.ts";

/** Kinds of subject that a target can have. `accelerator`: one of the target's node. */
export type MappedSubject = "accelerator" | "node" | "replica";

/** How the parts of a value in one reading are combined. */
export type Combination = "last" | "sum" | "max" | "mean";

export interface MappedValue {
  /** Name of the value in the series of the subject. */
  readonly name: string;
  readonly unit: string;
  readonly subject: MappedSubject;
  readonly combine: Combination;
  /**
   * True: the metric is a counter, and the value is its increase for each second between two readings. A counter that went back
   * counts from zero. The value of several counters is missing for one reading if one of them came, went, or went back.
   */
  readonly isRate: boolean;
  /** The value is `offset + factor * combined`. */
  readonly factor: number;
  readonly offset: number;
  /** How the values of an endpoint's replicas become the endpoint's. */
  readonly overReplicas: "sum" | "mean";
}

export interface MappingRule {
  readonly metric: string;
  /** Name of the value of which the metric is a part. */
  readonly value: string;
  /** Factor of this part; default 1. */
  readonly part?: number;
  /** Only lines with these labels. */
  readonly labels?: Labels;
  /** Only lines without these labels, or with an empty one. */
  readonly withoutLabels?: readonly string[];
  /** Only lines whose label has none of the values. */
  readonly except?: Readonly<Record<string, readonly string[]>>;
  /** The part divides the others: seconds in all for each request of a summary. */
  readonly isDivisor?: true;
}

export interface Mapping {
  readonly values: readonly MappedValue[];
  readonly rules: readonly MappingRule[];
}

type ValueDefaults = Partial<Omit<MappedValue, "name" | "unit" | "subject">>;

export const mappedValue = (
  subject: MappedSubject,
  name: string,
  unit: string,
  { combine = "last", isRate = false, factor = 1, offset = 0, overReplicas = "sum" }: ValueDefaults = {},
): MappedValue => ({ subject, name, unit, combine, isRate, factor, offset, overReplicas });

export function matches({ labels, withoutLabels = [], except = {} }: MappingRule, found: Labels): boolean {
  for (const name in labels) if (found[name] !== labels[name]) return false;
  for (const name of withoutLabels) if ((found[name] ?? "") !== "") return false;
  for (const name in except) if (except[name]?.includes(found[name] ?? "") === true) return false;
  return true;
}
