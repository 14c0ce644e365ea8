/** Whether two lists have equal elements in the same order. */
export const isSameList = <T>(left: readonly T[], right: readonly T[]): boolean =>
  left.length === right.length && left.every((each, index) => each === right[index]);
