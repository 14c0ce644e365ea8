/** Whom work keeps away from: sets of work by name, in a domain of the fabric or of a label, or everybody on its nodes. */
export interface AntiAffinitySpec {
  /** Sets that the work belongs to; others may keep away from them. */
  readonly sets?: readonly string[];
  /** It shares no domain with work of these sets that is not its own gang; nor may such work come near it. */
  readonly from?: readonly AntiAffinityFrom[];
  /** Nobody else is on its nodes. */
  readonly exclusive?: true;
}

/** `within`: a domain of this level of the fabric, or the node. `topologyKey`: nodes with the same value of this label. */
export type AntiAffinityFrom =
  | { readonly set: string; readonly within: string }
  | { readonly set: string; readonly topologyKey: string };
