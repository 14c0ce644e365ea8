/**
 * The ends of all steps of a run, computed step by step in topological order from the fates of its steps alone: slow, and without the
 * code that advances runs.
 */
import type { PipelineSpec, PipelineStep } from "@headroom/model";
import type { Fate } from "./random-pipelines.ts";

type End = "succeeded" | "skipped" | "failed" | "cancelled";
export type Ends = ReadonlyMap<string, End>;

/** One try of the run after the other, with what later tries keep and reuse. */
export class TopologicalOracle {
  readonly #pipeline: PipelineSpec;
  readonly #fate: Fate;
  ends: ReadonlyMap<string, End> = new Map();
  /** For each step, the try in which its workload ran. */
  #producers: ReadonlyMap<string, string> = new Map();
  /** Producers of successes, by step and the producers of its inputs. */
  readonly #cache = new Map<string, string>();
  #retryCount = -1;

  constructor(pipeline: PipelineSpec, fate: Fate) {
    this.#pipeline = pipeline;
    this.#fate = fate;
  }

  /** The ends after one more try: the first one, or a retry of what did not succeed. */
  play(): Ends {
    this.#retryCount++;
    const before = { ends: this.ends, producers: this.#producers };
    const ends = new Map<string, End>();
    const producers = new Map<string, string>();
    const changed = new Set<string>();
    const left = new Set(this.#pipeline.steps);
    while (left.size > 0) {
      const step = [...left].find(({ after }) => ![...left].some(({ name }) => after.includes(name)));
      if (step === undefined) throw new Error("the steps form a cycle");
      left.delete(step);
      const isChanged = step.after.some((name) => changed.has(name));
      const was = [...before.ends].filter(([key]) => isOf(key, step.name));
      const isSound = was.every(
        ([, end]) => end === "succeeded" || (end === "skipped" && conditionSkips(step, before.ends)),
      );
      if (this.#retryCount > 0 && (isChanged || !isSound)) changed.add(step.name);
      for (const key of keysOf(step, ends)) {
        if (key === null) {
          ends.set(step.name, "skipped");
          continue;
        }
        const producer = before.producers.get(key);
        if (!isChanged && before.ends.get(key) === "succeeded") {
          ends.set(key, "succeeded");
          if (producer !== undefined) producers.set(key, producer);
        } else this.#run(step, key, ends, producers);
      }
    }
    this.ends = ends;
    this.#producers = producers;
    return ends;
  }

  #run(step: PipelineStep, key: string, ends: Map<string, End>, producers: Map<string, string>): void {
    const inputs = step.after.flatMap((name) =>
      [...ends.keys()].filter((other) => isOf(other, name)).flatMap((other) => producers.get(other) ?? []),
    );
    const cacheKey = [key, ...inputs].join(" ");
    const cached = step.cache === true ? this.#cache.get(cacheKey) : undefined;
    if (cached !== undefined) {
      ends.set(key, "succeeded");
      producers.set(key, cached);
      return;
    }
    const fate = this.#fate(key, this.#retryCount);
    ends.set(key, step.spec === null && fate === "cancelled" ? "failed" : fate);
    if (step.spec === null) return;
    const producer = `${key}@${this.#retryCount}`;
    producers.set(key, producer);
    if (fate === "succeeded") this.#cache.set(cacheKey, producer);
  }
}

const isOf = (key: string, name: string): boolean => key === name || key.startsWith(`${name}[`);

const outcomeOf = (ends: Ends, name: string): "succeeded" | "failed" | "skipped" => {
  const own = [...ends].filter(([key]) => isOf(key, name)).map(([, end]) => end);
  if (own.includes("failed") || own.includes("cancelled")) return "failed";
  return own.includes("skipped") ? "skipped" : "succeeded";
};

const upstreamSkips = ({ after, upstream }: PipelineStep, ends: Ends): boolean =>
  upstream === "succeeded" && after.some((name) => outcomeOf(ends, name) !== "succeeded");

function conditionSkips(step: PipelineStep, ends: Ends): boolean {
  if (upstreamSkips(step, ends)) return false;
  return step.when.some((condition) => {
    if (condition.kind === "outcome") return outcomeOf(ends, condition.step) !== condition.is;
    return condition.kind === "param" && condition.test.value !== "x";
  });
}

/** The keys of the step's items; `null`: it is skipped. */
function keysOf(step: PipelineStep, ends: Ends): readonly (string | null)[] {
  const { name, forEach } = step;
  if (upstreamSkips(step, ends) || conditionSkips(step, ends)) return [null];
  return forEach?.kind === "values" ? forEach.values.map((_, index) => `${name}[${index}]`) : [name];
}
