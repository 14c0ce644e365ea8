/** Operations that answer questions about capacity ahead of time. They are rows of the table in `operations.ts`. */
import { z } from "zod";
import { causeHoursOperation } from "./cause-hours.ts";
import { costs, costsQuery } from "./cost.ts";
import { offerOperations } from "./offers.ts";
import { operation } from "./operation.ts";
import { queryBoolean } from "./page.ts";
import { planDocuments, planStored, storedPlan } from "./plan.ts";
import { fleetPredictions } from "./predictions.ts";
import { sizingAnswer, sizingQuestion } from "./sizing.ts";

export const planningOperations = {
  size: operation("POST /v1/sizing", "Ask the performance model for time, memory and cost", sizingAnswer, {
    permission: "sizing.read",
    subject: "any",
    body: sizingQuestion,
  }),
  fleetPredictions: operation(
    "GET /v1/predictions",
    "Predictions, measured runs and the correction of predictions, by accelerator type and family",
    fleetPredictions,
    { permission: "workloads.read", problems: ["overloaded"] },
  ),
  costs: operation(
    "GET /v1/costs",
    "Costs by period and by team, user, workload, pool or cause; by default of each team and day of the last 30 days",
    costs,
    {
      permission: "workloads.read",
      subject: "teams",
      query: costsQuery,
      problems: ["overloaded", "tookTooLong"],
    },
  ),
  causeHours: causeHoursOperation,
  ...offerOperations,
  plan: operation("GET /v1/plan", "The stored capacity plan: what runs out when, orders, cost", storedPlan, {
    permission: "plan.read",
  }),
  storePlan: operation("PUT /v1/plan", "Solve a capacity plan and store it with its documents", planStored, {
    permission: "plan.write",
    query: z.strictObject({
      dryRun: queryBoolean.optional().meta({ description: "Solve the plan and store nothing." }),
    }),
    body: planDocuments,
    problems: ["overloaded", "tookTooLong"],
  }),
};
