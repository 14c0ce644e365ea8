/** Policies and teams as hypothetical changes, for `what-if` and `replay`. */
import type { HeadroomClient, PolicyChoice, TeamSpec } from "@headroom/protocol";
import { CliError, exitCode } from "./cli-error.ts";
import type { Terminal } from "./terminal.ts";

/** A preset by name, or a policy file. */
export async function triedPolicy(named: string, client: HeadroomClient, terminal: Terminal): Promise<PolicyChoice> {
  const { namedPolicy } = await import("./documents/policy-file.ts");
  return { policy: await namedPolicy(named, (await client.presets()).items, terminal) };
}

export async function triedTeams(file: string, terminal: Terminal): Promise<TeamSpec[]> {
  const { loadDocuments } = await import("./documents/load-documents.ts");
  const documents = await loadDocuments([file], terminal);
  return documents.map(({ document }) => {
    if (document.kind !== "team") throw new CliError(`${file}: only teams can be tried`, exitCode.usage);
    return document.team;
  });
}
