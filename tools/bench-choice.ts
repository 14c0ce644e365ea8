/** The benchmarks that `npm run bench FILTER` runs. */
import path from "node:path";

/**
 * Those with `filter` in their path, or only those with this name if there are some: `autoscale` is `autoscale.bench.ts`, not all
 * benchmarks of the package of the same name.
 */
export function benchesFor(filter: string, files: readonly string[]): string[] {
  const named = files.filter((file) => path.basename(file) === `${filter}.bench.ts`);
  return (named.length > 0 ? named : files.filter((file) => file.includes(filter))).toSorted();
}
