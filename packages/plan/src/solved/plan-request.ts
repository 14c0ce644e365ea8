/** The documents of a plan that a control plane keeps: the plan, and the ceilings of the site if they are known. */
import { readCeilingDocument, type CeilingDocument } from "../ceilings/ceilings.ts";
import { readPlanDocument, type PlanDocument, type PlanDocumentProblem } from "../document/plan-document.ts";

export interface PlanRequest {
  readonly plan: PlanDocument;
  readonly ceilings: CeilingDocument | null;
}

export type PlanRequestReading =
  | { readonly kind: "read"; readonly request: PlanRequest }
  | { readonly kind: "refused"; readonly problems: readonly PlanDocumentProblem[] };

/** Bounds of a plan that several variants are solved for while others wait. The command line has no such bounds. */
const STORED_MONTHS_MAX = 60;
const STORED_OPTIONS_MAX = 20;
const STORED_LEVELS_MAX = 20;

export function readPlanRequest({
  plan,
  ceilings,
}: {
  readonly plan: unknown;
  readonly ceilings: unknown;
}): PlanRequestReading {
  const reading = readPlanDocument(plan);
  const site = ceilings === null ? null : readCeilingDocument(ceilings);
  const problems = [
    ...below("plan", reading.kind === "refused" ? reading.problems : sizeProblems(reading.document)),
    ...below("ceilings", site?.kind === "refused" ? site.problems : []),
  ];
  if (problems.length > 0 || reading.kind === "refused" || site?.kind === "refused")
    return { kind: "refused", problems };
  return { kind: "read", request: { plan: reading.document, ceilings: site === null ? null : site.document } };
}

function below(part: string, problems: readonly PlanDocumentProblem[]): readonly PlanDocumentProblem[] {
  return problems.map(({ path, message }) => ({ path: [part, ...path], message }));
}

function sizeProblems({ months, options, existing, scenarios }: PlanDocument): readonly PlanDocumentProblem[] {
  const problems: PlanDocumentProblem[] = [];
  const refuse = (field: string, found: number, most: number): void => {
    if (found > most)
      problems.push({ path: [field], message: `a stored plan has at most ${most}, this one has ${found}` });
  };
  refuse("months", months, STORED_MONTHS_MAX);
  refuse("options", options.length + existing.length, STORED_OPTIONS_MAX);
  refuse("scenarios", scenarios, STORED_LEVELS_MAX);
  return problems;
}
