/** Reads policies and teams that `what-if` and `replay` try as hypothetical changes. */
import type { HeadroomClient, PolicyChoice, TeamSpec, WhatIfQuestionInput } from "@headroom/protocol";
import { CliError, exitCode } from "./cli-error.ts";
import type { Terminal } from "./terminal.ts";

/** The policy to try: a preset by name, or a policy file. */
export async function triedPolicy(named: string, client: HeadroomClient, terminal: Terminal): Promise<PolicyChoice> {
  const { namedPolicy } = await import("./documents/policy-file.ts");
  return { policy: await namedPolicy(named, (await client.presets()).items, terminal) };
}

export async function triedTeams(file: string, terminal: Terminal): Promise<TeamSpec[]> {
  const { loadDocuments } = await import("./documents/load-documents.ts");
  const documents = await loadDocuments([file], terminal);
  return documents.map(({ document }) => {
    if (document.kind !== "team") throw new CliError(`${file}: only teams can be tried here`, exitCode.usage);
    return document.team;
  });
}

interface TriedDocuments {
  readonly teams: TeamSpec[];
  readonly addSites: NonNullable<WhatIfQuestionInput["addSites"]>;
  readonly addPools: NonNullable<WhatIfQuestionInput["addPools"]>;
}

/** Teams to try, and the sites and simulated pools of fleet documents. */
export async function triedFleetAndTeams(files: readonly string[], terminal: Terminal): Promise<TriedDocuments> {
  if (files.length === 0) return { teams: [], addSites: [], addPools: [] };
  const { loadDocuments } = await import("./documents/load-documents.ts");
  const { addedPools } = await import("./documents/added-fleet.ts");
  const documents = await loadDocuments(files, terminal);
  return {
    teams: documents.flatMap(({ document }) => (document.kind === "team" ? [document.team] : [])),
    addSites: documents.flatMap(({ document }) => (document.kind === "fleet" ? document.fleet.sites : [])),
    addPools: documents.flatMap(({ document, file }) => {
      if (document.kind === "fleet") {
        const { pools, simulatedNodes } = document.fleet;
        const found = pools.find(({ name }) => !simulatedNodes.some(({ pool }) => pool === name));
        if (found !== undefined)
          throw new CliError(
            `${file}: the nodes of pool ${found.name} are not declared. Write executor: simulated and nodes: COUNT`,
            exitCode.usage,
          );
        return addedPools(document.fleet);
      }
      if (document.kind !== "team")
        throw new CliError(`${file}: only teams and fleets can be tried here`, exitCode.usage);
      return [];
    }),
  };
}
