/** The values of a run's parameters. */
import type { PipelineSpec } from "@headroom/model";

export type ParamFault = { readonly param: string; readonly cause: "unknown" | "missing" };

/** Every parameter with its value, or the first one that is unknown or has no value. */
export function paramValues(
  { params }: Pick<PipelineSpec, "params">,
  stated: Readonly<Record<string, string>>,
): { readonly values: Readonly<Record<string, string>> } | { readonly fault: ParamFault } {
  for (const name of Object.keys(stated))
    if (!params.some((param) => param.name === name)) return { fault: { param: name, cause: "unknown" } };
  const values: [string, string][] = [];
  for (const { name, default: fallback } of params) {
    const value = (Object.hasOwn(stated, name) ? stated[name] : undefined) ?? fallback;
    if (value === null) return { fault: { param: name, cause: "missing" } };
    values.push([name, value]);
  }
  return { values: Object.fromEntries(values) };
}
