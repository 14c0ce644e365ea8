import { defineCommand, jsonOption } from "../command.ts";
import type { PlanOutputOptions } from "../plan/run-ceilings.ts";
import type { ForecastOptions } from "../plan/run-forecast.ts";
import type { PlanOptions } from "../plan/run-plan.ts";
import type { StorePlanOptions } from "../plan/store-plan.ts";

const ceilingsCommand = defineCommand<PlanOutputOptions>({
  name: "ceilings",
  summary: "Say which axis runs out first: accelerators, network, storage, power, space, people",
  details: `FILE has a forecast of demand and the capacity of each axis (docs/how-to/plan-capacity.md).

Example:
  headroom plan ceilings examples/plan/ceilings.yaml`,
  arguments: [{ syntax: "<file>", description: "document of ceilings", complete: "file" }],
  options: [jsonOption],
  async run(context, { args, options }) {
    const { runCeilings } = await import("../plan/run-ceilings.ts");
    return runCeilings(context, args[0] ?? "", options);
  },
});

const triggersCommand = defineCommand<PlanOutputOptions>({
  name: "triggers",
  summary: "Evaluate scaling triggers on measured and forecast series",
  details: `FILE has triggers and series (docs/how-to/plan-capacity.md). The exit code is 1 while a trigger is active.

Example:
  headroom plan triggers examples/plan/triggers.yaml`,
  arguments: [{ syntax: "<file>", description: "document of triggers", complete: "file" }],
  options: [jsonOption],
  async run(context, { args, options }) {
    const { runTriggers } = await import("../plan/run-ceilings.ts");
    return runTriggers(context, args[0] ?? "", options);
  },
});

const demandCommand = defineCommand<PlanOutputOptions>({
  name: "demand",
  summary: "Size what people expect: projects, teams and endpoints as accelerators by month",
  details: `FILE is a demand document (docs/how-to/plan-capacity.md); each entry has an owner. The performance model turns models into
accelerators. \`headroom plan FILE --demand FILE\` plans for it.

Example:
  headroom plan demand examples/plan/demand.yaml`,
  arguments: [{ syntax: "<file>", description: "demand document", complete: "file" }],
  options: [jsonOption],
  async run(context, { args, options }) {
    const { runDemand } = await import("../plan/run-demand.ts");
    return runDemand(context, args[0] ?? "", options);
  },
});

const forecastCommand = defineCommand<ForecastOptions>({
  name: "forecast",
  summary: "Forecast demand by month from what was measured",
  details: `Reads the use of the accelerators from the journal of the state directory (--home), or from a CSV file with the columns time and
value. It needs 8 whole weeks. \`headroom plan FILE --measured\` plans for the pools of the journal.

Examples:
  headroom plan forecast --by team --months 12
  headroom plan forecast --series use.csv --csv > demand.csv`,
  options: [
    { flags: "--by <field>", description: "pool or team (default: pool)", complete: ["pool", "team"] },
    { flags: "--months <count>", description: "number of months (default: 36)" },
    {
      flags: "--series <file>",
      description: "CSV file of accelerators in use (default: the journal)",
      complete: "file",
    },
    { flags: "--csv", description: "print comma-separated values" },
    jsonOption,
  ],
  async run(context, { options }) {
    const { runForecast } = await import("../plan/run-forecast.ts");
    return runForecast(context, options);
  },
});

const demandOption = {
  flags: "--demand <file>",
  description: "demand document that takes the place of the plan's demand for its pool (default: none)",
  complete: "file",
} as const;

const storeCommand = defineCommand<StorePlanOptions>({
  name: "store",
  summary: "Store a plan in the control plane: the page Plan of the console shows it",
  details: `The control plane solves the plan, also with more demand, longer deliveries and late orders, and keeps documents and result.
A stored plan has at most 60 months, 20 options with existing cohorts, and 20 levels of demand.

Example:
  headroom plan store examples/plan/plan.yaml --ceilings examples/plan/ceilings.yaml`,
  arguments: [{ syntax: "<file>", description: "plan document", complete: "file" }],
  options: [
    { flags: "--ceilings <file>", description: "document of ceilings of the site (default: none)", complete: "file" },
    demandOption,
    { flags: "--dry-run", description: "solve the plan and store nothing" },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { storePlan } = await import("../plan/store-plan.ts");
    return storePlan(context, args[0] ?? "", options);
  },
});

export const planCommand = defineCommand<PlanOptions>({
  name: "plan",
  summary: "Plan capacity: what to buy, to order by which date, and what it costs",
  details: `FILE is a plan document in YAML or JSON (docs/how-to/plan-capacity.md): demand by month, options to buy capacity, limits.
The plan meets demand at the accepted risk at the lowest expected cost, and an independent check recomputes it. If no plan exists, the
constraints that prevent it are named, and the exit code is 1.

Examples:
  headroom plan examples/plan/plan.yaml
  headroom plan examples/plan/plan.yaml --scenarios 20 --json
  headroom plan examples/plan/plan.yaml --prove`,
  arguments: [{ syntax: "<file>", description: "plan document", complete: "file" }],
  options: [
    {
      flags: "--scenarios <count>",
      description: "levels of demand between which the cost is weighed (default: the document's, 5)",
    },
    demandOption,
    {
      flags: "--measured",
      description:
        "forecast the demand of each pool that has a history in the journal (--home), in place of the plan's",
    },
    { flags: "--gap <percent>", description: "accepted distance to the cheapest plan (default: 1)" },
    {
      flags: "--prove",
      description: "play every third month of drawn futures with the real engine, beside what the plan promises",
    },
    { flags: "--futures <count>", description: "number of futures that --prove draws (default: 3)" },
    jsonOption,
  ],
  commands: [demandCommand, forecastCommand, ceilingsCommand, triggersCommand, storeCommand],
  async run(context, { args, options }) {
    const { runPlan } = await import("../plan/run-plan.ts");
    return runPlan(context, args[0] ?? "", options);
  },
});
