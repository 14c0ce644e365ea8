/**
 * Name of the environment variable that contains the simulated run time of a workload. Users see it in the
 * specification.
 */
export const DURATION_VARIABLE = "SIMULATED_DURATION_S";
