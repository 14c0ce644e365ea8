/**
 * The settings of `headroom up`, each declared once. The command's options, the fields of headroom.yaml, the help, the
 * completion and docs/reference/headroom-yaml.md are made from this table.
 */
import type { Completion, OptionDefinition } from "../command.ts";

/** How the value is written: `secret` refers to an environment variable or a file, and exists in the file only. */
type Notation = "switch" | "count" | "text" | "path" | "texts" | "secret";

export interface UpSetting {
  /** Field of headroom.yaml; a dot leads into an object: `tls.key`. */
  readonly field: string;
  /** The command's option in commander's notation; absent: the setting exists in the file only. */
  readonly flags?: string;
  readonly notation: Notation;
  readonly description: string;
  /** Default value in words; absent: the switch is off, or the setting has no value. */
  readonly otherwise?: string;
  readonly min?: number;
  readonly max?: number;
  /** Whether the option switches off what the field switches on: `--no-console`. */
  readonly isNegated?: boolean;
}

/** The highest TCP port. */
const PORT_MAX = 65_535;
/** The highest number of accelerators that a node can have. */
const SLOTS_MAX = 1_024;
/** Maximum number of nodes. One machine runs the work of all nodes, so more nodes only slow it down. */
const NODES_MAX = 1_024;

const declared = [
  {
    field: "home",
    notation: "path",
    description: "state directory, unless --home or HEADROOM_HOME names one",
    otherwise: ".headroom",
  },
  {
    field: "quickstart",
    flags: "--quickstart",
    notation: "switch",
    description: "also apply examples/quickstart, which trains a small language model",
  },
  {
    field: "console",
    flags: "--no-console",
    notation: "switch",
    isNegated: true,
    description: "do not build and serve the console",
    otherwise: "true",
  },
  {
    field: "port",
    flags: "--port <port>",
    notation: "count",
    max: PORT_MAX,
    description: "port to listen on; 0 takes any free port",
    otherwise: "7070",
  },
  {
    field: "host",
    flags: "--host <address>",
    notation: "text",
    description: "address to listen on; one that other machines reach needs TLS",
    otherwise: "127.0.0.1",
  },
  {
    field: "hostNames",
    flags: "--host-name <name>",
    notation: "texts",
    description:
      "another host name under which clients reach the server, such as that of a proxy; can be repeated (default: none)",
  },
  {
    field: "tls.certificate",
    flags: "--tls-certificate <file>",
    notation: "path",
    description: "PEM file with the certificate and its chain; read again when it changes (default: none)",
  },
  {
    field: "tls.key",
    flags: "--tls-key <file>",
    notation: "path",
    description: "PEM file with the key of the certificate; read again when it changes (default: none)",
  },
  {
    field: "insecure",
    flags: "--insecure",
    notation: "switch",
    description: "listen beyond this machine without TLS, where the token travels in clear",
  },
  {
    field: "token",
    notation: "secret",
    description: "the API token, as `{ env: NAME }` or `{ file: PATH }`",
    otherwise: "made at the first start and kept in the state directory",
  },
  {
    field: "slots",
    flags: "--slots <count>",
    notation: "count",
    max: SLOTS_MAX,
    description: "number of accelerators to declare if none are found",
    otherwise: "the number of cores, at most 8",
  },
  {
    field: "nodes",
    flags: "--nodes <count>",
    notation: "count",
    min: 1,
    max: NODES_MAX,
    description:
      "to try a fleet: declare this machine as several nodes, each with --slots accelerators and as many cores",
    otherwise: "1",
  },
  {
    field: "isolation",
    flags: "--isolation <mode>",
    notation: "text",
    description:
      "what separates workloads from the control plane: auto (bubblewrap if it works here), bubblewrap or none",
    otherwise: "$HEADROOM_ISOLATION, else auto",
  },
  {
    field: "network",
    flags: "--network <mode>",
    notation: "text",
    description:
      "network of sandboxed workloads: machine, or team (workers reach no IP address but their team; needs root)",
    otherwise: "machine",
  },
  {
    field: "users",
    flags: "--team-user <team=user>",
    notation: "texts",
    description:
      "user of this machine as whom sandboxed workloads of a team run, such as research=ml-research; * is any other team; can be repeated (needs root; default: the user of the control plane)",
  },
  {
    field: "gateway.admin",
    flags: "--gateway <url>",
    notation: "text",
    description:
      "admin address of an inference gateway that the console shows, such as http://127.0.0.1:8081 (default: none)",
  },
  {
    field: "gateway.tokenFile",
    flags: "--gateway-token <file>",
    notation: "path",
    description: "file with the admin token of that gateway, which it keeps in STATE/ID/admin-token (default: none)",
  },
  {
    field: "remoteWrite.url",
    notation: "text",
    description: "address to which metrics and series are written with Prometheus remote write (default: none)",
  },
  {
    field: "remoteWrite.token",
    notation: "secret",
    description: "bearer token for that address, as `{ env: NAME }` or `{ file: PATH }` (default: none)",
  },
  {
    field: "tracing.endpoint",
    notation: "text",
    description:
      "OTLP/HTTP collector of spans and logs of decisions and attempts, such as http://127.0.0.1:4318 (default: none)",
  },
  {
    field: "tracing.authorization",
    notation: "secret",
    description: "header `authorization` for that collector, as `{ env: NAME }` or `{ file: PATH }` (default: none)",
  },
  {
    field: "notify",
    flags: "--notify <file>",
    notation: "path",
    description: "file with notification rules: which events are sent, by webhook or command",
    otherwise: "notify.yaml in the state directory, if it exists",
  },
  {
    field: "acceptJournalLoss",
    flags: "--accept-journal-loss",
    notation: "switch",
    description: "start even if the journal has lost its newest events or its recorded inputs are damaged",
  },
  {
    field: "safe",
    flags: "--safe",
    notation: "switch",
    description: "decide and launch nothing, so that the workload that ends the control plane can be stopped",
  },
] as const satisfies readonly UpSetting[];

