/** The team of work that names none. In a file of its own, so that the console's first page loads no schemas for it. */
export const DEFAULT_TEAM = "default";
