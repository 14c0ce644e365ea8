/**
 * The file format of scheduling scenarios from other systems, as far as the runner reads it. Other fields belong to a
 * single dialect.
 */
export interface Scenario {
  readonly id: string;
  readonly dialect: string;
  readonly name: string;
  readonly mode: string;
  readonly [field: string]: unknown;
}

export interface FairShareVector {
  readonly id: string;
  readonly name: string;
  readonly total: number;
  readonly queues: readonly {
    readonly name: string;
    readonly quota: number | null;
    readonly limit?: number | null;
    readonly request: number;
    readonly weight: number;
    readonly priority: number | null;
  }[];
  readonly expectedGpuShare: Readonly<Record<string, number>>;
  readonly expectedRemaining?: number;
}

export interface ScenarioFile {
  readonly scenarios?: readonly Scenario[];
  readonly fairShareVectors?: readonly FairShareVector[];
}

/** Differences between expected and actual outcome, one sentence for each; empty: the case passes. */
export interface Outcome {
  readonly id: string;
  readonly dialect: string;
  readonly name: string;
  readonly differences: readonly string[];
}
