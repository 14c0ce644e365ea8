/** Reads references to Secrets. Their values are no part of a manifest. */
import * as names from "../names.ts";
import type { FieldPath, ManifestFields } from "./manifest-fields.ts";

export interface ManifestSecrets {
  /** `SECRET/KEY` by variable. */
  readonly env: Record<string, string>;
  readonly envFrom: string[];
  readonly pull: string[];
}

const NO_OPTION = "has no counterpart: the pod waits until there is the Secret";
const isSecret = (name: string | undefined): name is string => names.secretName.safeParse(name).success;

/** `envFrom` of a container and `imagePullSecrets` of its pod. */
export function readSecrets(fields: ManifestFields, pod: FieldPath, container: FieldPath): ManifestSecrets {
  const found: ManifestSecrets = { env: {}, envFrom: [], pull: [] };
  for (const index of fields.list([...container, "envFrom"]).keys()) {
    const path = [...container, "envFrom", index];
    const name = fields.text([...path, "secretRef", "name"]);
    if (name === undefined) fields.ignore(path, "takes values of the cluster; give them with --env NAME=VALUE");
    else if ((fields.text([...path, "prefix"]) ?? "") !== "")
      fields.ignore(path, "has a prefix; name each variable in env");
    else if (!isSecret(name)) fields.refuse(path, "names no Secret");
    else {
      if (fields.has([...path, "secretRef", "optional"])) fields.ignore([...path, "secretRef", "optional"], NO_OPTION);
      if (!found.envFrom.includes(name)) found.envFrom.push(name);
      fields.honour(path, `secrets.envFrom: ${name}`);
    }
  }
  for (const index of fields.list([...pod, "imagePullSecrets"]).keys()) {
    const path = [...pod, "imagePullSecrets", index];
    const name = fields.text([...path, "name"]);
    if (!isSecret(name)) fields.refuse(path, "names no Secret");
    else {
      if (!found.pull.includes(name)) found.pull.push(name);
      fields.honour(path, `secrets.pull: ${name}`);
    }
  }
  return found;
}

/** Whether a variable takes its value from a key of a Secret, which is taken in then. */
export function readSecretKey(
  fields: ManifestFields,
  path: FieldPath,
  variable: string,
  { env }: ManifestSecrets,
): boolean {
  const reference = [...path, "valueFrom", "secretKeyRef"];
  if (!fields.has(reference)) return false;
  const text = `${fields.text([...reference, "name"]) ?? ""}/${fields.text([...reference, "key"]) ?? ""}`;
  if (!names.secretKey.safeParse(text).success) {
    fields.refuse(path, "names no key of a Secret");
    return true;
  }
  if (fields.has([...reference, "optional"])) fields.ignore([...reference, "optional"], NO_OPTION);
  env[variable] = text;
  fields.honour(path, `secrets.env.${variable}: ${text}`);
  return true;
}
