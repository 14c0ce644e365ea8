/** The graph of a pipeline: its order, and the faults for which a definition is refused. */
import { PIPELINE_STEPS_MAX, artifactTitle, parseArtifactRef } from "@headroom/model";
import type { FanOut, PipelineSpec, PipelineStep, StepCondition } from "@headroom/model";

/** A fault of a definition. `path`: the field, such as `steps`, 3, `after`. */
export interface GraphProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** Faults that are reported at once; a definition with more is wrong in the same way many times. */
const PROBLEMS_MAX = 20;

/** The steps, each after those that it waits for; otherwise in the order of the definition. The graph has no cycle. */
export function orderedSteps({ steps }: Pick<PipelineSpec, "steps">): readonly PipelineStep[] {
  const byName = new Map(steps.map((step) => [step.name, step]));
  const ordered = new Set<PipelineStep>();
  const entered = new Set<PipelineStep>();
  for (const first of steps) {
    // A loop with a list instead of recursion: a chain may be longer than the call stack allows.
    const path = [first];
    for (let step = path.at(-1); step !== undefined; step = path.at(-1)) {
      const ahead = entered.has(step)
        ? []
        : step.after.flatMap((name) => byName.get(name) ?? []).filter((each) => !entered.has(each));
      entered.add(step);
      if (ahead.length > 0) path.push(...ahead.toReversed());
      else {
        path.pop();
        ordered.add(step);
      }
    }
  }
  return [...ordered];
}

/** The steps that wait for one of these, directly or not, with these. */
export function downstreamOf({ steps }: Pick<PipelineSpec, "steps">, names: Iterable<string>): ReadonlySet<string> {
  const followers = new Map<string, string[]>();
  for (const { name, after } of steps)
    for (const each of after) followers.set(each, [...(followers.get(each) ?? []), name]);
  const reached = new Set(names);
  for (const name of reached) for (const follower of followers.get(name) ?? []) reached.add(follower);
  return reached;
}

/** All faults of a definition, the first ones of each kind. Empty: it can run. */
export function graphProblems(pipeline: PipelineSpec): readonly GraphProblem[] {
  const { steps } = pipeline;
  if (steps.length === 0) return [{ path: ["steps"], message: "must have at least one step" }];
  if (steps.length > PIPELINE_STEPS_MAX)
    return [{ path: ["steps"], message: `must have at most ${PIPELINE_STEPS_MAX} steps, got ${steps.length}` }];
  const byName = new Map(steps.map((step) => [step.name, step]));
  const problems = [
    ...duplicateNames(pipeline),
    ...steps.flatMap((step, at) => stepProblems(pipeline, step, at, byName)),
    ...triggerProblems(pipeline),
  ];
  const hasUnknown = problems.some(({ path }) => path[2] === "after");
  return [...problems, ...(hasUnknown ? [] : cycleProblems(steps, byName))].slice(0, PROBLEMS_MAX);
}

function duplicateNames({ steps, params }: PipelineSpec): readonly GraphProblem[] {
  const repeated = (list: readonly { readonly name: string }[], field: string, noun: string): GraphProblem[] => {
    const seen = new Set<string>();
    return list.flatMap(({ name }, at) => {
      if (!seen.has(name)) {
        seen.add(name);
        return [];
      }
      return [{ path: [field, at, "name"], message: `there are two ${noun} ${name}` }];
    });
  };
  return [...repeated(steps, "steps", "steps"), ...repeated(params, "params", "parameters")];
}

function stepProblems(
  { params }: PipelineSpec,
  step: PipelineStep,
  at: number,
  byName: ReadonlyMap<string, PipelineStep>,
): readonly GraphProblem[] {
  const problems: GraphProblem[] = [];
  const fault = (path: readonly (string | number)[], message: string): void => {
    problems.push({ path: ["steps", at, ...path], message });
  };
  const unknownParam = (name: string): string | null =>
    params.some((param) => param.name === name) ? null : `there is no parameter ${name}`;
  for (const [index, name] of step.after.entries())
    if (!byName.has(name)) fault(["after", index], `there is no step ${name}`);
  for (const [index, condition] of step.when.entries()) {
    const message =
      condition.kind === "param" ? unknownParam(condition.param) : referenceFault(step, condition, byName);
    if (message !== null) fault(["when", index], message);
  }
  for (const [index, name] of (step.params ?? []).entries()) {
    const message = unknownParam(name);
    if (message !== null) fault(["params", index], message);
  }
  const { forEach } = step;
  if (forEach !== undefined) {
    const message =
      forEach.kind === "param"
        ? unknownParam(forEach.param)
        : forEach.kind === "values"
          ? null
          : referenceFault(step, forEach, byName);
    if (message !== null) fault(["forEach"], message);
  }
  if (step.setAlias !== undefined) {
    const message = aliasFault(step, byName);
    if (message !== null) fault(["setAlias"], message);
  }
  if (step.spec === null && (forEach !== undefined || step.cache === true || step.timeoutMs !== undefined))
    fault(["workload"], "a step without a workload has no forEach, cache or timeout");
  const clash = clashingArtifact(step, byName);
  if (clash !== null) fault(["after"], clash);
  return problems;
}

