/** Whom work keeps away from: sets of work by name, in a domain of the fabric or of a label, or everybody on its nodes. */
export interface ApartSpec {
  /** Sets that the work belongs to; others may keep away from them. */
  readonly sets?: readonly string[];
  /** It shares no domain with work of these sets that is not its own gang; nor may such work come near it. */
  readonly from?: readonly ApartFrom[];
  /** Nobody else is on its nodes. */
  readonly alone?: true;
}

/** `within`: a domain of this level of the fabric, or the node. `over`: nodes with the same value of this label. */
export type ApartFrom =
  | { readonly set: string; readonly within: string }
  | { readonly set: string; readonly over: string };
