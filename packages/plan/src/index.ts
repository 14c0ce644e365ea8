export { losesWork, runSpotJob, type SpotAccount, type SpotJob } from "./offers/spot-job.ts";
export { offlineOptimum } from "./offers/spot-optimum.ts";
export { ExpectedCostPolicy } from "./offers/spot-policy.ts";
export { spotSeries, type SpotRow, type SpotSeries } from "./offers/spot-series.ts";
