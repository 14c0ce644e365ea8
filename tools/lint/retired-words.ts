/**
 * Words that the glossary replaced (docs/glossary.md). `tools/vocabulary.ts` rejects them in identifiers, in the names of fields and
 * events, and in string literals that are one such name.
 */
export interface RetiredWord {
  /** One word of an identifier, in lower case, or two joined: `offpeak` for `offPeak`. */
  readonly word: string;
  readonly instead: string;
  /** The packages in which the word is retired; absent: in all. */
  readonly packages?: readonly string[];
  /** The word alone is another term of the glossary. */
  readonly mayStandAlone?: true;
}

const scheduler = ["model", "engine", "explain", "engine-oracle"];
const decisions = [...scheduler, "sim", "views"];

export const retiredWords: readonly RetiredWord[] = [
  { word: "wish", instead: "constraint" },
  { word: "wishes", instead: "constraints" },
  { word: "apart", instead: "antiAffinity" },
  { word: "leaver", instead: "victimCandidate" },
  { word: "leavers", instead: "victimCandidates" },
  { word: "beneficiary", instead: "preemptor" },
  { word: "giver", instead: "donor" },
  { word: "givers", instead: "donors" },
  { word: "takings", instead: "tentativeEvictions" },
  { word: "takenback", instead: "undone" },
  { word: "standings", instead: "teamShares" },
  { word: "objection", instead: "admissionFailure" },
  { word: "objections", instead: "admissionFailures" },
  { word: "outlook", instead: "forecast" },
  { word: "desk", instead: "service" },
  { word: "shelf", instead: "store" },
  { word: "refill", instead: "rebalance" },
  { word: "waives", instead: "waivedInvariants" },
  { word: "offpeak", instead: "startWindow" },
  { word: "keptback", instead: "holdReason" },
  { word: "pastuse", instead: "decayedUsage" },
  { word: "hope", instead: "lowerBound" },
  { word: "loan", instead: "opportunisticJob" },
  { word: "evictionright", instead: "PreemptionGround" },
  { word: "movesmax", instead: "migrationsMax" },
  { word: "movesper", instead: "migrationsPer" },
  { word: "placementclass", instead: "bucket" },
  { word: "promisedplace", instead: "nomination" },
  { word: "rankslost", instead: "lostRanks" },
  { word: "inforce", instead: "active" },
  { word: "reachof", instead: "preemptionScope" },
  { word: "byright", instead: "byEntitlement" },
  { word: "moved", instead: "migrated", packages: scheduler },
  { word: "wounded", instead: "degraded", packages: scheduler },
  { word: "promise", instead: "nomination", packages: decisions },
  { word: "promises", instead: "nominations", packages: decisions },
  { word: "promised", instead: "nominated", packages: decisions },
  // A phase of capacity orders.
  { word: "leaving", instead: "terminating", packages: decisions, mayStandAlone: true },
  { word: "claim", instead: "entitlement", packages: scheduler },
  { word: "claims", instead: "entitlements", packages: scheduler },
  { word: "trial", instead: "counterfactual", packages: scheduler },
  { word: "trials", instead: "counterfactuals", packages: scheduler },
  { word: "endings", instead: "completions", packages: scheduler },
  { word: "coming", instead: "releasing", packages: scheduler },
];
