import { defineCommand, jsonOption } from "../command.ts";
import type { ReviewOptions } from "../review/run-review.ts";

export const reviewCommand = defineCommand<ReviewOptions>({
  name: "review",
  summary: "Review a quarter: demand and plan against outcome, ceilings, cost, failures, decisions",
  details: `Reads the journal of the state directory (--home) and the plan stored there. The same journal, prices, plan and last review give
the same bytes. Keep the JSON and the file plan.json of each review: the next one scores them.

Examples:
  headroom review --quarter 2026Q3
  headroom review --quarter 2026Q3 --json > 2026Q3.json
  headroom review --quarter 2026Q4 --last 2026Q3.json --html review.html`,
  options: [
    { flags: "--quarter <quarter>", description: "quarter in UTC, such as 2026Q3 (required)" },
    { flags: "--state <dir>", description: "state directory (default: that of --home)", complete: "file" },
    {
      flags: "--prices <file>",
      description: "file or directory of price documents (default: prices/ in the state directory); repeatable",
      complete: "file",
      repeatable: true,
    },
    {
      flags: "--plan <file>",
      description: "a stored plan, to review an earlier one (default: plan.json of the state directory)",
      complete: "file",
    },
    { flags: "--last <file>", description: "JSON of the last review, to score it (default: none)", complete: "file" },
    { flags: "--html <file>", description: "also write a page with plots (default: none)", complete: "file" },
    jsonOption,
  ],
  async run(context, { options }) {
    const { runReview } = await import("../review/run-review.ts");
    return runReview(context, options);
  },
});
