import { exitCode } from "../cli-error.ts";
import { defineCommand } from "../command.ts";

export const schemaCommand = defineCommand<object>({
  name: "schema",
  summary: "Print the JSON Schema of workload files, for editors",
  details:
    "For the YAML language server, put this in the first line of a workload file:\n  # yaml-language-server: $schema=PATH/schemas/headroom.schema.json",
  async run(context) {
    const { documentJsonSchema } = await import("@headroom/protocol");
    context.print(JSON.stringify(documentJsonSchema(), null, 2));
    return exitCode.ok;
  },
});
