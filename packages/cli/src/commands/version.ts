import { exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import { version } from "../version.ts";

interface VersionCommandOptions {
  readonly json?: boolean;
}

export const versionCommand = defineCommand<VersionCommandOptions>({
  name: "version",
  summary: "Print the versions of Headroom and of the Node that runs it",
  options: [jsonOption],
  run(context, { options }) {
    const versions = {
      headroom: version(),
      node: process.versions.node,
      platform: `${process.platform}-${process.arch}`,
    };
    if (options.json === true) context.print(JSON.stringify(versions, null, 2));
    else context.print(`headroom ${versions.headroom} (node ${versions.node}, ${versions.platform})`);
    return Promise.resolve(exitCode.ok);
  },
});
