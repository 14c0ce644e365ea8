/** Accelerators of `--gres`, `--gpus` and its relatives. */
import { read, refuse, shown, type Reading } from "../notation/reading.ts";

export interface SlurmGpus {
  readonly count: number;
  /** Accelerator type; `null`: any. */
  readonly type: string | null;
  /** MIG profile in the name of the type, such as `1g.10gb`; `null`: whole accelerators. */
  readonly profile: string | null;
}

/** `4`, `a100:4` or `a100`. */
export function readGpus(text: string): Reading<SlurmGpus> {
  const found = /^(?:([A-Za-z][A-Za-z0-9_.+-]*|\d+g\.\d+gb))?(?::?(\d{1,6}))?$/i.exec(
    /^\d+$/.test(text) ? `:${text}` : text,
  );
  const [, type, count] = found ?? [];
  if (
    found === null ||
    (type === undefined && count === undefined) ||
    (type !== undefined && text === `${type}${count ?? ""}` && count !== undefined)
  )
    return refuse(`must be a count, or a type and a count like a100:4, got ${shown(text)}`);
  const profile = /(?:^|[_-])([12347]g\.\d{1,3}gb)$/i.exec(type ?? "")?.[1]?.toLowerCase() ?? null;
  return read({ count: Number(count ?? 1), type: profile === null ? (type ?? null) : typeBefore(type ?? ""), profile });
}

/** `nvidia_a100` of `nvidia_a100_1g.10gb`; `null`: the name is only a profile. */
function typeBefore(text: string): string | null {
  const before = text.replace(/(?:^|[_-])[12347]g\.\d{1,3}gb$/i, "").replace(/^(?:mig|nvidia)[_-]?/i, "");
  return before === "" ? null : before;
}

export interface SlurmGres {
  readonly gpus: SlurmGpus | null;
  /** Hundredths of one accelerator (`mps`); `null`: none. */
  readonly share: number | null;
  /** Parts that are not honoured, with their reasons. */
  readonly ignored: readonly string[];
}

export function readGres(text: string): Reading<SlurmGres> {
  let gpus: SlurmGpus | null = null;
  let share: number | null = null;
  const ignored: string[] = [];
  for (const part of text.split(",")) {
    const [name = "", ...rest] = part.replace(/^gres[:/]/, "").split(":");
    const value = rest.join(":").replace(/\((?:[^)]*)\)$/, "");
    if (name === "none" || part === "") continue;
    if (name === "gpu") {
      const reading = readGpus(value === "" ? "1" : value);
      if (!reading.ok) return reading;
      if (gpus === null) gpus = reading.value;
      else ignored.push(`${part}: a worker has accelerators of one type`);
    } else if (name === "mps") {
      const count = Number(/^(?:\w+:)?(\d{1,5})$/.exec(value)?.[1] ?? Number.NaN);
      if (count >= 1 && count <= 100) share = count;
      else ignored.push(`${part}: only a share of one accelerator, up to mps:100, is supported`);
    } else if (/^[A-Za-z][A-Za-z0-9_.-]*$/.test(name)) ignored.push(`${part}: Headroom counts no ${name}`);
    else return refuse(`must be a list like gpu:4 or gpu:a100:4, got ${shown(text)}`);
  }
  return read({ gpus, share, ignored });
}

/** Features that are one accelerator type each, in order of preference, or labels that a node must all have. */
export type SlurmConstraint =
  | { readonly kind: "types"; readonly types: readonly string[] }
  | { readonly kind: "labels"; readonly labels: Readonly<Record<string, string>>; readonly types: readonly string[] };

/** `isType`: whether a feature is the name of an accelerator type. */
export function readConstraint(text: string, isType: (feature: string) => boolean): Reading<SlurmConstraint> {
  if (/^[^&|]+(?:\|[^&|]+)*$/.test(text.replaceAll(/^\[|\]$/g, ""))) {
    const features = text.replaceAll(/^\[|\]$/g, "").split("|");
    if (features.every(isType)) return read({ kind: "types", types: features });
  }
  if (/[|[\]*()!]/.test(text))
    return refuse(
      "alternatives, counts and groups of features are not supported, except alternatives of accelerator types",
    );
  const labels: Record<string, string> = {};
  const types: string[] = [];
  for (const feature of text.split(/[&,]/)) {
    const [, name, value] = /^([A-Za-z0-9][A-Za-z0-9._/-]{0,127})(?:[=:]([!-~]{1,256}))?$/.exec(feature.trim()) ?? [];
    if (name === undefined) return refuse(`must be names of features like a100 or ib&nvme, got ${shown(text)}`);
    if (value === undefined && isType(name)) types.push(name);
    else labels[name] = value ?? "true";
  }
  if (types.length > 1) return refuse(`asks for ${types.join(" and ")} on one node, which no node has`);
  return read({ kind: "labels", labels, types });
}
