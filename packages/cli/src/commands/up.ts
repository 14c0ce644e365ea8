import { defineCommand } from "../command.ts";
export const upCommand = defineCommand<object>({ name: "up", summary: "Start", run: () => Promise.resolve(0) });
