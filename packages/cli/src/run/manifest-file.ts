/** Reads the file of `headroom run` as a manifest of Kubernetes. */
import type { ManifestReading } from "@headroom/spec/kubernetes";
import { CliError, exitCode } from "../cli-error.ts";
import { printable } from "../terminal.ts";

/** A manifest states its command and its tasks, so that these words would have no effect. */
export function refuseUnused(file: string, words: readonly string[], array: string | undefined): void {
  const shown = printable(file);
  if (words.length > 0)
    throw new CliError(
      `${printable(words.join(" "))} after ${shown}: a manifest of Kubernetes takes no arguments. Options of headroom run stand before the file.`,
      exitCode.usage,
    );
  if (array !== undefined)
    throw new CliError(`--array has no effect on ${shown}: a Job states its completions`, exitCode.usage);
}

/** The workload of a manifest of Kubernetes; `null`: the text is none. */
export async function manifestIn(
  file: string,
  text: string,
): Promise<{ readonly file: string; readonly reading: ManifestReading } | null> {
  const { isManifest, readKubernetesManifest } = await import("@headroom/spec/kubernetes");
  // A script can contain a manifest.
  if (text.startsWith("#!")) return null;
  if (/^kind:[ \t]*(?:train|batch|team|fleet|calendar|schedule)[ \t]*$/m.test(text))
    throw new CliError(
      `${printable(file)} is a workload file; submit it with: headroom apply -f ${printable(file)}`,
      exitCode.usage,
    );
  if (!isManifest(text)) return null;
  const { parseYaml } = await import("../documents/yaml-source.ts");
  const { documents, problems } = parseYaml(text);
  const [problem] = problems;
  if (problem !== undefined)
    throw new CliError(`${printable(file)}:${problem.line}:${problem.column}: ${problem.message}`, exitCode.usage);
  const { environmentName, isReservedVariable } = await import("@headroom/protocol");
  const { catalogueName } = await import("@headroom/perf/accelerator-types");
  const reading = readKubernetesManifest({
    file,
    manifests: documents.map(({ value, placeOf }) => ({
      value,
      lineOf: (path) => placeOf(path, typeof path.at(-1) === "string").line,
    })),
    context: {
      acceleratorNamed: catalogueName,
      mayBeVariable: (name) => environmentName.safeParse(name).success && !isReservedVariable(name),
    },
  });
  return { file, reading };
}
