/** A gang that the system under the executor cannot run as it was decided. */
export class RefusedGang extends Error {
  override readonly name = "RefusedGang";
}
