/** Words of the API: texts that the schemas of answers fix, such as phases and reasons. They are never names. */
import { openApiDocument } from "@headroom/protocol";

let byKey: ReadonlyMap<string, ReadonlySet<string>> | null = null;

/** Whether a schema fixes this text as one of the values of a field with this key. */
export function isApiWord(key: string, text: string): boolean {
  byKey ??= fixedTexts(openApiDocument(""));
  return byKey.get(key)?.has(text) === true;
}

function fixedTexts(document: unknown): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  const visit = (schema: unknown, key: string): void => {
    if (Array.isArray(schema)) for (const each of schema) visit(each, key);
    if (schema === null || typeof schema !== "object" || Array.isArray(schema)) return;
    const { enum: texts = [], const: text, properties = {}, ...rest } = schema as Readonly<Record<string, unknown>>;
    const words = [...(texts as readonly unknown[]), text].filter((each) => typeof each === "string");
    if (words.length > 0) found.set(key, new Set([...(found.get(key) ?? []), ...words]));
    for (const [name, each] of Object.entries(properties as object)) visit(each, name);
    for (const each of Object.values(rest)) visit(each, key);
  };
  visit(document, "");
  return found;
}
