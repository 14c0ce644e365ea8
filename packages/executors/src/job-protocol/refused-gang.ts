import type { LossCause } from "@headroom/model";

/** A gang that the system under the executor cannot run as it was decided. */
export class RefusedGang extends Error {
  override readonly name = "RefusedGang";
  readonly lossCause: LossCause;

  constructor(message: string, lossCause: LossCause = "records") {
    super(message);
    this.lossCause = lossCause;
  }
}
