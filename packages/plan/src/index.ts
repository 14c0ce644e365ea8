export { losesWork, runSpotJob, type SpotAccount, type SpotJob } from "./offers/spot-job.ts";
export { offlineOptimum } from "./offers/spot-optimum.ts";
export { ExpectedCostPolicy } from "./offers/spot-policy.ts";
export { spotSeries, type SpotRow, type SpotSeries } from "./offers/spot-series.ts";
export { forecast, type Forecast } from "./forecast/forecast.ts";
export { scoreForecast, type ForecastScore } from "./forecast/score.ts";
export { calendarPeriods, detectSeasons } from "./forecast/season.ts";