/** Conditions and fan-outs read only steps that the step waits for, so that what they read no longer changes. */
function referenceFault(
  { after }: PipelineStep,
  reference: Exclude<StepCondition, { readonly kind: "param" }> | (FanOut & { readonly step: string }),
  byName: ReadonlyMap<string, PipelineStep>,
): string | null {
  const { step } = reference;
  const found = byName.get(step);
  if (found === undefined) return `there is no step ${step}`;
  if (!after.includes(step)) return `the step ${step} must be in after, so that it has ended`;
  if (reference.kind !== "result" || found.spec?.produces?.includes(reference.result) === true) return null;
  return `the step ${step} produces no artifact ${reference.result}`;
}

/** The alias of an artifact of the pipeline's team that a step in `after` makes. */
function aliasFault(
  { setAlias = "", after, spec }: PipelineStep,
  byName: ReadonlyMap<string, PipelineStep>,
): string | null {
  const ref = parseArtifactRef(setAlias);
  if (ref?.at?.kind !== "alias" || ref.team !== null)
    return `must be an alias of an artifact of the team, like model:chat@production, got ${setAlias}`;
  if (spec !== null) return "a step that sets an alias has no workload";
  const title = artifactTitle(ref);
  return after.some((name) => byName.get(name)?.spec?.produces?.includes(title) === true)
    ? null
    : `no step in after produces ${title}`;
}

/** Triggers name artifacts and aliases, and the pipeline does not make what starts it: it would never end. */
function triggerProblems({ team, triggers = [], steps }: PipelineSpec): readonly GraphProblem[] {
  return triggers.flatMap((trigger, at): GraphProblem[] => {
    if (trigger.kind !== "artifact" && trigger.kind !== "alias") return [];
    const text = trigger.kind === "artifact" ? trigger.artifact : trigger.alias;
    const ref = parseArtifactRef(text);
    const example = trigger.kind === "artifact" ? "dataset:text" : "model:chat@production";
    const isFit = ref !== null && (trigger.kind === "artifact" ? ref.at === null : ref.at?.kind === "alias");
    if (!isFit) return [{ path: ["triggers", at, trigger.kind], message: `must be like ${example}, got ${text}` }];
    // The team of the pipeline may be written out.
    const title = artifactTitle(ref);
    const isMade =
      (ref.team ?? team) === team &&
      steps.some(({ spec, setAlias }) =>
        ref.at?.kind === "alias" ? setAlias === `${title}@${ref.at.alias}` : spec?.produces?.includes(title) === true,
      );
    return isMade ? [{ path: ["triggers", at, trigger.kind], message: `the pipeline makes ${text} itself` }] : [];
  });
}

/** Two artifacts of the same name would be one environment variable of the step's workload. */
function clashingArtifact({ after, spec }: PipelineStep, byName: ReadonlyMap<string, PipelineStep>): string | null {
  if (spec === null) return null;
  const producers = new Map<string, string>();
  for (const name of after)
    for (const artifact of byName.get(name)?.spec?.produces ?? []) {
      const first = producers.get(artifact);
      if (first !== undefined && first !== name) return `the steps ${first} and ${name} both produce ${artifact}`;
      producers.set(artifact, name);
    }
  return null;
}

/** One cycle, with the names of its steps; a step in `after` may be missing from `byName`. */
function cycleProblems(
  steps: readonly PipelineStep[],
  byName: ReadonlyMap<string, PipelineStep>,
): readonly GraphProblem[] {
  const done = new Set<string>();
  for (const { name: start } of steps) {
    const path: { readonly name: string; next: number }[] = [{ name: start, next: 0 }];
    const onPath = new Map([[start, 0]]);
    for (let last = path.at(-1); last !== undefined && !done.has(start); last = path.at(-1)) {
      const next = byName.get(last.name)?.after[last.next++];
      if (next === undefined) {
        done.add(last.name);
        onPath.delete(last.name);
        path.pop();
      } else if (onPath.has(next)) {
        const cycle = [...path.slice(onPath.get(next)).map(({ name }) => name), next];
        const at = steps.findIndex(({ name }) => name === cycle[0]);
        return [{ path: ["steps", at, "after"], message: `the steps wait for each other: ${cycle.join(" → ")}` }];
      } else if (!done.has(next)) {
        onPath.set(next, path.length);
        path.push({ name: next, next: 0 });
      }
    }
  }
  return [];
}
