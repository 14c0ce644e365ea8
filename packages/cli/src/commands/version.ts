import { exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { version } from "../version.ts";

interface VersionCommandOptions {
  readonly json?: boolean;
}

export const versionCommand = defineCommand<VersionCommandOptions>({
  name: "version",
  summary: "Print the versions of Headroom and of the Node that runs it; with --json also of the journal and the API",
  options: [jsonOption],
  async run(context, { options }) {
    const versions = {
      headroom: version(),
      node: process.versions.node,
      platform: `${process.platform}-${process.arch}`,
    };
    if (options.json === true) {
      const { journalFormat } = await import("@headroom/server");
      const formats = { journal: { writes: journalFormat, reads: `1 to ${journalFormat}` }, api: "v1" };
      context.print(JSON.stringify({ ...versions, ...formats }, null, 2));
    } else context.print(`headroom ${versions.headroom} (node ${versions.node}, ${versions.platform})`);
    return exitCode.ok;
  },
});
