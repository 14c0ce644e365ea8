/**
 * Finds problems between documents that are valid each by itself: duplicate names, teams that are parents of each
 * other.
 */
import type { DocumentProblem } from "./document-problem.ts";
import { levelProblems } from "./fabric-levels.ts";
import type { HeadroomDocument } from "./read-manifest.ts";
import type { WorkloadSpec } from "./workload/workload.ts";

export interface CrossProblem extends DocumentProblem {
  /** Index of the document that contains the problem. */
  readonly document: number;
}

export function checkDocuments(documents: readonly HeadroomDocument[]): CrossProblem[] {
  return [...duplicateProblems(documents), ...cycleProblems(documents)];
}

function duplicateProblems(documents: readonly HeadroomDocument[]): CrossProblem[] {
  const problems: CrossProblem[] = [];
  const seen = new Set<string>();
  for (const [index, document] of documents.entries()) {
    for (const { key, noun, path } of namesIn(document)) {
      if (seen.has(key))
        problems.push({ document: index, path, isAboutKey: false, message: `${noun} is declared twice` });
      seen.add(key);
    }
  }
  return problems;
}

/**
 * Problems with the names of fabric levels in workloads and schedules. `sites`: the levels of each site of the present
 * fleet, from the widest down; those of sites in the documents are added.
 */
export function checkFabricLevels(
  documents: readonly HeadroomDocument[],
  sites: readonly (readonly string[])[],
): CrossProblem[] {
  const declared = documents.flatMap((document) =>
    document.kind === "fleet" ? document.fleet.sites.map(({ fabricLevels }) => fabricLevels) : [],
  );
  const problems = (spec: WorkloadSpec, at: readonly string[], document: number): CrossProblem[] =>
    levelProblems(spec, [...sites, ...declared]).map(({ path, message }) => {
      // In the API, anti-affinity is part of the gang; in a document it is a field of the workload.
      const written = path[1] === "antiAffinity" ? path.slice(1) : path;
      return { document, path: [...at, ...written], isAboutKey: false, message };
    });
  return documents.flatMap((document, index) => {
    if (document.kind === "workload") return problems(document.spec, [], index);
    if (document.kind === "pipeline")
      return document.pipeline.steps.flatMap(({ spec }, at) =>
        spec === null ? [] : problems(spec, ["steps", String(at), "workload"], index),
      );
    return document.kind === "schedule" ? problems(document.schedule.spec, ["workload"], index) : [];
  });
}

interface NamedDocument {
  readonly key: string;
  readonly noun: string;
  readonly path: readonly (string | number)[];
}

function namesIn(document: HeadroomDocument): NamedDocument[] {
  switch (document.kind) {
    case "workload": {
      const { team, name } = document.spec;
      return [{ key: `workload ${team} ${name}`, noun: `the workload ${name} of team ${team}`, path: ["name"] }];
    }
    case "schedule": {
      const { name } = document.schedule;
      return [{ key: `schedule ${name}`, noun: `the schedule ${name}`, path: ["name"] }];
    }
    case "pipeline": {
      const { name } = document.pipeline;
      return [{ key: `pipeline ${name}`, noun: `the pipeline ${name}`, path: ["name"] }];
    }
    case "calendar": {
      const { name } = document.entry;
      return [{ key: `calendar ${name}`, noun: `the calendar entry ${name}`, path: ["name"] }];
    }
    case "team":
      return [{ key: `team ${document.team.name}`, noun: `the team ${document.team.name}`, path: ["name"] }];
    case "fleet": {
      const sites = document.fleet.sites.map(({ name }, index): NamedDocument => {
        return { key: `site ${name}`, noun: `the site ${name}`, path: ["sites", index, "name"] };
      });
      const pools = document.fleet.pools.map(({ name, site }): NamedDocument => {
        const siteIndex = document.fleet.sites.findIndex((each) => each.name === site);
        const inSite = document.fleet.pools.filter((each) => each.site === site);
        const poolIndex = inSite.findIndex((each) => each.name === name);
        return {
          key: `pool ${name}`,
          noun: `the pool ${name}`,
          path: ["sites", siteIndex, "pools", poolIndex, "name"],
        };
      });
      return [...sites, ...pools];
    }
  }
}

/** Each cycle is reported once, at the one of its teams that comes first in the documents. */
function cycleProblems(documents: readonly HeadroomDocument[]): CrossProblem[] {
  const parents = new Map<string, { readonly parent: string | null; readonly index: number }>();
  for (const [index, document] of documents.entries()) {
    if (document.kind === "team") parents.set(document.team.name, { parent: document.team.parent, index });
  }
  const problems: CrossProblem[] = [];
  const done = new Set<string>();
  for (const [start, { index }] of parents) {
    const chain: string[] = [];
    let current: string | null = start;
    while (current !== null && !done.has(current) && !chain.includes(current)) {
      chain.push(current);
      current = parents.get(current)?.parent ?? null;
    }
    if (current !== null && chain.includes(current)) {
      const circle = [...chain.slice(chain.indexOf(current)), current];
      const first = documentOf(circle, parents) ?? index;
      problems.push({
        document: first,
        path: ["parent"],
        isAboutKey: false,
        message: `teams are parents of each other: ${circle.join(" → ")}`,
      });
    }
    for (const name of chain) done.add(name);
  }
  return problems;
}

function documentOf(
  circle: readonly string[],
  parents: ReadonlyMap<string, { readonly index: number }>,
): number | undefined {
  const indices = circle.map((name) => parents.get(name)?.index).filter((index) => index !== undefined);
  return indices.length === 0 ? undefined : Math.min(...indices);
}
