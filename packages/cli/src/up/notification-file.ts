/** `notify.yaml`: the events that the control plane sends, and their receivers. The file is read at the start. */
import { existsSync } from "node:fs";
import path from "node:path";
import type { NotificationRule } from "@headroom/server";
import { CliError, exitCode } from "../cli-error.ts";
import { fieldText, problemList } from "../documents/load-documents.ts";
import { sourcesOf } from "../documents/sources.ts";
import { parseYaml } from "../documents/yaml-source.ts";
import type { Terminal } from "../terminal.ts";

/** `given`: the path from `--notify`; absent: `notify.yaml` in the state directory, if it exists. */
export async function loadNotifications(
  terminal: Terminal,
  home: string,
  given: string | undefined,
): Promise<readonly NotificationRule[]> {
  const file = given ?? path.join(home, "notify.yaml");
  if (given === undefined && !existsSync(file)) return [];
  const [source] = await sourcesOf(file, terminal);
  if (source === undefined) throw new CliError(`${file}: is not a file`, exitCode.usage);
  const { documents, problems } = parseYaml(source.text);
  const said = problems.map(({ line, column, message }) => `${source.file}:${line}:${column}: ${message}`);
  if (said.length > 0) throw new CliError(problemList(said), exitCode.usage);
  const [document] = documents;
  if (document === undefined || documents.length > 1)
    throw new CliError(`${source.file}: the file must contain one document, with notify`, exitCode.usage);
  const { notificationRules } = await import("@headroom/server");
  const reading = notificationRules.safeParse(document.value);
  if (reading.success) return reading.data.notify;
  const lines = reading.error.issues.map(({ path: steps, message }) => {
    const at = steps.map((step) => (typeof step === "number" ? step : String(step)));
    const { line, column } = document.placeOf(at, false);
    return `${source.file}:${line}:${column}: ${fieldText(at)}${message}`;
  });
  throw new CliError(problemList(lines), exitCode.usage);
}
