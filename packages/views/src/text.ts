/**
 * The words of answers, for programs without an engine: no file that is exported here loads the engine. The command line
 * starts in a third of the time without it.
 */
export { gateText } from "./artifact-text.ts";
export { spentText } from "./budget-text.ts";
export { closedByText } from "./eviction-text.ts";
export { anyOneStartsIt, noneStartsIt } from "./forecast-words.ts";
export { gangSizeText } from "./gang-size-text.ts";
export { durationText, grouped, hoursText, partForm, resourceForm, resourceTexts } from "./plain-text.ts";
export { triggerText } from "./pipeline-text.ts";
export { postmortemText } from "./incident-text.ts";
export { predictionText } from "./prediction-text.ts";
export { closedPlacesText } from "./shortfall-text.ts";
export { proposalPhaseText, proposalRuleText, proposedChangeText } from "./proposal-text.ts";
export { spanText } from "./capacity-order-text.ts";
export { stagingText } from "./staging-text.ts";
export { slowRunText, stepComparisonText, stepText } from "./slow-run-text.ts";
export { budgetSentence, forecastSentences, isUsedUp } from "./team-budget.ts";
export { amountText } from "./team-text.ts";
export { interruptionOutcome, meanOf, startsEarlier, teamShares, tenths, type TeamShare } from "./what-if-figures.ts";
