/**
 * The submitter's variables that a workload gets: by default those of virtual environments, conda, modules and search
 * paths; with `all` every variable except those of the session and those that look like secrets.
 */

export type CaptureMode = "none" | "tools" | "all";

export interface CapturedEnvironment {
  readonly variables: Readonly<Record<string, string>>;
  /** Names of variables that look like secrets. */
  readonly secrets: readonly string[];
  /** Names that Headroom sets for every worker, and values that are too long. */
  readonly refused: readonly string[];
}

interface Capture {
  readonly mode: CaptureMode;
  /** Names that the user states. They are captured even if they look like secrets. */
  readonly names: readonly string[];
}

const TOOLS =
  /^(?:PATH|VIRTUAL_ENV|PYTHONPATH|PYTHONHOME|LD_LIBRARY_PATH|LIBRARY_PATH|CPATH|C_INCLUDE_PATH|CPLUS_INCLUDE_PATH|PKG_CONFIG_PATH|CMAKE_PREFIX_PATH|CUDA_HOME|CUDA_PATH|ROCM_PATH|LOADEDMODULES|_LMFILES_|MODULEPATH|MODULESHOME|BASH_ENV|SPACK_ENV|PYENV_VERSION|R_LIBS_USER|JULIA_DEPOT_PATH|CONDA_.+|MAMBA_.+|LMOD_.+|EBROOT.+|EBVERSION.+)$/;

/** Variables of the submitter's session, which mean nothing to a job, and variables of other programs that started this one. */
const SESSION =
  /^(?:_|PWD|OLDPWD|SHLVL|TERM|TERM_.+|COLORTERM|COLUMNS|LINES|PS[0-9]|PROMPT.*|LS_COLORS|HIST.+|DISPLAY|WAYLAND_.+|XAUTHORITY|XDG_.+|DBUS_.+|SSH_.+|GPG_.+|TMUX.*|STY|WINDOW.*|VTE_.+|EDITOR|VISUAL|PAGER|MAIL|HOSTNAME|INIT_CWD|NODE|NODE_.+|npm_.+|HEADROOM_.+|SLURM_.+|SLURMD_.+|SBATCH_.+|SALLOC_.+|BASH_FUNC_.+|LESS.*|DEBUGINFOD_.+|SUDO_.+|_CE_.*)$/;

const SECRET_NAME =
  /(?:^|_)(?:TOKENS?|SECRETS?|PASS|PASSWD|PASSWORDS?|PASSPHRASE|CREDENTIALS?|CREDS?|KEY|KEYS|APIKEY|AUTH|AUTHORIZATION|COOKIE|COOKIES|SESSION|PAT|DSN|WEBHOOK|JWT|BEARER|SIGNATURE)(?:_|$)|(?:PASSWORD|SECRET|TOKEN|APIKEY)$/i;

/** Beginnings of keys of well-known services, and shapes that only secrets have. */
const SECRET_VALUES: readonly RegExp[] = [
  /^(?:sk-|sk_|pk_live_|rk_live_|gh[opsur]_|github_pat_|glpat-|hf_|xox[abeprs]-|AKIA|ASIA|AIza|ya29\.|npm_|pypi-|dop_v1_|shpat_|SG\.|nvapi-|r8_|lin_api_|dckr_pat_)/,
  /^eyJ[\w-]+\.eyJ[\w-]+/,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
  /^[a-z][a-z0-9+.-]*:\/\/[^/@\s:]*:[^/@\s]+@/i,
  /^(?:Bearer|Basic) \S{8,}/i,
  /^(?=.*\d)(?=.*[A-Za-z])[A-Fa-f0-9]{32,}$/,
];

/** Number of characters from which a text without separators counts as a key, if it mixes letters and digits. */
const KEY_CHARS_MIN = 32;

export function looksSecret(name: string, value: string): boolean {
  if (SECRET_NAME.test(name)) return true;
  if (SECRET_VALUES.some((shape) => shape.test(value))) return true;
  const isMixed = /[a-z]/.test(value) && /[A-Z]/.test(value) && /\d/.test(value);
  return value.length >= KEY_CHARS_MIN && isMixed && /^[A-Za-z0-9+/_=-]+$/.test(value) && !value.startsWith("/");
}

/** `canSet`: whether a workload may have the variable with this value. */
export function capturedEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  { mode, names }: Capture,
  canSet: (name: string, value: string) => boolean,
): CapturedEnvironment {
  const variables: Record<string, string> = {};
  const secrets: string[] = [];
  const refused: string[] = [];
  for (const [name, value] of Object.entries(env).toSorted(([left], [right]) => (left < right ? -1 : 1))) {
    if (value === undefined) continue;
    const isNamed = names.includes(name);
    if (!isNamed && !isWanted(mode, name)) continue;
    if (!isNamed && looksSecret(name, value)) secrets.push(name);
    else if (canSet(name, value)) variables[name] = name === "PATH" ? withoutTools(value) : value;
    else if (isNamed || mode === "all") refused.push(name);
  }
  return { variables, secrets, refused };
}

function isWanted(mode: CaptureMode, name: string): boolean {
  if (mode === "none") return false;
  return TOOLS.test(name) || (mode === "all" && !SESSION.test(name));
}

/** npm puts the tools of a package in front of the PATH of its scripts; a workload must not get them. */
const withoutTools = (value: string): string =>
  value
    .split(":")
    .filter((entry) => !/(?:^|\/)(?:node_modules\/\.bin|node-gyp-bin)\/?$/.test(entry))
    .join(":");

const NAMES_SHOWN_MAX = 6;

/** One line for the user; `null`: nothing but the search path is captured, and nothing is left out. */
export function environmentLine({ variables, secrets, refused }: CapturedEnvironment): string | null {
  const names = Object.keys(variables);
  if (names.every((name) => name === "PATH") && secrets.length === 0 && refused.length === 0) return null;
  const venv = variables["VIRTUAL_ENV"] ?? variables["CONDA_PREFIX"];
  const parts = [
    `environment: ${listed(names)}${venv === undefined ? "" : ` (${venv})`}`,
    ...(secrets.length === 0 ? [] : [`left out as secrets: ${listed(secrets)}`]),
    ...(refused.length === 0 ? [] : [`cannot be set: ${listed(refused)}`]),
  ];
  return `${parts.join("; ")}. Change it with --env none, all, NAME or NAME=VALUE.`;
}

function listed(names: readonly string[]): string {
  if (names.length === 0) return "nothing captured";
  const rest = names.length - NAMES_SHOWN_MAX;
  return rest > 1 ? `${names.slice(0, NAMES_SHOWN_MAX).join(", ")} and ${rest} more` : names.join(", ");
}
