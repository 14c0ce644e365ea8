/** How long the simulator runs an attempt, in the environment of its specification, where everybody can see it. */
export const DURATION_VARIABLE = "SIMULATED_DURATION_S";
