import type { Autoscaler, ScaleDecision } from "../contract.ts";

/** A constant number of replicas. */
export class FixedScaler implements Autoscaler {
  readonly name: string;
  readonly #replicas: number;

  constructor(replicas: number, name = "static") {
    this.#replicas = replicas;
    this.name = name;
  }

  decide(): ScaleDecision {
    return { replicas: this.#replicas, reason: `${this.#replicas} replicas are fixed` };
  }
}
