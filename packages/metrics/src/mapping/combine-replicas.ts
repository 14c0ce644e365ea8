/** The values of an endpoint from the newest values of its replicas. */
import { replicaMapping } from "./replicas.ts";

type Values = Readonly<Record<string, number>>;

const overReplicas: ReadonlyMap<string, "sum" | "mean"> = new Map(
  replicaMapping.values.map((value) => [value.name, value.overReplicas]),
);

/** Sums amounts and averages shares and times. A value that no replica reports is missing. */
export function combineReplicas(replicas: readonly Values[]): Values {
  const names = new Set(replicas.flatMap((each) => Object.keys(each)));
  return Object.fromEntries(
    [...names].map((name) => {
      const known = replicas.flatMap((each) => each[name] ?? []);
      const sum = known.reduce((total, value) => total + value, 0);
      return [name, overReplicas.get(name) === "mean" ? sum / known.length : sum];
    }),
  );
}
