/** Rows of the operations table about drills. */
import { byDrill, drill, drillForecast, drillList, drillRequest } from "./drill.ts";
import { operation } from "./operation.ts";
import { commandProblems } from "./operation-problems.ts";

export const drillOperations = {
  forecastDrill: operation(
    "POST /v1/drills/forecast",
    "Simulate the loss of failure domains from the live state on; nothing is recorded",
    drillForecast,
    {
      permission: "simulations.run",
      body: drillRequest,
      problems: ["unknownDomain", "overloaded", "tookTooLong"],
    },
  ),
  startDrill: operation(
    "POST /v1/drills",
    "Take nodes that are allowed for drills from work as if they were lost, for some time",
    drill,
    {
      permission: "fleet.write",
      body: drillRequest,
      status: 201,
      problems: ["unknownDomain", "drillNotAllowed", "drillRunning", "tookTooLong", ...commandProblems],
    },
  ),
  listDrills: operation("GET /v1/drills", "Drills, the newest first", drillList, { permission: "fleet.read" }),
  getDrill: operation("GET /v1/drills/{id}", "One drill: expected and observed effects", drill, {
    permission: "fleet.read",
    params: byDrill,
    problems: ["unknownDrill"],
  }),
  cancelDrill: operation("DELETE /v1/drills/{id}", "End a drill now: its nodes take work again", drill, {
    permission: "fleet.write",
    params: byDrill,
    problems: ["unknownDrill", "drillOver", ...commandProblems],
  }),
};
