import { CliError, exitCode } from "../cli-error.ts";
import { defineCommand, jsonOption } from "../command.ts";
import type { AddStoreOptions, StoreCommandOptions } from "../store/run-stores.ts";

const nameArgument = { syntax: "<name>", description: "name of the store" };

const addCommand = defineCommand<AddStoreOptions>({
  name: "add",
  summary: "Declare a store, or replace its declaration",
  details: `The types and their settings: docs/how-to/use-stores.md. A secret is a reference: file:/path or env:NAME, as the control plane
sees it. The declaration is kept in stores.yaml in the state directory of the control plane.

Examples:
  headroom store add s3 lake --setting bucket=lake --setting endpoint=http://127.0.0.1:7480 \\
    --setting accessKey=file:/etc/headroom/lake.id --setting secretKey=file:/etc/headroom/lake.key
  headroom store add shared nfs --setting path=/nfs/data --setting cached=true \\
    --setting 'readers=["*"]' --setting 'writers=["research","ops/night"]'

Without readers and writers only the team default reads and writes.`,
  arguments: [
    { syntax: "<type>", description: "s3, oci, shared or local", complete: ["s3", "oci", "shared", "local"] },
    nameArgument,
  ],
  options: [
    { flags: "--setting <name=value>", description: "a setting of the type (default: none)", repeatable: true },
    jsonOption,
  ],
  async run(context, { args, options }) {
    const { addStore } = await import("../store/run-stores.ts");
    return addStore(context, args, options);
  },
});

const listCommand = defineCommand<StoreCommandOptions>({
  name: "list",
  summary: "List the declared stores",
  options: [jsonOption],
  async run(context, { options }) {
    const { listStores } = await import("../store/run-stores.ts");
    return listStores(context, options);
  },
});

const showCommand = defineCommand<StoreCommandOptions>({
  name: "show",
  summary: "Show a store with its settings",
  arguments: [nameArgument],
  options: [jsonOption],
  async run(context, { args, options }) {
    const { showStore } = await import("../store/run-stores.ts");
    return showStore(context, args, options);
  },
});

const removeCommand = defineCommand<StoreCommandOptions>({
  name: "remove",
  summary: "Remove the declaration of a store; its bytes stay",
  arguments: [nameArgument],
  options: [jsonOption],
  async run(context, { args, options }) {
    const { removeStore } = await import("../store/run-stores.ts");
    return removeStore(context, args, options);
  },
});

const cacheCommand = defineCommand<StoreCommandOptions>({
  name: "cache",
  summary: "Show the inputs in the caches of nodes, and the attempts that hold them",
  options: [jsonOption],
  async run(context, { options }) {
    const { showCaches } = await import("../store/run-stores.ts");
    return showCaches(context, options);
  },
});

export const storeCommand = defineCommand({
  name: "store",
  summary: "Declare stores of data and models, and show what nodes have cached",
  commands: [addCommand, listCommand, showCommand, removeCommand, cacheCommand],
  run() {
    return Promise.reject(
      new CliError("store needs a command: headroom store list, add, show, remove or cache", exitCode.usage),
    );
  },
});
