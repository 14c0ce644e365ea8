/** `budget` of `kind: serve`: money of an endpoint for each day or month. */
import { z } from "zod";
import { defaulted, optional, record, required } from "../encoding/field.ts";
import * as notation from "../encoding/notation.ts";
import { dollars } from "../team.ts";

const budget = record(
  {
    usd: required(dollars, {
      wire: "microUsd",
      description:
        "Dollars for each period: replicas by the prices of the pools, and requests that left by `overflow`.",
      examples: [50],
    }),
    period: defaulted(notation.choice(["day", "month"]), "day", {
      description: "Calendar day or month in UTC. The budget is renewed at its start.",
    }),
    over: defaulted(notation.choice(["warn", "minimum", "stop"]), "minimum", {
      description:
        "Replicas that stay when the budget is spent, until it is renewed. `warn`: all. `minimum`: `replicas.min`. `stop`: none.",
    }),
  },
  {
    meant: { money: "usd", dollars: "usd", per: "period", action: "over" },
    wire: (shape) =>
      z
        .strictObject({ ...shape, period: shape.period.unwrap(), over: shape.over.unwrap() })
        .meta({ id: "EndpointBudget" }),
  },
);

export const endpointBudget = optional(budget, {
  description: "Money of the endpoint, which bounds its number of replicas once it is spent.",
  otherwise: "the budgets of its team alone bound it",
});