export const upSettings: readonly UpSetting[] = declared;

type Declared = (typeof declared)[number];

interface Values {
  readonly switch: boolean;
  readonly count: number;
  readonly text: string;
  readonly path: string;
  readonly texts: readonly string[];
  readonly secret: string;
}

/** The settings of one start, by field. A field is absent if neither the command nor the file sets it. */
export type UpValues = { readonly [Each in Declared as Each["field"]]?: Values[Each["notation"]] };

/** The options of the command, with the default in the help. */
export function upOptions(): readonly OptionDefinition[] {
  return upSettings.flatMap(({ flags, notation, description, otherwise, isNegated }) => {
    if (flags === undefined) return [];
    const hint = otherwise === undefined || isNegated === true ? "" : ` (default: ${otherwise})`;
    const complete: Completion | undefined = notation === "path" ? "file" : undefined;
    return [
      {
        flags,
        description: `${description}${hint}`,
        ...(complete === undefined ? {} : { complete }),
        ...(notation === "texts" ? { repeatable: true } : {}),
      },
    ];
  });
}

/** Property under which commander stores an option: `--tls-key <file>` as `tlsKey`, `--no-console` as `console`. */
export function optionProperty(flags: string): string {
  const [name = ""] = flags.replace(/^--(?:no-)?/, "").split(" ", 1);
  return name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** The table of docs/reference/headroom-yaml.md. */
export function upSettingTable(): readonly string[] {
  const rows = upSettings.map(({ field, flags, notation, description, otherwise, isNegated }) => {
    const value = notation === "switch" ? "true or false" : notation === "texts" ? "list of texts" : notation;
    const meaning = isNegated === true ? description.replace(/^do not /, "") : description;
    const fallback = otherwise ?? (notation === "switch" ? "false" : "");
    return `| \`${field}\` | ${value} | ${flags === undefined ? "" : `\`${flags}\``} | ${meaning} | ${fallback} |`;
  });
  return ["| field | value | option of `headroom up` | meaning | default |", "|---|---|---|---|---|", ...rows];
}
