/** The policy that a user names, which is a preset or a policy file. */
import { nearestName, readPolicy, type Policy } from "@headroom/protocol";
import { CliError, exitCode } from "../cli-error.ts";
import type { Terminal } from "../terminal.ts";
import { fieldText, problemList } from "./load-documents.ts";
import { sourcesOf } from "./sources.ts";
import { parseYaml } from "./yaml-source.ts";

/** An argument that looks like a path is a file; any other is the name of a preset. */
export async function namedPolicy(text: string, presets: readonly Policy[], terminal: Terminal): Promise<Policy> {
  const preset = presets.find(({ name }) => name === text);
  if (preset !== undefined) return preset;
  if (text === "-" || /[/\\]|\.(?:ya?ml|json)$/.test(text)) return policyOfFile(text, presets, terminal);
  const names = presets.map(({ name }) => name);
  const nearest = nearestName(text, names);
  const hint = nearest === undefined ? "" : ` (did you mean ${nearest}?)`;
  throw new CliError(
    `there is no preset ${JSON.stringify(text)}${hint}; the presets are ${names.join(", ")}; the name of a policy file ends in .yaml or .json`,
    exitCode.usage,
  );
}

async function policyOfFile(target: string, presets: readonly Policy[], terminal: Terminal): Promise<Policy> {
  const sources = await sourcesOf(target, terminal);
  const [source] = sources;
  if (source === undefined || sources.length > 1)
    throw new CliError(`${target}: a policy must be a single file`, exitCode.usage);
  const { documents, problems } = parseYaml(source.text);
  const said = problems.map(({ line, column, message }) => `${source.file}:${line}:${column}: ${message}`);
  if (said.length > 0) throw new CliError(problemList(said), exitCode.usage);
  const [document] = documents;
  if (document === undefined || documents.length > 1)
    throw new CliError(`${source.file}: the file must contain one policy, but has ${documents.length}`, exitCode.usage);
  const reading = readPolicy(document.value, presets);
  if (reading.ok) return reading.policy;
  const lines = reading.problems.map(({ path, isAboutKey, message }) => {
    const { line, column } = document.placeOf(path, isAboutKey);
    return `${source.file}:${line}:${column}: ${fieldText(path)}${message}`;
  });
  throw new CliError(problemList(lines), exitCode.usage);
}
