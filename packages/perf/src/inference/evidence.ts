import { matrixClassOf, type MatrixClass } from "../catalogue/number-format.ts";
import { measuredServing } from "./measured-serving.ts";
import type { Replica } from "./replica.ts";

/**
 * How an engine executes a model. `eager`: kernel by kernel. `fused`: compiled for the model. `mixed`: PyTorch's
 * kernels in captured graphs. `promptsFirst`: decoding stops while prompts are computed.
 */
export type EngineStyle = "eager" | "fused" | "mixed" | "promptsFirst";

/** Traits of a replica that determine how similar it is to measured replicas. */
export interface ServingKind {
  readonly architecture: string;
  readonly engine: EngineStyle;
  readonly hasExperts: boolean;
  readonly matrixClass: MatrixClass;
}

/** Number of measurements of one kind of replica, and number of publications from which they come. */
export interface ServingEvidence extends ServingKind {
  readonly sourceCount: number;
}

export function servingKindOf({ accelerator, engine, formats, model }: Replica): ServingKind {
  const usual = engine.isPromptMixed ? "mixed" : "promptsFirst";
  const captured = engine.isKernelFused ? "fused" : usual;
  return {
    architecture: accelerator.architecture ?? accelerator.name,
    engine: engine.isGraphCaptured ? captured : "eager",
    hasExperts: model.experts !== undefined,
    matrixClass: matrixClassOf(model.experts === undefined ? formats.linear : formats.experts),
  };
}

/** Distance that is added for each trait in which a replica differs from a measured replica. */
const differences = { architecture: 2, engine: 0.5, hasExperts: 1, matrixClass: 0.5, lonely: 0.25 } as const;

/**
 * From this distance on, no measured replica counts as similar. A different architecture or family is enough to reach
 * it.
 */
const farDistance = 1;

/** Distance if there are no measurements. */
const farthest = 4;

export interface ServingEvidenceReading {
  /** Distance from the nearest measured replica. 0 if several publications measured replicas of the same kind. */
  readonly distance: number;
  readonly isFar: boolean;
  /** The nearest kind of replica that was measured. */
  readonly nearest: ServingEvidence | undefined;
}

/** Distance of a replica from the nearest measured kind of replica. */
export function servingEvidenceFor(
  kind: ServingKind,
  evidence: readonly ServingEvidence[] = measuredServing,
): ServingEvidenceReading {
  let distance = farthest;
  let nearest: ServingEvidence | undefined;
  for (const point of evidence) {
    const away = distanceTo(kind, point);
    if (away < distance) [distance, nearest] = [away, point];
  }
  return { distance, isFar: distance >= farDistance, nearest };
}

function distanceTo(kind: ServingKind, point: ServingEvidence): number {
  return (
    (kind.architecture === point.architecture ? 0 : differences.architecture) +
    (kind.engine === point.engine ? 0 : differences.engine) +
    (kind.hasExperts === point.hasExperts ? 0 : differences.hasExperts) +
    (kind.matrixClass === point.matrixClass ? 0 : differences.matrixClass) +
    (point.sourceCount > 1 ? 0 : differences.lonely)
  );
}

/** A kind of replica in words, such as "Hopper, fused, fp8, mixture of experts". */
export function describeServingKind({ architecture, engine, matrixClass, hasExperts }: ServingKind): string {
  return `${architecture}, ${engine}, ${matrixClass}, ${hasExperts ? "mixture of experts" : "dense"}`;
}

/**
 * The kinds of the measured replicas, each with its number of sources. They are sorted by their descriptions in words.
 */
export function servingEvidenceOf(
  measured: readonly { readonly kind: ServingKind; readonly source: string }[],
): readonly ServingEvidence[] {
  const cells = new Map<string, { kind: ServingKind; sources: Set<string> }>();
  for (const { kind, source } of measured) {
    const key = describeServingKind(kind);
    const cell = cells.get(key) ?? { kind, sources: new Set() };
    cell.sources.add(source);
    cells.set(key, cell);
  }
  const sorted = [...cells].toSorted(([left], [right]) => (left < right ? -1 : 1));
  return sorted.map(([, { kind, sources }]) => ({ ...kind, sourceCount: sources.size }));
}
