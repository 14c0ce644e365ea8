/** Whether two lists hold the same, one by one. */
export const isSameList = <T>(left: readonly T[], right: readonly T[]): boolean =>
  left.length === right.length && left.every((each, index) => each === right[index]);
