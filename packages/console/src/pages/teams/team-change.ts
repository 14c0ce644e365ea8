/** Converts a team to form fields and back, and describes the difference between two specifications. */
import type { ApplyRequestInput, Team } from "@headroom/protocol";
import { amountText } from "@headroom/views";

export type TeamInput = NonNullable<ApplyRequestInput["teams"]>[number];

/** One resource of the form; empty text: not set. */
export interface QuotaFields {
  readonly resource: string;
  readonly guarantee: string;
  readonly limit: string;
}

export interface TeamFields {
  readonly name: string;
  readonly weight: string;
  readonly quotas: readonly QuotaFields[];
  readonly gpuHours: string;
  readonly dollars: string;
  readonly period: "month" | "total";
  readonly over: "warn" | "hold" | "stop";
}

const MICRO = 1_000_000;

/** The declared part of a team, without the values that the control plane computes. */
export function specOf(team: Team): TeamInput {
  const {
    account: _account,
    held: _held,
    heldInAll: _all,
    entitlement: _entitlement,
    decayedUsage: _past,
    ...spec
  } = team;
  return spec;
}

export function fieldsOf(team: Team | null, types: readonly string[]): TeamFields {
  const { name = "", weight, limit = {}, guarantee = {}, budget } = team ?? {};
  const resources = [...new Set([...types, "accelerators", ...Object.keys(limit), ...Object.keys(guarantee)])];
  return {
    name,
    weight: weight === undefined ? "" : String(weight),
    quotas: resources.map((resource) => ({
      resource,
      guarantee: numberText(guarantee[resource]),
      limit: numberText(limit[resource]),
    })),
    gpuHours: numberText(budget?.gpuHours),
    dollars: numberText(budget?.microUsd === undefined ? undefined : budget.microUsd / MICRO),
    period: budget?.period ?? "month",
    over: budget?.over ?? "warn",
  };
}

const numberText = (value: number | undefined): string => (value === undefined ? "" : String(value));

/** The team with the values of the form. Settings that the form does not show are kept. */
export function withFields(team: Team | null, fields: TeamFields): TeamInput {
  const name = fields.name.trim();
  const slash = name.lastIndexOf("/");
  const base: TeamInput =
    team === null ? { name, parent: slash < 0 ? null : name.slice(0, slash), limit: {} } : specOf(team);
  const { guarantee: _guarantee, weight: _weight, budget: _budget, ...rest } = base;
  const limit = amountsOf(fields.quotas.map(({ resource, limit: text }) => [resource, text]));
  const guarantee = amountsOf(fields.quotas.map(({ resource, guarantee: text }) => [resource, text]));
  const hasBudget = fields.gpuHours.trim() !== "" || fields.dollars.trim() !== "";
  return {
    ...rest,
    limit,
    ...(Object.keys(guarantee).length === 0 ? {} : { guarantee }),
    ...(fields.weight.trim() === "" ? {} : { weight: Number(fields.weight) }),
    ...(hasBudget
      ? {
          budget: {
            ...(fields.gpuHours.trim() === "" ? {} : { gpuHours: Number(fields.gpuHours) }),
            ...(fields.dollars.trim() === "" ? {} : { microUsd: Math.round(Number(fields.dollars) * MICRO) }),
            period: fields.period,
            over: fields.over,
          },
        }
      : {}),
  };
}

const amountsOf = (entries: readonly (readonly [string, string])[]): Record<string, number> =>
  Object.fromEntries(entries.flatMap(([resource, text]) => (text.trim() === "" ? [] : [[resource, Number(text)]])));

/** A sentence about the first field that is not a number; `null`: all are numbers. */
export function faultIn({ quotas, weight, gpuHours, dollars, name }: TeamFields): string | null {
  if (name.trim() === "") return "Name: a team needs a name.";
  const named = [
    ["Weight", weight],
    ["GPU-hours", gpuHours],
    ["Dollars", dollars],
    ...quotas.flatMap(({ resource, guarantee, limit }) => [
      [`Guarantee of ${resource}`, guarantee],
      [`Limit of ${resource}`, limit],
    ]),
  ] as const;
  const wrong = named.find(([, text = ""]) => text.trim() !== "" && !(Number(text) >= 0));
  return wrong === undefined ? null : `${wrong[0]}: must be a number of 0 or more, or empty.`;
}

export interface FieldChange {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

/** The fields in which two teams differ, as text. */
export function changesBetween(before: TeamInput | null, after: TeamInput): readonly FieldChange[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((name): FieldChange[] => {
    const [left, right] = [old.get(name) ?? "none", now.get(name) ?? "none"];
    return left === right ? [] : [{ name, before: left, after: right }];
  });
}

const overWords = { warn: "record it only", hold: "start nothing more", stop: "stop running work" } as const;

function linesOf(team: TeamInput | null): ReadonlyMap<string, string> {
  if (team === null) return new Map();
  const { weight = 1, limit = {}, guarantee = {}, budget } = team;
  const amounts = (title: string, entries: Readonly<Record<string, number>>): [string, string][] =>
    Object.entries(entries).map(([resource, amount]) => [`${title} of ${resource}`, amountText(resource, amount)]);
  return new Map([
    ["Weight", String(weight)],
    ...amounts("Guarantee", guarantee),
    ...amounts("Limit", limit),
    ...(budget === undefined
      ? []
      : ([
          ...(budget.gpuHours === undefined ? [] : [["Budget in GPU-hours", String(budget.gpuHours)]]),
          ...(budget.microUsd === undefined ? [] : [["Budget in dollars", `$${budget.microUsd / MICRO}`]]),
          ["Budget period", budget.period === "month" ? "each month" : "once"],
          ["When used up", overWords[budget.over]],
        ] as [string, string][])),
  ]);
}
