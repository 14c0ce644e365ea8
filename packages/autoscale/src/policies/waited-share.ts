/** Share of the objective for the first token that a request may spend waiting. */
export const WAITED_SHARE = 0.85;
