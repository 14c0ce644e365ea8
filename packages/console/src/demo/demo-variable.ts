/** Name of the environment variable with the simulated run time of a workload, visible in its specification. */
export const DURATION_VARIABLE = "SIMULATED_DURATION_S";
