/** Priority classes of requests, the lowest first. They order the queue of a pool (`fair`). */
export const priorities = ["low", "normal", "high"] as const;
export type Priority = (typeof priorities)[number];

/** Position of a class in `priorities`. */
export function rankOf(priority: Priority): number {
  return priorities.indexOf(priority);
}

export function lowerOf(a: Priority, b: Priority): Priority {
  return rankOf(a) <= rankOf(b) ? a : b;
}
