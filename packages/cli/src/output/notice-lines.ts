/** Notices about submitted work, as lines. */
import type { SubmissionNotice } from "@headroom/protocol";
import { printable } from "../terminal.ts";

const labels: Readonly<Record<SubmissionNotice["kind"], string>> = {
  reclaimable: "note",
  checkpointInterval: "note",
  noCheckpoints: "warning",
  notEnforced: "warning",
  transfer: "note",
};

export const noticeLines = (notices: readonly SubmissionNotice[] = []): string[] =>
  notices.map(({ kind, message }) => `${labels[kind]}: ${printable(message)}`);
