/** A review as text. */
import type { Review } from "@headroom/usage";
import type { CommandContext } from "../command.ts";
import { tableLines } from "../output/table.ts";
import { reviewSections, reviewTitle } from "./review-sections.ts";

export function reviewLines(review: Review, { terminal, paint }: CommandContext): readonly string[] {
  const sections = reviewSections(review).flatMap(({ title, lines, table }) => {
    const columns = (table?.titles ?? []).map((each, index) => ({
      title: each,
      align: index === 0 ? ("left" as const) : ("right" as const),
    }));
    const rows = table === undefined || table.rows.length === 0 ? [] : table.rows;
    return [
      "",
      paint("bold", title),
      ...lines.map((line) => `  ${line}`),
      ...(rows.length === 0 ? [] : tableLines(columns, rows, terminal.stdout, paint)),
    ];
  });
  return [paint("bold", reviewTitle(review)), ...sections];
}
