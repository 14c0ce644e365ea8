/**
 * Phrases that comments, messages and documents must not use (docs/glossary.md). `tools/vocabulary.ts` rejects them.
 * Quotations in backticks are not checked.
 */
export interface RetiredPhrase {
  readonly pattern: RegExp;
  readonly instead: string;
  /** The packages whose sources are checked; absent: all sources and documents. */
  readonly packages?: readonly string[];
}

const decisions = ["model", "engine", "explain", "engine-oracle", "sim", "views"];

export const retiredPhrases: readonly RetiredPhrase[] = [
  // A question may open with "What" and "Who"; a statement may not.
  {
    pattern: /^[(“"]*(?:What(?!-if)|Who|Whoever|Whom|Whatever)\b[^?]*$/,
    instead: "a sentence that opens with its subject",
  },
  { pattern: /^[(“"]*Of(?! course)\b/, instead: "a sentence that opens with its subject" },
  { pattern: /^[(“"]*So many\b/, instead: "the number, or its name" },
  { pattern: /\banew\b/i, instead: "again" },
  { pattern: /\bas well\b(?! as)/i, instead: "also" },
  { pattern: /\b(?:it|who waits) is told\b/i, instead: "the message, the verdict or the caller that gets it" },
  { pattern: /\basked to leave\b/i, instead: "preempted, evicted or stopped" },
  { pattern: /\bfor whom\b/i, instead: "the noun: preemptor, request, team, user" },
  {
    pattern:
      /\b(?:who|they|it|work|workers?|workloads?|victims?) (?:may|must|has to|have to) leave\b(?! (?:a|un|its))/i,
    instead: "can be preempted",
  },
  { pattern: /\b(?:in|into) force\b/i, instead: "active" },
  { pattern: /\bby (?:what|which) right\b|\bby right\b/i, instead: "preemption ground, entitled" },
  { pattern: /\bwish(?:es)?\b/i, instead: "placement constraint, preference" },
  { pattern: /\bleavers?\b/i, instead: "victim, victim candidate" },
  { pattern: /\b(?:beneficiary|beneficiaries)\b/i, instead: "preemptor" },
  { pattern: /\bgivers?\b/i, instead: "donor" },
  { pattern: /\btakings\b/i, instead: "tentative evictions" },
  { pattern: /\bkept back\b|\bkeeps? back\b/i, instead: "held, hold reason" },
  { pattern: /\boff-peak\b/i, instead: "start window" },
  { pattern: /\bnobody's\b|\bsomebody's\b/i, instead: "the noun" },
  { pattern: /\b(?:promised place|promises? (?:a|the|its) places?)\b/i, instead: "nomination" },
  { pattern: /\brefill(?:s|ed|ing)?\b/i, instead: "rebalance" },
  { pattern: /\bobjections?\b/i, instead: "admission check, failure" },
  {
    pattern: /\bmake room\b|\bmakes room\b|\bmaking room\b/i,
    instead: "free capacity, consolidate",
    packages: decisions,
  },
];
