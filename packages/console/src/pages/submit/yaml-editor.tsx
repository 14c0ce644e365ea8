/** The manifest as YAML text. The form shows the text's values as long as the text is a mapping. */
import { useState } from "react";
import type { ReactElement } from "react";
import { parse, stringify } from "yaml";
import { Button } from "../../parts/button.tsx";
import { download } from "../../format/download.ts";
import { fieldText, type Manifest } from "./manifest-form.ts";

interface YamlEditorProps {
  readonly manifest: Manifest;
  readonly onManifest: (manifest: Manifest) => void;
}

export function YamlEditor({ manifest, onManifest }: YamlEditorProps): ReactElement {
  const [text, setText] = useState(() => stringify(manifest));
  const [error, setError] = useState<string | null>(null);
  const change = (next: string): void => {
    setText(next);
    const outcome = mappingIn(next);
    setError(typeof outcome === "string" ? outcome : null);
    if (typeof outcome !== "string") onManifest(outcome);
  };
  return (
    <div className="flex flex-col gap-2">
      <textarea
        aria-label="Workload as YAML"
        aria-invalid={error !== null}
        value={text}
        rows={Math.max(14, text.split("\n").length + 1)}
        spellCheck={false}
        className="scroll-thin w-full resize-y rounded-md border border-line-strong bg-surface p-3 font-mono text-xs aria-invalid:border-bad"
        onChange={({ target }) => change(target.value)}
      />
      {error === null ? null : (
        <p role="alert" className="text-xs font-medium text-bad">
          {error}
        </p>
      )}
      <div>
        <Button onClick={() => download(`${fieldText(manifest, "name") || "workload"}.yaml`, text)}>Download</Button>
      </div>
    </div>
  );
}

/** The mapping, or the reason why the text is not a mapping. */
function mappingIn(text: string): Manifest | string {
  try {
    const value: unknown = parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Manifest;
    return "The text must be one document with fields such as name and run.";
  } catch (error) {
    return `The text is no YAML: ${error instanceof Error ? (error.message.split("\n")[0] ?? "") : ""}`;
  }
}
